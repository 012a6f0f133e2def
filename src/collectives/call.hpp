// A blocking or nonblocking call under way, and the request by which its user knows it. A call may have to
// wait for its turn; it then begins, and goes on, whenever the process progresses. It may outlive the
// user's interest: a call at fault brings its user nothing, but takes part for the others' sake.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>

#include "collectives/graph.hpp"
#include "collectives/request.hpp"
#include "execute/activity.hpp"

namespace vicinal {

class Call : public Activity {
 public:
  /// `after`: a call that must be over before this one begins; null where there is none.
  explicit Call(std::shared_ptr<const Call> after) : after_(std::move(after)) {}

  /// Who drives a call that is not over at once.
  enum class Driver : std::uint8_t {
    everybody,  ///< every test and wait of the process
    caller,     ///< whoever has made it, by finish()
  };

  /// Begins it where its turn has come. Before others know of it.
  static void enter(const std::shared_ptr<Call>& call, Driver driver);

  /// Waits until a GPU has given what is sent, so that nobody depends on this rank for that. Without the claim.
  void await_data() noexcept;

  bool advance() noexcept final { return advance(Polls{}); }
  bool advance(Polls polls) noexcept;
  void describe(std::ostream& out) const final;

  [[nodiscard]] bool over() const { return stage_.load(std::memory_order_acquire) == Stage::over; }
  /// Polls until it is over, progressing whatever is active.
  void finish();
  /// Whether a later call with the same tags may not begin yet. Without the claim.
  [[nodiscard]] bool holds_up() const {
    const Stage stage = stage_.load(std::memory_order_acquire);
    return stage == Stage::queued ||
           (stage == Stage::running && has_tags_.load(std::memory_order_acquire));
  }
  /// What it has ended with, if not well. Once it is over.
  [[nodiscard]] std::exception_ptr fault() const { return fault_; }

  /// Goes on with a sentence: what it waits for.
  void name_awaited(std::ostream& out);

 protected:
  /// The same of what comes once it has had its turn. With the claim held.
  virtual void name_what_is_due(std::ostream& out) const = 0;
  [[nodiscard]] bool has_begun() const { return stage_ != Stage::queued; }
  /// Whether all is there that it needs to begin.
  virtual bool may_begin() { return true; }
  /// What a GPU has to give of what is sent. With the claim held.
  enum class Fetch : std::uint8_t { nothing, under_way, over };
  virtual Fetch look_at_fetch() noexcept { return Fetch::nothing; }
  /// Never waits.
  virtual void begin() = 0;
  /// True once it is complete. Throws what it has failed with, once nothing is left to do.
  virtual bool poll(Polls polls) = 0;
  /// Whether somebody may depend on its being advanced.
  [[nodiscard]] virtual bool wants_progress() const = 0;
  /// Whether, while it runs, nobody else may receive with its tags. With the claim held; once false, for good.
  [[nodiscard]] virtual bool holds_tags() const { return false; }

 private:
  enum class Stage : std::uint8_t { queued, running, over };

  void write_awaited(std::ostream& out) const;

  std::shared_ptr<const Call> after_;
  std::atomic<Stage> stage_ = Stage::queued;
  std::atomic<bool> has_tags_ = false;  ///< what holds_tags() has said, for those without the claim
  std::exception_ptr fault_;
};

/// The user's handle of a call. Null for the call of a rank that has nothing to do.
class CallRequest final : public Request {
 public:
  CallRequest(std::shared_ptr<Graph> graph, std::shared_ptr<Call> call)
      : Request(graph->shared_communicator(), Ownership::single_use),
        graph_(std::move(graph)),
        call_(std::move(call)) {}
  ~CallRequest() override;

  void start() override;
  [[nodiscard]] bool in_flight() const override {
    return in_flight_.load(std::memory_order_relaxed);
  }
  void name_awaited(std::ostream& out) const override;

 private:
  bool advance() override;
  void finish() override;

  std::shared_ptr<Graph> graph_;
  std::shared_ptr<Call> call_;
  std::atomic<bool> in_flight_ = true;  ///< as far as the user has been told; a dump may look
};

}  // namespace vicinal

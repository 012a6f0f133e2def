// A blocking or nonblocking call in progress, and its request. A call may have to wait for earlier
// calls; it then begins and continues whenever the process progresses. It may outlive its request.
// A failed call delivers nothing to its user, but participates so that other ranks can complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>

#include "collectives/graph.hpp"
#include "collectives/request.hpp"
#include "progress/activity.hpp"

namespace vicinal {

class Call : public Activity {
 public:
  /// `after`: a call that must be over before this one begins, or null.
  explicit Call(std::shared_ptr<const Call> after) : after_(std::move(after)) {}

  /// Selects who advances a call that does not complete in enter().
  enum class Driver : std::uint8_t {
    everybody,  ///< every test and wait of the process
    caller,     ///< the caller, in finish()
  };

  /// Begins `call` if it may begin. No other thread may know of it yet.
  static void enter(const std::shared_ptr<Call>& call, Driver driver);

  /// Waits until a GPU has delivered the data to send, so that other ranks need no progress of this
  /// rank for it. Takes the lock.
  void await_data() noexcept;

  bool advance() noexcept final { return advance(Polls{}); }
  bool advance(Polls polls) noexcept;
  void describe(std::ostream& out) const final;

  [[nodiscard]] bool over() const { return stage_.load(std::memory_order_acquire) == Stage::over; }
  /// Polls until the call is over, and progresses all activities.
  void finish();
  /// Returns whether a later call with the same tags must still wait. Needs no lock.
  [[nodiscard]] bool holds_up() const {
    const Stage stage = stage_.load(std::memory_order_acquire);
    return stage == Stage::queued ||
           (stage == Stage::running && has_tags_.load(std::memory_order_acquire));
  }
  /// Error with which the call failed, or null. Valid once the call is over.
  [[nodiscard]] std::exception_ptr fault() const { return fault_; }

  /// Writes what the call waits for, as the end of a sentence.
  void name_awaited(std::ostream& out);

 protected:
  /// Writes what the call waits for once earlier calls are over, as the end of a sentence. Called
  /// with the lock held.
  virtual void name_what_is_due(std::ostream& out) const = 0;
  [[nodiscard]] bool has_begun() const { return stage_ != Stage::queued; }
  /// Returns whether the call has all that it needs to begin.
  virtual bool may_begin() { return true; }
  /// State of the data to send that a GPU must deliver. Called with the lock held.
  enum class Fetch : std::uint8_t { nothing, in_progress, over };
  virtual Fetch look_at_fetch() noexcept { return Fetch::nothing; }
  /// Begins the call. Never waits.
  virtual void begin() = 0;
  /// Returns whether the call is complete. Throws the error of a failed call, once nothing is left
  /// to do.
  virtual bool poll(Polls polls) = 0;
  /// Returns whether other ranks may depend on progress of this call.
  [[nodiscard]] virtual bool wants_progress() const = 0;
  /// Returns whether no other call may receive with this call's tags while it runs. Once false, it
  /// stays false. Called with the lock held.
  [[nodiscard]] virtual bool holds_tags() const { return false; }

 private:
  enum class Stage : std::uint8_t { queued, running, over };

  void write_awaited(std::ostream& out) const;

  std::shared_ptr<const Call> after_;
  std::atomic<Stage> stage_ = Stage::queued;
  std::atomic<bool> has_tags_ = false;  ///< last result of holds_tags(), readable without the lock
  std::exception_ptr fault_;
};

/// The user's request for a call. `call` is null on a rank that does not participate.
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
  /// until the user learns that the call is over; a dump may read it
  std::atomic<bool> in_flight_ = true;
};

}  // namespace vicinal

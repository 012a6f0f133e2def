// A request whose executions are those of a plan, or of several while the quickest is being found, in one of their
// channels.
#pragma once

#include <atomic>
#include <iosfwd>
#include <optional>

#include "choose/executions.hpp"
#include "collectives/request.hpp"
#include "collectives/starting.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {

class ExecutionRequest : public Request {
 public:
  [[nodiscard]] bool in_flight() const final { return executions_->in_flight(); }
  void start() final;
  void name_awaited(std::ostream& out) const final { executions_->name_awaited(out); }
  /// By which the last execution went, or the next will go.
  [[nodiscard]] const AgreedPlan& plan() const { return executions_->plan(); }

 protected:
  using Request::Request;
  /// For the end of a constructor: what is to be executed, and where.
  void execute(const Chosen& chosen, bool reverse, int channel) {
    mpi::with_memory([&] { executions_.emplace(chosen, reverse, channel); });
  }
  /// Begins an execution, in one thread at a time.
  void launch() {
    if (in_flight()) [[unlikely]]
      refuse_start();
    begin();
  }
  /// In the place of a start that cannot be made.
  void start_at_fault() { executions_->start_at_fault(); }
  /// For the beginning of a destructor: waits for an execution in flight, which uses what is destroyed next.
  void end() noexcept { executions_.reset(); }
  [[nodiscard]] Executions& executions() { return *executions_; }

  /// Where the data are read, and written.
  struct Places {
    const std::byte* source = nullptr;
    const std::byte* target = nullptr;
  };

 private:
  /// Begins an execution. Of one with nothing in flight.
  virtual void begin() = 0;
  /// All that was due has come.
  virtual void take() = 0;
  /// Those of the next execution, or the one in flight.
  [[nodiscard]] virtual Places places() const = 0;
  /// Writes the program's own part that the execution in flight still lacks, if any.
  virtual void describe_missing(std::ostream&) const {}

  [[noreturn]] void refuse_start() const;
  bool advance() final;
  void finish() final;
  void finish_on(std::uintptr_t stream) final;

  std::optional<Executions> executions_;
  std::atomic_flag starting_;
};

}  // namespace vicinal

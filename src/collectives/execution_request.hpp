// A request that executes a plan in one of its channels, or several plans while a contest compares
// them.
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
  /// Plan of the last execution, or of the next.
  [[nodiscard]] const AgreedPlan& plan() const { return executions_->plan(); }

 protected:
  using Request::Request;
  /// Sets what the request executes, and in which channel. For the end of a constructor.
  void execute(const Chosen& chosen, bool reverse, int channel) {
    executions_.emplace(chosen, reverse, channel);
  }
  /// Begins an execution. One thread at a time.
  void launch() {
    if (in_flight()) [[unlikely]]
      refuse_start();
    begin();
  }
  /// Participates in an execution that this rank cannot start, so that other ranks can complete.
  void start_after_failure() { executions_->start_after_failure(); }
  /// Waits for an execution in flight, which uses members that are destroyed next. For the
  /// beginning of a destructor.
  void end() noexcept { executions_.reset(); }
  [[nodiscard]] Executions& executions() { return *executions_; }

  /// Addresses at which data are read and written.
  struct Places {
    const std::byte* source = nullptr;
    const std::byte* target = nullptr;
  };

 private:
  /// Begins an execution. None is in flight.
  virtual void begin() = 0;
  /// Called when all data of an execution have arrived.
  virtual void take() = 0;
  /// Places of the execution in flight, or of the next.
  [[nodiscard]] virtual Places places() const = 0;
  /// Writes what the execution in flight still needs from the program itself, if anything.
  virtual void describe_missing(std::ostream&) const {}

  [[noreturn]] void refuse_start() const;
  bool advance() final;
  void finish() final;
  void finish_on(std::uintptr_t stream) final;

  std::optional<Executions> executions_;
  std::atomic_flag starting_;
};

}  // namespace vicinal

// A request whose executions are those of a plan, or of several while the quickest is being found, in one of their
// channels. Streams of a GPU may begin them, and wait for their end (streamed_executions.hpp).
#pragma once

#include <atomic>
#include <iosfwd>
#include <memory>
#include <optional>
#include <utility>

#include "choose/executions.hpp"
#include "collectives/request.hpp"
#include "collectives/starting.hpp"
#include "collectives/streamed_executions.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {

class ExecutionRequest : public Request, private StreamedOwner {
 public:
  [[nodiscard]] bool in_flight() const final;
  [[nodiscard]] bool is_streamed() const final { return streamed_ && streamed_->is_busy(); }
  void start() override;
  void start_from(std::uintptr_t stream) override;
  void name_awaited(std::ostream& out) const final;
  /// By which the last execution went, or the next will go.
  [[nodiscard]] const AgreedPlan& plan() const { return executions_->plan(); }

 protected:
  using Request::Request;
  /// For the end of a constructor: what is to be executed, and where.
  void execute(const Chosen& chosen, bool reverse, int channel) {
    mpi::with_memory([&] { executions_.emplace(chosen, reverse, channel); });
  }
  /// In the place of a start that cannot be made.
  void start_at_fault();
  /// For the beginning of a destructor: waits for an execution in flight, which uses what is destroyed next.
  void end() noexcept;
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

  /// Whether an execution may be left running beside the program.
  [[nodiscard]] virtual bool can_be_left() const { return true; }

  bool advance() final;
  void finish() final;
  void finish_on(std::uintptr_t stream) final;

  void begin_execution() final { begin(); }
  void begin_execution_at_fault() final { executions_->start_at_fault(); }
  bool advance_execution() final;
  void name_awaited_by_execution(std::ostream& out) const final { executions_->name_awaited(out); }

  /// The memory of the GPU where the data lie, null where none do.
  [[nodiscard]] MemoryKind* kind_there() const;
  void see_to_streams();
  void count_at_fault();
  /// Whether the process waits for this end in the place of a stream, as for the first ones of a request: what a program uses a GPU with
  /// for the first time is loaded then. A driver that loads waits for all streams, with a lock which who brings the execution to its end
  /// needs.
  [[nodiscard]] bool is_among_first_ends();
  /// Has what follows go on beside the program; false where it cannot.
  [[nodiscard]] bool can_stream(MemoryKind& kind);

  std::optional<Executions> executions_;
  std::shared_ptr<StreamedExecutions> streamed_;  ///< null where none were
  std::atomic_flag starting_;
  std::int64_t first_ends_ = -1;  ///< still to come; below 0: nobody has asked
};

}  // namespace vicinal

// A communicator of the program's whose allgathers vicinal watches, and carries out where that pays.
//
// It is set up in a blocking call, whose number all ranks know, and only once the program has spent as much time in
// allgathers there as setting up takes: most programs never do. What all must know for that is found by one small allreduce of
// MPI's, in calls 8, 16, 32, ...; where the private communicator is there already, since the program has made a graph, none
// is needed.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/guarded.hpp"
#include "collectives/gather_loops.hpp"
#include "interpose/error_handling.hpp"
#include "interpose/ledger.hpp"
#include "mpi/attachment.hpp"

namespace vicinal::interpose {

class Gathered final : public mpi::Attachment {
 public:
  /// What watches this communicator; null where MPI carries out all of its allgathers. A rank that has no memory for it fails, as
  /// the communicator's error handler has it, in the function that `ours` stands for: it would count one call fewer than the others from then on.
  [[nodiscard]] static int find(const void* ours, MPI_Comm user, Gathered*& found) noexcept;

  explicit Gathered(MPI_Comm user);
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  ~Gathered() override;

  /// A call enters, as it does on all ranks. Who finds by what it goes; null as long as MPI carries all of them out.
  [[nodiscard]] GatherLoops* enter(Form form) noexcept;
  /// Sets up, unless that is done, or has been found to be of no use. Collective. The same.
  [[nodiscard]] GatherLoops* enter_at_once() noexcept;
  /// That MPI has carried a call out in so much time.
  void note(std::chrono::steady_clock::duration time) {
    spent_.fetch_add(std::chrono::nanoseconds(time).count(), std::memory_order_relaxed);
  }

  [[nodiscard]] std::shared_ptr<const ErrorHandling> errors() const { return errors_; }
  /// Null where no report is asked for.
  [[nodiscard]] Ledger* ledger() const { return ledger_.get(); }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  enum class Stage : std::uint8_t { watched, served, left };

  void forget_communicator() noexcept override { errors_->communicator = MPI_COMM_NULL; }
  void look(bool at_once) noexcept;
  void set_up();

  const MPI_Comm user_;
  int ranks_ = 0;
  std::atomic<Stage> stage_ = Stage::watched;
  std::atomic<std::int64_t> entered_ = 0;
  std::atomic<std::int64_t> spent_ = 0;  ///< nanoseconds
  std::int64_t next_look_;
  std::shared_ptr<GatherLoops> loops_;
  std::shared_ptr<ErrorHandling> errors_;
  std::shared_ptr<Ledger> ledger_;
};

}  // namespace vicinal::interpose

// A communicator of the program whose allgathers vicinal watches, and carries out where that pays.
//
// It is set up in a blocking call, whose number all ranks know. Set-up waits until the program has
// spent as much time in its allgathers as set-up takes; most programs never do. In calls 8, 16, 32,
// ... one small allreduce of MPI's finds what all ranks must know for it. If the program has made a
// graph, the private communicator exists already, and no allreduce is needed.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/guarded.hpp"
#include "collectives/gather_loops.hpp"
#include "interpose/call_profile.hpp"
#include "interpose/guarded_as.hpp"
#include "mpi/attachment.hpp"

namespace vicinal::interpose {

class Gathered final : public mpi::Attachment {
 public:
  /// Finds the object that watches this communicator; null if MPI carries out all of its
  /// allgathers. If a rank fails to allocate it, raises the error as one of the function that
  /// `ours` replaces. Otherwise the rank would count fewer calls than the others.
  [[nodiscard]] static int find(const void* ours, MPI_Comm user, Gathered*& found) noexcept;

  explicit Gathered(MPI_Comm user);
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  ~Gathered() override;

  /// Counts a call, which enters on all ranks. Returns the loops that decide how it is carried out;
  /// null as long as MPI carries out all calls.
  [[nodiscard]] GatherLoops* enter(Form form) noexcept;
  /// As enter(), but sets up at once, unless that is done or has been found to be useless.
  /// Collective.
  [[nodiscard]] GatherLoops* enter_at_once() noexcept;
  /// Adds the time that MPI has taken for a call.
  void note(std::chrono::steady_clock::duration time) {
    spent_.fetch_add(std::chrono::nanoseconds(time).count(), std::memory_order_relaxed);
  }

  [[nodiscard]] std::shared_ptr<const ErrorHandling> errors() const { return errors_; }
  /// Null if no report is requested.
  [[nodiscard]] CallProfile* call_profile() const { return call_profile_.get(); }
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
  std::shared_ptr<CallProfile> call_profile_;
};

}  // namespace vicinal::interpose

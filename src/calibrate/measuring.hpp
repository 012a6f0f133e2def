// What the measurements of calibration have in common: clocks, short messages of any kind, and how the ranks that
// take part agree on how often.
#pragma once

#include <sched.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::measuring {

enum Tag : int {
  tag_data = mpi::tag_calibration,
  tag_answer,
  tag_order,
  tag_queue,
};

[[nodiscard]] inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of this thread: what others do on its core, and waiting for them, is not in it.
[[nodiscard]] double processor_time();

/// Keeps this thread on one of the CPUs that it may use, while this lives: the first of them, or the last. Two ranks of one host that
/// do otherwise share none, if they may use two.
class Keeping {
 public:
  enum class On : std::uint8_t { first, last };
  explicit Keeping(On cpu);
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;
  ~Keeping();

 private:
  cpu_set_t before_{};  ///< empty where nothing was changed
};

/// Lets time pass without using the processor.
void sleep(double seconds);

/// Polls, and comes to yield, until all are complete.
void finish(std::span<mpi::PendingOperation> operations);
inline void finish(mpi::PendingOperation& operation) { finish(std::span(&operation, 1)); }

/// The same, but sleeps between its looks: what it takes of the processor is what the operations do.
void finish_asleep(std::span<mpi::PendingOperation> operations);

/// The messages of this rank, to and from another one.
class Line {
 public:
  Line(const mpi::Communicator& communicator, int peer)
      : handle_(communicator.handle()), peer_(peer) {}

  [[nodiscard]] mpi::PendingOperation send(std::span<const std::byte> bytes, int tag) const {
    return mpi::isend(handle_, bytes, peer_, tag);
  }
  [[nodiscard]] mpi::PendingOperation receive(std::span<std::byte> bytes, int tag) const {
    return mpi::ireceive(handle_, bytes, peer_, tag);
  }
  /// A number, waiting until it has left, or come.
  void tell(std::int64_t number) const;
  [[nodiscard]] std::int64_t hear() const;

 private:
  MPI_Comm handle_;
  int peer_;
};

/// Of the turns of a sample, the one in the middle: where other processes take the core now and then, most turns still
/// are what they would be without. The times are reordered.
[[nodiscard]] double median(std::span<double> times);

/// How many turns of a loop fill a sample, given what one takes.
[[nodiscard]] std::int64_t turns_for(double seconds, double of_one);

}  // namespace vicinal::measuring

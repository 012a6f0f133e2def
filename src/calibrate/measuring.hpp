// Common parts of the measurements of calibration: clocks, short messages, and agreement on the
// number of iterations.
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

/// Returns the processor time of this thread; other threads on its core, and waiting, do not count.
[[nodiscard]] double processor_time();

/// Keeps this thread on the first or the last of its allowed CPUs during its lifetime. Two ranks of
/// a host that choose differently share no CPU if they are allowed two.
class Keeping {
 public:
  enum class On : std::uint8_t { first, last };
  explicit Keeping(On cpu);
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;
  ~Keeping();

 private:
  cpu_set_t before_{};  ///< empty if nothing was changed
};

/// Lets time pass without using the processor.
void sleep(double seconds);

/// Polls, and yields after a while, until all are complete.
void finish(std::span<mpi::PendingOperation> operations);
inline void finish(mpi::PendingOperation& operation) { finish(std::span(&operation, 1)); }

/// As finish(), but sleeps between polls, so that only the operations themselves use the processor.
void finish_asleep(std::span<mpi::PendingOperation> operations);

/// Messages between this rank and another one.
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
  /// Sends or receives a number; waits for completion.
  void tell(std::int64_t number) const;
  [[nodiscard]] std::int64_t hear() const;

 private:
  MPI_Comm handle_;
  int peer_;
};

/// Returns the median time of a sample's iterations. If other processes sometimes take the core,
/// most iterations are unaffected. Reorders the times.
[[nodiscard]] double median(std::span<double> times);

/// Returns the number of iterations of a loop that fill a sample, if one takes `of_one` seconds.
[[nodiscard]] std::int64_t iterations_for(double seconds, double of_one);

}  // namespace vicinal::measuring

// Memory that the other ranks of a communicator can access. MPI creates and frees windows
// collectively and blocks in these calls. A put may need its target rank to be inside MPI. So all
// of this is for operations that every rank is known to have entered.
//
// Creating a window costs a thousand times as much as using it, and no rank can free one alone. So
// windows last as long as MPI does. An owner that no longer needs one, for example because its
// communicator is freed, releases it for the next communicator of the same ranks. MPI_Finalize
// frees the windows, on all ranks in the same order.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/collectives.hpp"

namespace vicinal::mpi {

/// Tests whether the ranks that have access to a user's window have finished with it
/// (MPI_Win_test). Returns an MPI error code.
int test_exposure(MPI_Win window, bool& is_over);

/// A window in one shared access epoch to all ranks, from its creation to its end.
class Window {
 public:
  /// Creates zeroed memory on this rank, of the same size on every rank. Collective. One rank drew
  /// the `number`, by which ranks can verify that they mean the same window.
  static Window& make(MPI_Comm communicator, std::size_t bytes, std::int64_t number);
  /// Returns a number that no other window of MPI_COMM_WORLD has; a rank's numbers increase.
  [[nodiscard]] static std::int64_t draw_number();
  /// Number of windows of this process, in use or released.
  [[nodiscard]] static std::size_t made();
  /// Frees all windows, for the end of MPI, in the same order on all ranks. Collective, blocking.
  static void free_all();
  /// Returns the newest released window with the ranks of the communicator in their order; null if
  /// there is none. The window is in use again. Local: other ranks may find another.
  [[nodiscard]] static Window* find(MPI_Comm communicator);
  /// Releases the window for find(). No operation may be in progress in it. Local. A window that is
  /// never released, as after an error, is not reused.
  void lay_by();

  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() = default;

  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }

  /// Replaces the memory by zeroed memory of this size. Collective.
  void resize(MPI_Comm communicator, std::size_t bytes);

  /// Adds to a number in the memory of `peer`; writes its previous value to `before`. Both numbers
  /// must stay in place until the operation is complete.
  [[nodiscard]] PendingOperation fetch_add(const std::int64_t& added, std::int64_t& before,
                                           int peer, std::size_t offset);
  /// Completes when the bytes may be changed.
  [[nodiscard]] PendingOperation put(std::span<const std::byte> bytes, int peer,
                                     std::size_t offset);
  /// Completes the operations that this rank has begun in the memory of all targets.
  void flush();

  /// Returns this rank's memory as the others have left it. They must have finished, and have told
  /// this rank.
  [[nodiscard]] std::span<const std::byte> read();
  /// Zeroes part of this rank's memory. No other rank may access it until this rank has told it to.
  void clear(std::size_t offset, std::size_t bytes);

 private:
  explicit Window(std::int64_t number) : number_(number) {}
  void open(MPI_Comm communicator, std::size_t bytes);

  std::int64_t number_;
  std::vector<int> ranks_;  ///< in MPI_COMM_WORLD
  bool in_use_ = true;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> memory_;
};

}  // namespace vicinal::mpi

// Memory that the other ranks of a communicator can reach. MPI makes and frees windows
// collectively, blocking, and what puts something into one may need the rank it belongs to, to be
// inside MPI. So all of this is for operations that every rank is known to have entered.
//
// Making a window costs a thousand times what using it does, and no rank can free one alone. So
// windows last as long as MPI does: whoever needs one no longer, as when its communicator goes, lays
// it by, for the next communicator of the same ranks. They are freed by MPI_Finalize, on all ranks in
// the same order.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/collectives.hpp"

namespace vicinal::mpi {

/// Whether the ranks that have access to a user's window are done with it (MPI_Win_test). An error code of MPI's.
int test_exposure(MPI_Win window, bool& is_over);

/// Open to all, in one shared epoch, from its making to its end.
class Window {
 public:
  /// Zeroed memory of this rank's, as much as the others'. Collective. The number, by which ranks can
  /// make sure that they mean the same window, was drawn by one of them.
  static Window& make(MPI_Comm communicator, std::size_t bytes, std::int64_t number);
  /// A number that no other window of MPI_COMM_WORLD has; later ones of a rank are higher.
  [[nodiscard]] static std::int64_t draw_number();
  /// How many this process has, in use or laid by.
  [[nodiscard]] static std::size_t made();
  /// Frees all, for the end of MPI, in the same order on all ranks. Collective, blocking.
  static void free_all();
  /// The last made of the windows laid by whose ranks are those of the communicator, in their order;
  /// null where there is none. It is in use again. Local: other ranks may find another.
  [[nodiscard]] static Window* find(MPI_Comm communicator);
  /// Nothing may be under way in it. Local. One that is never laid by, as after an error, is used by
  /// nobody else.
  void lay_by();

  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() = default;

  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }

  /// Takes other memory of this size, zeroed. Collective.
  void resize(MPI_Comm communicator, std::size_t bytes);

  /// Adds to a number in the memory of `peer`; what was there before comes to `before`. Both
  /// numbers must stay in place until it is complete.
  [[nodiscard]] PendingOperation fetch_add(const std::int64_t& added, std::int64_t& before,
                                           int peer, std::size_t offset);
  /// Complete when the bytes may be changed.
  [[nodiscard]] PendingOperation put(std::span<const std::byte> bytes, int peer,
                                     std::size_t offset);
  /// What this rank has begun is complete in the memory of the others.
  void flush();

  /// This rank's memory as the others have left it. They must be done, and have said so.
  [[nodiscard]] std::span<const std::byte> read();
  /// Zeroes part of this rank's memory. Nobody may reach for it before this rank has said so.
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

// Memory that the other ranks of a communicator can reach. MPI makes and frees windows
// collectively, blocking, and what puts something into one may need the rank it belongs to, to be
// inside MPI. So all of this is for operations that every rank is known to have entered.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/collectives.hpp"

namespace vicinal::mpi {

class Window {
 public:
  /// Zeroed memory of this rank's. Collective.
  Window(MPI_Comm communicator, std::size_t bytes);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  /// Without effect once it is freed; a window that is not, as after an error, is left to MPI.
  ~Window() = default;
  /// Collective.
  void free();

  /// Adds to a number in the memory of `peer`; what was there before comes to `before`. Both
  /// numbers must stay in place until it is complete.
  [[nodiscard]] Request fetch_add(const std::int64_t& added, std::int64_t& before, int peer,
                                  std::size_t offset);
  /// Complete when the bytes may be changed.
  [[nodiscard]] Request put(std::span<const std::byte> bytes, int peer, std::size_t offset);
  /// What this rank has begun is complete in the memory of the others.
  void flush();

  /// This rank's memory as the others have left it. They must be done, and have said so.
  [[nodiscard]] std::span<const std::byte> read();

 private:
  MPI_Comm communicator_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> memory_;
};

}  // namespace vicinal::mpi

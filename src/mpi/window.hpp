// Memory that the other ranks of a communicator can reach. MPI makes and frees windows
// collectively, blocking, and what puts something into one may need the rank it belongs to, to be
// inside MPI. So all of this is for operations that every rank is known to have entered.
//
// Making a window costs a thousand times what using it does, and no rank can free one alone. So
// windows are made to last: whoever needs one no longer, as when its communicator goes, lays it by,
// for the next communicator of the same ranks.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mpi/collectives.hpp"

namespace vicinal::mpi {

/// Open to all, in one shared epoch, from its making to its end.
class Window {
 public:
  /// Zeroed memory of this rank's, as much as the others'. Collective. The number, by which ranks can
  /// make sure that they mean the same window, must be the same on all, and higher than that of any
  /// window that one of them has.
  Window(MPI_Comm communicator, std::size_t bytes, std::int64_t number);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  /// Without effect: MPI keeps the window to its end.
  ~Window() = default;

  /// A number for the next window, as far as this rank knows.
  [[nodiscard]] static std::int64_t next_number();
  /// The last made of the windows laid by whose ranks are those of the communicator, in their order;
  /// null where there is none. Local: other ranks may have another.
  [[nodiscard]] static std::unique_ptr<Window> find(MPI_Comm communicator);
  /// Lays a window by. Nothing may be under way in it. Local.
  static void lay_by(std::unique_ptr<Window> window);

  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }

  /// Takes other memory of this size, zeroed. Collective.
  void resize(MPI_Comm communicator, std::size_t bytes);

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
  /// Zeroes part of this rank's memory. Nobody may reach for it before this rank has said so.
  void clear(std::size_t offset, std::size_t bytes);

 private:
  void open(MPI_Comm communicator, std::size_t bytes);

  std::int64_t number_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> memory_;
};

}  // namespace vicinal::mpi

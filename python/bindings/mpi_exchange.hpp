// What one exchange of a halo moves: from which of the user's arrays into which, and their layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "collectives/halo.hpp"
#include "mpi_array.hpp"

namespace vicinal::python {

/// The arrays of an exchange, checked against the halo and each other.
struct Operands {
  Array owned;
  Array ghosts;           ///< not given where they are the end of `owned`
  bool appended = false;  ///< the ghosts are the end of `owned`
  std::byte* ghost_data = nullptr;
  ValueShape shape;  ///< from owned to ghosts

  /// Checks that `owned` has the owned entries or, with `ghosts` missing, that the ghosts follow
  /// them, and finds the layout. Throws a buffer, type or argument fault; of an `x` without ghosts its message says what
  /// becomes of them.
  void check(Index owned_count, Index ghost_count, const char* ghosts_apart);
  /// Has the exchange come after what is on a stream so far; of None after nothing.
  void follow(nanobind::handle stream) const;

 private:
  void check_ghosts(Index ghost_count) const;
  [[noreturn]] void refuse_length(Index owned_count, Index ghost_count,
                                  const char* ghosts_apart) const;
  [[noreturn]] void refuse_layout() const;
};

/// The handle of what Python calls a stream of a GPU; nothing for None.
std::optional<std::uintptr_t> read_stream(nanobind::handle stream);

/// The combination that `op`, a word or an operator of mpi4py, stands for.
Combine read_operator(nanobind::handle op, const ValueType& type, Index values);

}  // namespace vicinal::python

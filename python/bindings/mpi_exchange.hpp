// The arrays of one exchange of a halo, and their layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "collectives/halo.hpp"
#include "mpi_array.hpp"

namespace vicinal::python {

/// The arrays of an exchange, checked against the halo and against each other.
struct Operands {
  Array owned;
  Array ghosts;           ///< not given if the ghosts are the end of `owned`
  bool appended = false;  ///< whether the ghosts are the end of `owned`
  std::byte* ghost_data = nullptr;
  ValueShape shape;  ///< from owned to ghosts

  /// Checks that `owned` has the owned entries and, if `ghosts` is not given, the ghosts after
  /// them. Finds the layout. Throws a buffer, type or argument fault. `ghosts_apart` says in its
  /// message what happens without ghosts in `x`.
  void check(Index owned_count, Index ghost_count, const char* ghosts_apart);
  /// Orders the exchange after the work so far on a stream. Does nothing for None.
  void follow(nanobind::handle stream) const;

 private:
  void check_ghosts(Index ghost_count) const;
  [[noreturn]] void refuse_length(Index owned_count, Index ghost_count,
                                  const char* ghosts_apart) const;
  [[noreturn]] void refuse_layout() const;
};

/// Returns the handle of a GPU stream given by Python, or nothing for None.
std::optional<std::uintptr_t> read_stream(nanobind::handle stream);

/// Returns the combination for `op`, a word or an mpi4py operator.
Combine read_operator(nanobind::handle op, const ValueType& type, Index values);

}  // namespace vicinal::python

// Which MPI is loaded, for what only one of them does wrong.
#pragma once

#include <string_view>

namespace vicinal::mpi {

/// Whether what it says of its version begins with `name`. Takes no memory.
[[nodiscard]] bool library_is(std::string_view name) noexcept;

}  // namespace vicinal::mpi

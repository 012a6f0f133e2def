// Which MPI is loaded.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::mpi {

/// Whether what it says of its version begins with `name`, for what only one of them does wrong. Takes no memory.
[[nodiscard]] bool library_is(std::string_view name) noexcept;

/// The name and version of the MPI that is loaded, in one line without tabs.
[[nodiscard]] std::string library_version();

}  // namespace vicinal::mpi

// Identifies the loaded MPI.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::mpi {

/// Returns whether MPI's version text begins with `name`, for workarounds in one library. Allocates
/// nothing.
[[nodiscard]] bool library_is(std::string_view name) noexcept;

/// Returns the name and version of the loaded MPI, in one line without tabs.
[[nodiscard]] std::string library_version();

}  // namespace vicinal::mpi

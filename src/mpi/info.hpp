// Reading hints from an MPI_Info object.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

namespace vicinal::mpi {

/// The value of a key; nothing where `info` is MPI_INFO_NULL or has no such key.
[[nodiscard]] std::optional<std::string> info_value(MPI_Info info, const char* key);

}  // namespace vicinal::mpi

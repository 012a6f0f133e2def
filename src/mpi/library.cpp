// The MPI's own word for it.
#include "mpi/library.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>

namespace vicinal::mpi {

bool library_is(std::string_view name) noexcept {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return std::string_view(text.data(), static_cast<std::size_t>(length)).starts_with(name);
}

}  // namespace vicinal::mpi

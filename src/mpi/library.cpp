// Uses the version text of the MPI itself.
#include "mpi/library.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace vicinal::mpi {

namespace {

using Text = std::array<char, MPI_MAX_LIBRARY_VERSION_STRING>;

std::string_view version(Text& text) noexcept {
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

bool library_is(std::string_view name) noexcept {
  Text text{};
  return version(text).starts_with(name);
}

std::string library_version() {
  Text text{};
  const std::string_view all = version(text);
  std::string line(all.substr(0, all.find_first_of(",\n")));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

}  // namespace vicinal::mpi

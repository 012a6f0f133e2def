// What the preload library (preload.c) asks: which function stands in the place of one of MPI's.
#include <algorithm>
#include <array>
#include <string_view>

#include "interpose/guarded_as.hpp"
#include "interpose/own.hpp"
#include "mpi/errors.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {
namespace {

/// Of MPI_X, PMPI_X, MPIX_X and PMPIX_X; a name that has none of these stays.
std::string_view without_prefix(std::string_view name) {
  const std::size_t begin = name.find("MPI");
  return begin > 1 ? name : name.substr(std::min(name.size(), name.find('_') + 1));
}

[[maybe_unused]] const bool counted = [] {
  mpi::Inside::count();
  return true;
}();

std::array<std::span<const Row>, 5> tables() {
  return {creation(), exchanges(), allgathers(), completion(), waiting()};
}

void* answer(std::string_view name, void* own_function) {
  for (const auto& table : tables()) {
    for (const Row& row : table) {
      if (row.name != without_prefix(name) && row.name != name) continue;
      // Of MPI_X and PMPI_X, which are one function to the program, the latter is called.
      if (own_function != nullptr && (*row.own == nullptr || name.starts_with('P'))) {
        *row.own = own_function;
      }
      return row.ours;
    }
  }
  return nullptr;
}

}  // namespace

std::string function_of(const void* ours) {
  for (const auto& table : tables()) {
    for (const Row& row : table) {
      if (row.ours == ours) return "MPI_" + std::string(without_prefix(row.name));
    }
  }
  return "MPI";
}

int raise_for(const void* ours, MPI_Comm user, const Error& error) noexcept {
  try {
    return mpi::raise_for(function_of(ours), user, error);
  } catch (const std::exception&) {
    return mpi::raise(user, error);  // there is no memory for the name
  }
}

}  // namespace vicinal::interpose

extern "C" {

/// The function that stands in the place of MPI's `name`, whose own one is `own`, or null where MPI has none.
__attribute__((visibility("default"))) void* vicinal_interpose_answer(const char* name, void* own) {
  return vicinal::interpose::answer(name, own);
}
}

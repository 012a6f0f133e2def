// Answers the preload library (preload.c): names the functions that replace MPI's.
#include <algorithm>
#include <array>
#include <string_view>

#include "interpose/guarded_as.hpp"
#include "interpose/own.hpp"
#include "mpi/errors.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {
namespace {

/// Removes the prefix of MPI_X, PMPI_X, MPIX_X and PMPIX_X. Returns any other name unchanged.
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
      // MPI_X and PMPI_X are one function to the program. Of the two, this calls PMPI_X.
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
    return mpi::raise(user, error);  // the name could not be allocated
  }
}

}  // namespace vicinal::interpose

extern "C" {

/// Returns the function that replaces MPI's `name`, or null if none does. `own`: MPI's own
/// function, or null if MPI has none.
__attribute__((visibility("default"))) void* vicinal_interpose_answer(const char* name, void* own) {
  return vicinal::interpose::answer(name, own);
}
}

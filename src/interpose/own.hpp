// The functions of MPI's that vicinal replaces, and MPI's own.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vicinal::interpose {

/// MPI's own function, which `ours` replaces. Set before the program calls any.
template <auto ours>
inline decltype(ours) own = nullptr;

/// A replaced function of MPI's. The name has no prefix, unless MPI_X and PMPI_X differ.
struct Row {
  std::string_view name;
  void* ours;
  void** own;
};

template <auto ours>
Row row(std::string_view name) {
  return {name, reinterpret_cast<void*>(ours), reinterpret_cast<void**>(&own<ours>)};
}

/// Returns the name of the MPI function that `ours` replaces, such as "MPI_Neighbor_alltoallv".
[[nodiscard]] std::string function_of(const void* ours);

[[nodiscard]] std::span<const Row> creation();    ///< of communicators with neighbours
[[nodiscard]] std::span<const Row> exchanges();   ///< among neighbours
[[nodiscard]] std::span<const Row> allgathers();  ///< over all ranks
[[nodiscard]] std::span<const Row> completion();  ///< of requests, and the end of MPI
[[nodiscard]] std::span<const Row> waiting();     ///< for other ranks, without progress of MPI

}  // namespace vicinal::interpose

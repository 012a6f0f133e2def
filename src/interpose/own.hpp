// The functions of MPI's that are served, and MPI's own in whose places ours stand.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vicinal::interpose {

/// MPI's own function where `ours` stands in its place. Set before the program calls any.
template <auto ours>
inline decltype(ours) own = nullptr;

/// A function of MPI's: without prefix, if MPI_X and PMPI_X are one.
struct Row {
  std::string_view name;
  void* ours;
  void** own;
};

template <auto ours>
Row row(std::string_view name) {
  return {name, reinterpret_cast<void*>(ours), reinterpret_cast<void**>(&own<ours>)};
}

/// "MPI_Neighbor_alltoallv": MPI's function that `ours` stands for.
[[nodiscard]] std::string function_of(const void* ours);

[[nodiscard]] std::span<const Row> creation();    ///< of communicators with neighbours
[[nodiscard]] std::span<const Row> exchanges();   ///< among neighbours
[[nodiscard]] std::span<const Row> allgathers();  ///< over all ranks
[[nodiscard]] std::span<const Row> completion();  ///< of requests, and the end of MPI
[[nodiscard]] std::span<const Row> waiting();     ///< for other ranks without progress of MPI's

}  // namespace vicinal::interpose

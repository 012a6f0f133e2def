// The variables that every look of a wait reads, in one cache line: a rank that shares its core finds each line cold when it has
// the core again.
#pragma once

#include <atomic>
#include <cstddef>

namespace vicinal::mpi {

struct alignas(64) Hot {
  std::atomic<int> active = 0;          ///< what progress() advances
  std::atomic<int> spins = 32;          ///< pauses before the first that yields
  std::atomic<std::size_t> chores = 0;  ///< not done, on this rank
};
inline constinit Hot hot;

}  // namespace vicinal::mpi

// The variables that every poll of a wait reads, in one cache line. A rank that shares its core
// finds each line cold when it gets the core back.
#pragma once

#include <atomic>
#include <cstddef>

namespace vicinal::mpi {

struct alignas(64) Hot {
  std::atomic<int> active = 0;            ///< what progress() advances
  std::atomic<int> spins = 32;            ///< pauses before the first that yields
  std::atomic<std::size_t> deferred = 0;  ///< tasks not done, on this rank
};
inline constinit Hot hot;

}  // namespace vicinal::mpi

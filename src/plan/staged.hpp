// Plans for user buffers that MPI cannot access directly: each element is scattered in memory
// (several vectors exchanged together), or MPI cannot reach the memory.
#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace vicinal {

enum class Staged : std::uint8_t {
  messages,
  messages_and_reductions,  ///< for operators that do not work on the user's memory
};

/// Returns the plan with staging buffers between these operations and the user's buffers (of
/// reductions, also the slots). The staging buffers are appended to the list of buffers.
Plan with_staged(const Plan& plan, Staged what);

}  // namespace vicinal

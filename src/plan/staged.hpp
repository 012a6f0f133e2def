// Plans for user buffers that MPI cannot send from and receive into: because their elements do not lie in one
// piece each (several vectors exchanged together), or because they lie in memory that MPI does not reach.
#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace vicinal {

enum class Staged : std::uint8_t {
  messages,
  messages_and_reductions,  ///< for operators that the user's memory does not know either
};

/// The same plan with a staging buffer, appended to the buffers, between each of these operations and the
/// user's buffer, or of reductions the slot, that it would have touched.
Plan with_staged(const Plan& plan, Staged what);

}  // namespace vicinal

// Plans for user buffers whose elements do not lie in one piece each (several vectors exchanged
// together): nothing may be sent from or received into such a buffer directly.
#pragma once

#include "plan/plan.hpp"

namespace vicinal {

/// The same plan with a staging buffer, appended to the buffers, between each message and the user's
/// buffer that it would have touched.
Plan with_staged_messages(const Plan& plan);

}  // namespace vicinal

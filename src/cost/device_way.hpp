// Choice of the transport for data in a GPU's memory, by the profile.
#pragma once

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "plan/placement.hpp"

namespace vicinal {

/// Returns the transport that takes the least time for this rank's messages and handovers together.
/// Assumes that both of the user's buffers lie in a GPU's memory. Uses host memory if the profile
/// has no prices for the alternative.
DeviceWay cheaper_way(const Plan& plan, const Machine& machine, const Profile& profile,
                      Index element_bytes);

}  // namespace vicinal

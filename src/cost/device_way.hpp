// Which way data in a GPU's memory go, by the profile.
#pragma once

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "plan/placement.hpp"

namespace vicinal {

/// The way by which the messages and handovers of this rank's plan take less time all together, with both of the user's
/// buffers in a GPU's memory; of what the profile has no prices for, the host's.
DeviceWay cheaper_way(const Plan& plan, const Machine& machine, const Profile& profile,
                      Index element_bytes);

}  // namespace vicinal

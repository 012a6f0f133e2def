// The estimate behind the choice of how many ranks of a region deliver for each other.
#pragma once

#include <span>

#include "base/runs.hpp"
#include "cost/profile.hpp"

namespace vicinal {

/// What one rank of a region does to get its own and its group's elements out.
struct MemberLoad {
  Index messages = 0;          ///< sent to other regions
  Index elements = 0;          ///< in these messages
  Index combined = 0;          ///< the same, in messages that hold elements of several ranks
  Index shared_partners = 0;   ///< ranks it takes elements from, and ranks it hands some to,
                               ///< through shared memory
  Index message_partners = 0;  ///< the same, by messages
  Index handed = 0;            ///< elements that come or go by messages to partners
};

/// Seconds until the last message of the region has arrived where it goes.
double grouped_seconds(std::span<const MemberLoad> members, Index element_bytes,
                       const Profile& profile);

}  // namespace vicinal

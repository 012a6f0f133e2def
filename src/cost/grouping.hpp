// Estimate for the choice of how many ranks of a region deliver for each other.
#pragma once

#include <span>

#include "base/runs.hpp"
#include "cost/profile.hpp"

namespace vicinal {

/// Work of one rank of a region to send its own and its group's elements.
struct MemberLoad {
  Index messages = 0;          ///< sent to other regions
  Index elements = 0;          ///< in these messages
  Index combined = 0;          ///< those in messages with elements of several ranks
  Index shared_partners = 0;   ///< ranks that it exchanges elements with through shared memory
  Index message_partners = 0;  ///< ranks that it exchanges elements with by messages
  Index handed = 0;            ///< elements exchanged with partners by messages
};

/// Returns the seconds until the last message of the region has arrived.
double grouped_seconds(std::span<const MemberLoad> members, Index element_bytes,
                       const Profile& profile);

}  // namespace vicinal

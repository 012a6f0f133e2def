// The estimate behind the choice, made for each region pair, between sending its edges straight and
// relaying them through leaders.
#pragma once

#include "base/runs.hpp"
#include "cost/profile.hpp"

namespace vicinal {

/// All that moves from one region to another.
struct PairTraffic {
  Index edges = 0;         ///< pairs of ranks with something to send
  Index elements = 0;      ///< over all edges
  Index distinct = 0;      ///< the same, each item once
  Index contributors = 0;  ///< ranks that send
};

/// Seconds until the last of the pair's messages is there, each sent by its own rank.
double straight_seconds(const PairTraffic& traffic, Index element_bytes, const Profile& profile);

/// Seconds until the last consumer has its items, through `leaders` leaders.
double relayed_seconds(const PairTraffic& traffic, Index leaders, Index element_bytes,
                       const Profile& profile);

}  // namespace vicinal

// What distinguishes the planners of the relay family; everything else they share.
#pragma once

#include <cstdint>

#include "cost/region_loads.hpp"

namespace vicinal {

struct RelayPolicy {
  using Division = RelayRules::Division;
  /// When a region pair is relayed at all.
  enum class Decision : std::uint8_t {
    never,
    fewer_messages,  ///< whenever relaying saves messages
    cheaper,         ///< whenever the busiest rank on either side is expected to gain
  };
  /// The order in which straight messages are sent.
  enum class Order : std::uint8_t {
    ascending,
    nearest_first,
    rotated,  ///< each rank begins with the rank after its own, so that no destination is everybody's first
  };

  Decision decision = Decision::never;
  Division division = Division::whole;
  Order order = Order::ascending;
  bool identity = true;      ///< send items of equal identity once
  bool share_local = false;  ///< edges inside the region go through shared memory
};

}  // namespace vicinal

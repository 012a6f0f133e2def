// The differences between the planners of the relay family.
#pragma once

#include <cstdint>

#include "cost/region_loads.hpp"

namespace vicinal {

struct RelayPolicy {
  using Division = RelayRules::Division;
  /// The condition for relaying a region pair.
  enum class Decision : std::uint8_t {
    never,
    fewer_messages,  ///< whenever relaying saves messages
    cheaper,         ///< whenever the busiest rank on either side is expected to gain
  };
  /// The order in which direct messages are sent.
  enum class Order : std::uint8_t {
    ascending,
    nearest_first,
    rotated,  ///< begins with the next higher rank, so that no destination is first for all
  };

  Decision decision = Decision::never;
  Division division = Division::whole;
  Order order = Order::ascending;
  bool identity = true;      ///< send items of equal identity once
  bool share_local = false;  ///< edges inside the region go through shared memory
};

}  // namespace vicinal

// What distinguishes the planners of the relay family; everything else they share.
#pragma once

#include <cstdint>

namespace vicinal {

struct RelayPolicy {
  /// How the items of a region pair are divided among leaders.
  enum class Division : std::uint8_t {
    whole,        ///< one leader carries all
    bytes,        ///< one leader for each split_bytes of the pair
    contributor,  ///< each contributor carries its own items
  };
  /// When a region pair is relayed at all.
  enum class Decision : std::uint8_t {
    never,
    fewer_messages,  ///< whenever relaying saves messages
    cheaper,         ///< whenever the cost model expects it to take less time
  };
  /// The order in which straight messages are sent.
  enum class Order : std::uint8_t { ascending, nearest_first };

  Decision decision = Decision::never;
  Division division = Division::whole;
  Order order = Order::ascending;
  bool identity = true;      ///< send items of equal identity once
  bool share_local = false;  ///< edges inside the region go through shared memory
};

}  // namespace vicinal

// What the ranks have agreed on at the end of a negotiation, as one rank sees it: which of its links
// go straight, what it hands to which leader, what it leads, what it takes from which leader. Forward
// and reverse plans are both written out from it, without asking anybody again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/runs.hpp"

namespace vicinal {

/// How data passes between two ranks of a region.
enum class Via : std::uint8_t { self, shared, message };

/// A place in a shared slot. Forward and reverse executions use slots of their own, because one
/// forward element that several ranks read becomes several contributions in reverse.
struct SlotPair {
  std::int64_t forward = -1;
  std::int64_t reverse = -1;
};

/// A link without a relay, from this rank or to it.
struct Straight {
  int peer = 0;
  bool local = false;
  std::int64_t tag = -1;
  Index count = 0;
  std::vector<CopyRun> runs;  ///< sending: source -> message; receiving: message -> target
};

/// One rank at the other side of a slot or of local messages, as its owner sees it.
struct Partner {
  int rank = 0;
  Via via = Via::self;
  int peer_index = -1;    ///< shared: which peer of the slot
  std::int64_t tag = -1;  ///< message
  Index offset = 0;  ///< gather: where its items begin in the buffer; scatter: where its reverse
                     ///< contributions begin in the reverse slot
  Index count = 0;
  std::vector<CopyRun> picks;  ///< scatter: buffer position -> position in the partner's order
};

/// The other side of Partner: what this rank hands to or takes from the owner of a buffer.
struct Share {
  int owner = 0;
  Via via = Via::self;
  SlotPair slot;
  int peer_index = -1;
  std::int64_t tag = -1;
  Index extent = 0;  ///< of the buffer
  Index offset = 0;  ///< as in Partner
  Index count = 0;
  std::vector<CopyRun> runs;   ///< gather: source -> 0..count-1; scatter: buffer -> target
  std::vector<CopyRun> order;  ///< scatter: position in this rank's order -> target
};

/// A message between leaders, at the leader that sends it (partners contribute to it) or at the one
/// that receives it (partners consume it).
struct Relay {
  int peer = 0;
  std::int64_t tag = -1;
  Index count = 0;
  SlotPair slot;
  std::vector<Partner> partners;
};

/// What this rank lays open to its region without any message between regions.
struct Publication {
  Index extent = 0;
  SlotPair slot;
  std::vector<CopyRun> pack;  ///< source -> slot
  std::vector<Partner> readers;
};

struct Routes {
  int regions = 0;            ///< how many other regions this rank sends to
  int relayed_regions = 0;    ///< to how many of them by way of leaders
  std::vector<CopyRun> self;  ///< edges to the own rank: source -> target
  std::vector<Straight> sends;
  std::vector<Straight> receives;
  std::optional<Publication> publication;
  std::vector<Share> readings;       ///< of other ranks' publications
  std::vector<Share> contributions;  ///< to leaders
  std::vector<Relay> outbound;       ///< led by this rank
  std::vector<Relay> inbound;
  std::vector<Share> deliveries;  ///< from leaders
};

}  // namespace vicinal

// The control messages of a negotiation. Each carries its sender's status, so that faults travel
// with them. Only an introduction has the region's status, since the decisions of both sides depend
// on it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/conversation.hpp"
#include "cost/region_loads.hpp"
#include "negotiate/faults.hpp"
#include "negotiate/links.hpp"
#include "negotiate/transfers.hpp"

namespace vicinal {

enum class Verdict : std::int64_t {
  dead,      ///< a rank on either side has failed
  straight,  ///< every edge of the region pair is sent directly
  relayed,
};

void fields(auto&& take, Is<Occurrence> auto& it) { take(it.peer, it.offset); }

/// To the region: one rank's traffic with each other region that it has edges to, or from.
struct Summary {
  static constexpr std::string_view name = "summary";
  struct Load {
    std::size_t link = 0;  ///< its index among the region's links of that direction
    Index edges = 0;       ///< that carry anything
    Index elements = 0;
    Index distinct = 0;
    /// One bit for each rank there with such an edge, by its number modulo 64.
    std::uint64_t peers = 0;
    /// Summed over a region pair, equal on both sides if all counts agree.
    std::uint64_t fingerprint = 0;
  };
  Status status;
  bool idle = false;  ///< it has no edges, but participates
  std::vector<Load> out;
  std::vector<Load> in;
};
void fields(auto&& take, Is<Summary::Load> auto& it) {
  take(it.link, it.edges, it.elements, it.distinct, it.peers, it.fingerprint);
}
void fields(auto&& take, Is<Summary> auto& it) { take(it.status, it.idle, it.out, it.in); }

/// A contributor's items for one leader. The occurrences of all runs stand one after the other.
struct ContributedStream {
  struct Run {
    Index count = 0;
    std::size_t occurrences = 0;
  };
  int rank = 0;
  std::int64_t tag = -1;
  Index count = 0;
  std::vector<int> destinations;  ///< ranks of the far region that the contributor has edges to
  std::vector<Run> runs;
  std::vector<Occurrence> occurrences;
};
void fields(auto&& take, Is<ContributedStream::Run> auto& it) { take(it.count, it.occurrences); }
void fields(auto&& take, Is<ContributedStream> auto& it) {
  take(it.rank, it.tag, it.count, it.destinations, it.runs, it.occurrences);
}

/// From contributor to leader.
struct Contribution {
  static constexpr std::string_view name = "stream";
  Status status;
  int region = 0;  ///< the other region
  std::size_t part = 0;
  ContributedStream stream;
};
void fields(auto&& take, Is<Contribution> auto& it) {
  take(it.status, it.region, it.part, it.stream);
}

/// From the first leader of one side of a region pair to the other region's contact rank, which
/// forwards it to the leaders there.
struct Introduction {
  static constexpr std::string_view name = "introduction";
  Status status;             ///< known to all members of the region
  bool from_sender = false;  ///< sent by the sending side
  int region = 0;            ///< the region that introduces itself
  std::uint64_t fingerprint = 0;
  Index edges = 0;              ///< that carry anything, as this side counts them
  PairTimes times;              ///< of this side
  bool by_contributor = false;  ///< each leader sends its own items only
  std::vector<int> leaders;     ///< of the region that introduces itself
};
void fields(auto&& take, Is<Introduction> auto& it) {
  take(it.status, it.from_sender, it.region, it.fingerprint, it.edges, it.times, it.by_contributor,
       it.leaders);
}

/// From sending leader to contributor.
struct Placement {
  static constexpr std::string_view name = "placement";
  Status status;
  int region = 0;  ///< the other region
  std::size_t part = 0;
  Verdict verdict = Verdict::dead;
  std::optional<Passage> place;  ///< set if something is relayed; `peer_index` as in Portion
};
void fields(auto&& take, Is<Placement> auto& it) {
  take(it.status, it.region, it.part, it.verdict, it.place);
}

/// From sending leader to receiving leader: the contents of the message.
struct Layout {
  static constexpr std::string_view name = "layout";
  Status status;
  int region = 0;  ///< the sending region
  std::size_t part = 0;
  std::int64_t tag = -1;
  Index count = 0;
  std::vector<ContributedStream> streams;
};
void fields(auto&& take, Is<Layout> auto& it) {
  take(it.status, it.region, it.part, it.tag, it.count, it.streams);
}

/// From receiving leader to consumer.
struct PairVerdict {
  static constexpr std::string_view name = "verdict";
  Status status;
  int region = 0;  ///< the sending region
  Verdict verdict = Verdict::dead;
  bool by_contributor = false;  ///< as in Introduction
  std::vector<int> leaders;     ///< of the sending region, by part
};
void fields(auto&& take, Is<PairVerdict> auto& it) {
  take(it.status, it.region, it.verdict, it.by_contributor, it.leaders);
}

/// From contributor to sending leader, if there is no slot.
struct LateTag {
  static constexpr std::string_view name = "tag";
  Status status;
  int region = 0;  ///< the other region
  std::size_t part = 0;
  std::int64_t tag = -1;
};
void fields(auto&& take, Is<LateTag> auto& it) { take(it.status, it.region, it.part, it.tag); }

/// The position of a rank's items, in a slot of their carrier or in a message.
struct Portion {
  struct Entry {
    int origin = 0;
    Index offset = 0;    ///< in the link from `origin`
    Index position = 0;  ///< in the slot or message
    Index count = 0;
  };
  /// For the carrier itself, `peer_index` is the index of the message among those that it leads.
  Passage passage;
  std::vector<Entry> entries;
};
void fields(auto&& take, Is<Portion::Entry> auto& it) {
  take(it.origin, it.offset, it.position, it.count);
}
void fields(auto&& take, Is<Portion> auto& it) { take(it.passage, it.entries); }

/// From receiving leader to consumer.
struct Delivery {
  static constexpr std::string_view name = "delivery";
  Status status;
  Portion portion;
};
void fields(auto&& take, Is<Delivery> auto& it) { take(it.status, it.portion); }

/// From sender to receiver of a link that is sent directly or published.
struct Offer {
  static constexpr std::string_view name = "offer";
  Status status;
  Index count = 0;
  std::vector<std::int64_t> tags;  ///< of the messages into which it is divided
  std::optional<Portion> published;
};
void fields(auto&& take, Is<Offer> auto& it) { take(it.status, it.count, it.tags, it.published); }

}  // namespace vicinal

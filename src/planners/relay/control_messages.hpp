// The letters of a negotiation. Each carries its sender's status, so that a fault travels with whatever would have
// been said; only an introduction has the region's, since both sides' verdicts go by that.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/letters.hpp"
#include "cost/region_loads.hpp"
#include "planners/faults.hpp"
#include "planners/links.hpp"
#include "planners/passage.hpp"

namespace vicinal {

enum class Verdict : std::int64_t {
  dead,      ///< a rank on either side is at fault
  straight,  ///< every edge of the region pair goes straight
  relayed,
};

void fields(auto&& take, Is<Occurrence> auto& it) { take(it.peer, it.offset); }

/// To the region: what one rank has to do with each other region that it has edges to, or from.
struct Summary {
  static constexpr std::string_view name = "summary";
  struct Load {
    std::size_t link = 0;  ///< its place among the region's links of that direction
    Index edges = 0;       ///< that carry anything
    Index elements = 0;
    Index distinct = 0;
    std::uint64_t peers =
        0;  ///< a bit for each rank there with any of them, by its number modulo 64
    std::uint64_t fingerprint =
        0;  ///< summed over a pair, equal on both sides where all counts agree
  };
  Status status;
  bool idle = false;  ///< it has no edges, and takes part all the same
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
  std::vector<int> destinations;  ///< ranks of the far region that this contributor has edges to
  std::vector<Run> runs;
  std::vector<Occurrence> occurrences;
};
void fields(auto&& take, Is<ContributedStream::Run> auto& it) { take(it.count, it.occurrences); }
void fields(auto&& take, Is<ContributedStream> auto& it) {
  take(it.rank, it.tag, it.count, it.destinations, it.runs, it.occurrences);
}

/// Contributor to leader.
struct Contribution {
  static constexpr std::string_view name = "stream";
  Status status;
  int region = 0;  ///< the other one
  std::size_t part = 0;
  ContributedStream stream;
};
void fields(auto&& take, Is<Contribution> auto& it) {
  take(it.status, it.region, it.part, it.stream);
}

/// First leader of one side of a region pair to the other region's contact rank, which passes it on to the
/// leaders there.
struct Introduction {
  static constexpr std::string_view name = "introduction";
  Status status;             ///< that all members of the region know of
  bool from_sender = false;  ///< of the side that sends
  int region = 0;            ///< that introduces itself
  std::uint64_t fingerprint = 0;
  Index edges = 0;              ///< that carry anything, as this side has them
  PairTimes times;              ///< of this side
  bool by_contributor = false;  ///< each leader sends its own items, and no others
  std::vector<int> leaders;     ///< of the side that introduces itself
};
void fields(auto&& take, Is<Introduction> auto& it) {
  take(it.status, it.from_sender, it.region, it.fingerprint, it.edges, it.times, it.by_contributor,
       it.leaders);
}

/// Sending leader to contributor.
struct Placement {
  static constexpr std::string_view name = "placement";
  Status status;
  int region = 0;  ///< the other one
  std::size_t part = 0;
  Verdict verdict = Verdict::dead;
  std::optional<Passage> place;  ///< where there is something to relay; `peer_index` as in Portion
};
void fields(auto&& take, Is<Placement> auto& it) {
  take(it.status, it.region, it.part, it.verdict, it.place);
}

/// Sending leader to receiving leader: what the message will hold.
struct Layout {
  static constexpr std::string_view name = "layout";
  Status status;
  int region = 0;  ///< the sending one
  std::size_t part = 0;
  std::int64_t tag = -1;
  Index count = 0;
  std::vector<ContributedStream> streams;
};
void fields(auto&& take, Is<Layout> auto& it) {
  take(it.status, it.region, it.part, it.tag, it.count, it.streams);
}

/// Receiving leader to consumer.
struct PairVerdict {
  static constexpr std::string_view name = "verdict";
  Status status;
  int region = 0;  ///< the sending one
  Verdict verdict = Verdict::dead;
  bool by_contributor = false;  ///< as in an introduction
  std::vector<int> leaders;     ///< of the sending region, by part
};
void fields(auto&& take, Is<PairVerdict> auto& it) {
  take(it.status, it.region, it.verdict, it.by_contributor, it.leaders);
}

/// Contributor to sending leader, where there is no slot.
struct LateTag {
  static constexpr std::string_view name = "tag";
  Status status;
  int region = 0;  ///< the other one
  std::size_t part = 0;
  std::int64_t tag = -1;
};
void fields(auto&& take, Is<LateTag> auto& it) { take(it.status, it.region, it.part, it.tag); }

/// Where a rank finds items, in a slot of their carrier's or in a message.
struct Portion {
  struct Entry {
    int origin = 0;
    Index offset = 0;    ///< in the link from there
    Index position = 0;  ///< in the slot or message
    Index count = 0;
  };
  Passage
      passage;  ///< for the carrier itself `peer_index` is the place of the message among those it leads
  std::vector<Entry> entries;
};
void fields(auto&& take, Is<Portion::Entry> auto& it) {
  take(it.origin, it.offset, it.position, it.count);
}
void fields(auto&& take, Is<Portion> auto& it) { take(it.passage, it.entries); }

/// Receiving leader to consumer.
struct Delivery {
  static constexpr std::string_view name = "delivery";
  Status status;
  Portion portion;
};
void fields(auto&& take, Is<Delivery> auto& it) { take(it.status, it.portion); }

/// Sender to receiver of a link that goes straight or is published.
struct Offer {
  static constexpr std::string_view name = "offer";
  Status status;
  Index count = 0;
  std::vector<std::int64_t> tags;  ///< of the messages into which it is divided (parts_of)
  std::optional<Portion> published;
};
void fields(auto&& take, Is<Offer> auto& it) { take(it.status, it.count, it.tags, it.published); }

}  // namespace vicinal

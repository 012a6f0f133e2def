// A pattern seen per peer: all edges between two ranks make one link, in edge order, so that several
// edges between one pair pair k-th with k-th and still travel as one message. For a far region, the
// links of a rank make one stream of items in which each item stands once, with all the places that
// it has to reach.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "pattern/pattern.hpp"
#include "planners/faults.hpp"

namespace vicinal {

/// One stretch of an out-link: items of consecutive identity at consecutive positions of the source.
struct Segment {
  Index identity = 0;
  Index position = 0;
  Index count = 0;
  int peer = 0;
  Index offset = 0;  ///< within the link
};

struct OutLink {
  int peer = 0;
  Index count = 0;
  std::vector<Segment> segments;
  [[nodiscard]] std::vector<CopyRun> pack() const;  ///< source position -> link offset
};

struct InLink {
  int peer = 0;
  Index count = 0;
  std::vector<CopyRun> slots;  ///< link offset -> target position, by offset
  Index longest = 0;           ///< the count of the longest of these runs
};

/// Links by peer. Without `identity` each element becomes an item of its own.
std::map<int, OutLink> out_links(const Pattern& pattern, bool identity);
std::map<int, InLink> in_links(const Pattern& pattern);

/// A place that items of a run have to reach: offset `offset` onwards of the link to `peer`.
struct Occurrence {
  int peer = 0;
  Index offset = 0;
  friend bool operator==(const Occurrence&, const Occurrence&) = default;
};

/// Consecutive items that all go to the same links.
struct StreamRun {
  Index position = 0;  ///< in the source buffer
  Index count = 0;
  std::vector<Occurrence> occurrences;
};

/// The items of several links, each item once, in the order of their identities.
struct Stream {
  Index count = 0;
  std::vector<StreamRun> runs;
  [[nodiscard]] std::vector<CopyRun> pack() const;  ///< source position -> stream offset
  /// Items `first` to `last`-1 of the stream.
  [[nodiscard]] Stream part(Index first, Index last) const;
};
Stream merge(std::span<const OutLink* const> links);

/// Translates a stretch of a link into target positions: for each slot that takes items
/// offset..offset+count-1, appends {base + (item - offset), slot}.
void append_slots(std::vector<CopyRun>& runs, const InLink& link, Index offset, Index count,
                  Index base);

/// The link from `rank` to itself, source position -> target position; blames the rank if its ends
/// count differently.
std::vector<CopyRun> join_self(int rank, const std::map<int, OutLink>& out,
                               const std::map<int, InLink>& in, FaultRecord& faults);

}  // namespace vicinal

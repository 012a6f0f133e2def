// A pattern seen per peer. All edges between two ranks form one link, in edge order. Several edges
// between a pair thus match k-th with k-th and travel as one message. For a far region, the links
// of a rank form one stream: each item once, with all places that it has to reach.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "negotiate/faults.hpp"
#include "pattern/pattern.hpp"

namespace vicinal {

/// One stretch of an out-link: items of consecutive identity at consecutive source positions.
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
  Index longest = 0;           ///< count of the longest run
};

/// Returns the links by peer. Without `identity`, each element becomes an item of its own.
std::map<int, OutLink> out_links(const Pattern& pattern, bool identity);
std::map<int, InLink> in_links(const Pattern& pattern);

/// A place that items of a run have to reach: `offset` onwards of the link to `peer`.
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

/// The items of several links, each item once, ordered by identity.
struct Stream {
  Index count = 0;
  std::vector<StreamRun> runs;
  [[nodiscard]] std::vector<CopyRun> pack() const;  ///< source position -> stream offset
  /// Returns items `first` to `last` - 1 of the stream.
  [[nodiscard]] Stream part(Index first, Index last) const;
};
Stream merge(std::span<const OutLink* const> links);

/// Appends {base + (item - offset), slot} for each slot that takes items offset..offset+count-1 of
/// a link.
void append_slots(std::vector<CopyRun>& runs, const InLink& link, Index offset, Index count,
                  Index base);

/// Returns the link from `rank` to itself, source position -> target position. Records a fault if
/// its ends count differently.
std::vector<CopyRun> join_self(int rank, const std::map<int, OutLink>& out,
                               const std::map<int, InLink>& in, FaultRecord& faults);

}  // namespace vicinal

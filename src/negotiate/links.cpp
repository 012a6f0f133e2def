// Links and streams. `merge` finds each value once, at the cost of sorting the stretches that carry
// it.
#include "negotiate/links.hpp"

#include <algorithm>
#include <tuple>

namespace vicinal {

std::vector<CopyRun> OutLink::pack() const {
  std::vector<CopyRun> runs;
  for (const Segment& segment : segments) {
    append_run(runs, {segment.position, segment.offset, segment.count});
  }
  return runs;
}

std::map<int, OutLink> out_links(const Pattern& pattern, bool identity) {
  std::map<int, OutLink> links;
  Index fresh = 0;
  for (const OutEdge& edge : pattern.out) {
    OutLink& link = links[edge.rank];
    link.peer = edge.rank;
    for (const ItemRun& run : edge.items) {
      if (run.count == 0) continue;
      const Index item = identity ? run.identity : fresh;
      link.segments.push_back({item, run.position, run.count, edge.rank, link.count});
      link.count += run.count;
      fresh += run.count;
    }
  }
  return links;
}

std::map<int, InLink> in_links(const Pattern& pattern) {
  std::map<int, InLink> links;
  for (const InEdge& edge : pattern.in) {
    InLink& link = links[edge.rank];
    link.peer = edge.rank;
    for (const CopyRun& run : edge.slots) {
      append_run(link.slots, {run.source + link.count, run.target, run.count});
    }
    link.count += edge.count;
  }
  for (auto& [peer, link] : links) {
    std::stable_sort(link.slots.begin(), link.slots.end(),
                     [](const CopyRun& a, const CopyRun& b) { return a.source < b.source; });
    for (const CopyRun& run : link.slots) link.longest = std::max(link.longest, run.count);
  }
  return links;
}

std::vector<CopyRun> Stream::pack() const {
  std::vector<CopyRun> result;
  Index offset = 0;
  for (const StreamRun& run : runs) {
    append_run(result, {run.position, offset, run.count});
    offset += run.count;
  }
  return result;
}

Stream Stream::part(Index first, Index last) const {
  Stream result;
  Index offset = 0;
  for (const StreamRun& run : runs) {
    const Index begin = std::max(first, offset), end = std::min(last, offset + run.count);
    if (begin < end) {
      StreamRun piece{run.position + (begin - offset), end - begin, run.occurrences};
      for (Occurrence& occurrence : piece.occurrences) occurrence.offset += begin - offset;
      result.runs.push_back(std::move(piece));
      result.count += end - begin;
    }
    offset += run.count;
  }
  return result;
}

namespace {

/// Returns whether `next` continues `run` in every respect, so that both form one run.
bool continues(const StreamRun& run, const StreamRun& next) {
  if (run.position + run.count != next.position) return false;
  return std::equal(run.occurrences.begin(), run.occurrences.end(), next.occurrences.begin(),
                    next.occurrences.end(), [&](const Occurrence& a, const Occurrence& b) {
                      return a.peer == b.peer && a.offset + run.count == b.offset;
                    });
}

}  // namespace

Stream merge(std::span<const OutLink* const> links) {
  std::vector<Segment> segments;
  for (const OutLink* link : links) {
    segments.insert(segments.end(), link->segments.begin(), link->segments.end());
  }
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
    return std::tie(a.identity, a.peer, a.offset) < std::tie(b.identity, b.peer, b.offset);
  });

  // A sweep over identities. `open` holds the segments that cover the current identity.
  Stream stream;
  std::vector<Segment> open;
  std::size_t next = 0;
  Index at = 0;
  while (next < segments.size() || !open.empty()) {
    if (open.empty()) at = segments[next].identity;
    while (next < segments.size() && segments[next].identity == at)
      open.push_back(segments[next++]);
    Index end = open.front().identity + open.front().count;
    for (const Segment& segment : open) end = std::min(end, segment.identity + segment.count);
    if (next < segments.size()) end = std::min(end, segments[next].identity);

    StreamRun run{open.front().position + (at - open.front().identity), end - at, {}};
    run.occurrences.reserve(open.size());
    for (const Segment& segment : open) {
      run.occurrences.push_back({segment.peer, segment.offset + (at - segment.identity)});
    }
    stream.count += run.count;
    if (!stream.runs.empty() && continues(stream.runs.back(), run)) {
      stream.runs.back().count += run.count;
    } else {
      stream.runs.push_back(std::move(run));
    }
    std::erase_if(open, [&](const Segment& s) { return s.identity + s.count == end; });
    at = end;
  }
  return stream;
}

void append_slots(std::vector<CopyRun>& runs, const InLink& link, Index offset, Index count,
                  Index base) {
  // Slots are ordered by their first offset. A stretch that starts before `offset` reaches into it
  // only if it starts less than `link.longest` earlier.
  const auto begins_after =
      std::upper_bound(link.slots.begin(), link.slots.end(), offset + count - 1,
                       [](Index value, const CopyRun& run) { return value < run.source; });
  auto first = std::lower_bound(
      link.slots.begin(), begins_after, offset,
      [&](const CopyRun& run, Index value) { return run.source + link.longest <= value; });
  for (auto run = first; run != begins_after; ++run) {
    const Index begin = std::max(offset, run->source);
    const Index end = std::min(offset + count, run->source + run->count);
    if (begin < end) {
      append_run(runs, {base + (begin - offset), run->target + (begin - run->source), end - begin});
    }
  }
}

std::vector<CopyRun> join_self(int rank, const std::map<int, OutLink>& out,
                               const std::map<int, InLink>& in, FaultRecord& faults) {
  const auto sent = out.find(rank);
  const auto expected = in.find(rank);
  const Index sent_count = sent == out.end() ? 0 : sent->second.count;
  const Index expected_count = expected == in.end() ? 0 : expected->second.count;
  faults.compare(rank, rank, sent_count, expected_count);
  std::vector<CopyRun> runs;
  if (sent_count != expected_count || sent_count == 0) return runs;
  for (const Segment& segment : sent->second.segments) {
    append_slots(runs, expected->second, segment.offset, segment.count, segment.position);
  }
  return runs;
}

}  // namespace vicinal

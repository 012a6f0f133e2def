// Ownership by ranges, which every rank stores, and by the directory. There rank r keeps the r-th
// block of the range of all owned indices. Blocks are better than a hash of each index, because
// owned and needed indices are mostly consecutive. So a rank contacts few ranks, and its indices
// stay in runs.
#include "discovery/ownership.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/conversation.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {

RangeOwnership::RangeOwnership(mpi::Communicator& communicator, Index first, Index last,
                               std::optional<Error> mine) {
  if (!mine && (first < 0 || last < first || last > largest_index + 1)) {
    mine = Error(Fault::argument, "the owned range from " + std::to_string(first) + " up to " +
                                      std::to_string(last) +
                                      " was given; it must start at 0 or later and must not end "
                                      "before it starts");
  }
  constexpr std::size_t words = 3;
  const std::array<std::int64_t, words> offer{first, last, vote(communicator, mine)};
  const std::vector<std::int64_t> all = mpi::allgather(communicator.handle(), offer);
  std::int64_t least_vote = communicator.size();
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto theirs = std::span(all).subspan(static_cast<std::size_t>(rank) * words, words);
    least_vote = std::min(least_vote, theirs[2]);
    if (theirs[0] < theirs[1]) ranges_.push_back({theirs[0], theirs[1], rank});
  }
  settle(communicator, least_vote, mine);

  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    const Range& a = ranges_[i - 1];
    const Range& b = ranges_[i];
    require(a.last <= b.first, Fault::argument, "ranks ", a.rank, " and ", b.rank,
            " both own index ", b.first, " (rank ", a.rank, " owns ", a.first, " to ", a.last - 1,
            ", rank ", b.rank, " owns ", b.first, " to ", b.last - 1,
            "); each index must have one owner");
  }
}

std::vector<int> RangeOwnership::owners(std::span<const Index> ascending) const {
  std::vector<int> result;
  result.reserve(ascending.size());
  auto range = ranges_.begin();
  for (const Index index : ascending) {
    if (range != ranges_.end() && index >= range->last) {
      range = std::upper_bound(range, ranges_.end(), index,
                               [](Index wanted, const Range& r) { return wanted < r.last; });
    }
    const bool found = range != ranges_.end() && index >= range->first;
    result.push_back(found ? range->rank : no_owner);
  }
  return result;
}

namespace {

class Blocks {
 public:
  /// Blocks of the indices first to last; none if last < first.
  Blocks(Index first, Index last, int size)
      : first_(first), last_(last), block_(size_of(first, last, size)) {}

  [[nodiscard]] bool contains(Index index) const { return index >= first_ && index <= last_; }
  /// Rank that keeps the block of an index inside the range.
  [[nodiscard]] int keeper(Index index) const {
    return static_cast<int>(static_cast<std::uint64_t>(index - first_) / block_);
  }
  /// End of the block that holds the index.
  [[nodiscard]] Index end(Index index) const {
    const std::uint64_t past = static_cast<std::uint64_t>(last_ - first_) + 1;
    const std::uint64_t next = (static_cast<std::uint64_t>(keeper(index)) + 1) * block_;
    return first_ + static_cast<Index>(std::min(past, next));
  }

 private:
  static std::uint64_t size_of(Index first, Index last, int size) {
    if (last < first) return 1;
    return static_cast<std::uint64_t>(last - first) / static_cast<std::uint64_t>(size) + 1;
  }
  Index first_;
  Index last_;
  std::uint64_t block_;
};

/// Message from a rank to a keeper: indices in the keeper's block that the rank owns or needs.
struct Entry {
  static constexpr std::string_view name = "entry in the directory";
  std::vector<IndexRun> owned;
  std::vector<IndexRun> needed;
};
void fields(auto&& take, Is<Entry> auto& it) { take(it.owned, it.needed); }

/// The next `count` indices belong to `owner`, or to no rank (no_owner).
struct Share {
  int owner = no_owner;
  Index count = 0;
};
void fields(auto&& take, Is<Share> auto& it) { take(it.owner, it.count); }

/// Message from a keeper to a rank: the owners of the indices that it needs.
struct Answer {
  static constexpr std::string_view name = "owners";
  std::vector<Share> shares;
};
void fields(auto&& take, Is<Answer> auto& it) { take(it.shares); }

using Entries = std::map<int, Entry>;

void split(const Blocks& blocks, IndexRun run, std::vector<IndexRun> Entry::* list,
           Entries& entries) {
  while (run.count > 0) {
    const Index count = std::min(run.count, blocks.end(run.first) - run.first);
    append_run(entries[blocks.keeper(run.first)].*list, {run.first, count});
    run = {run.first + count, run.count - count};
  }
}

std::vector<ControlMessage> registrations(const Blocks& blocks, std::span<const CopyRun> owned,
                                          std::span<const Index> needed) {
  Entries entries;
  for (const CopyRun& run : owned) {
    split(blocks, {run.source, run.count}, &Entry::owned, entries);
  }
  std::vector<IndexRun> asked;
  for (const Index index : needed) append_run(asked, {index, 1});
  for (const IndexRun& run : asked) split(blocks, run, &Entry::needed, entries);

  std::vector<ControlMessage> messages;
  for (const auto& [keeper, entry] : entries) messages.push_back(message_to(keeper, entry));
  return messages;
}

struct OwnedRun {
  IndexRun run;
  int rank = 0;
};

/// Sorts the runs; returns a fault if two overlap.
std::optional<Error> sort_owned(std::vector<OwnedRun>& owned) {
  std::sort(owned.begin(), owned.end(),
            [](const OwnedRun& a, const OwnedRun& b) { return a.run.first < b.run.first; });
  for (std::size_t i = 1; i < owned.size(); ++i) {
    if (owned[i - 1].run.end() <= owned[i].run.first) continue;
    const auto [low, high] = std::minmax(owned[i - 1].rank, owned[i].rank);
    return Error(Fault::argument, "ranks " + std::to_string(low) + " and " + std::to_string(high) +
                                      " both own index " + std::to_string(owned[i].run.first) +
                                      "; each index must have one owner")
        .on_all_ranks();
  }
  return std::nullopt;
}

/// Appends shares that cover the run.
void answer(std::span<const OwnedRun> owned, IndexRun asked, std::vector<Share>& shares) {
  const auto say = [&](int owner, Index count) {
    if (!shares.empty() && shares.back().owner == owner) {
      shares.back().count += count;
    } else {
      shares.push_back({owner, count});
    }
  };
  auto next = std::upper_bound(owned.begin(), owned.end(), asked.first,
                               [](Index index, const OwnedRun& o) { return index < o.run.end(); });
  while (asked.count > 0) {
    Index count = asked.count;
    int owner = no_owner;
    if (next != owned.end() && next->run.first <= asked.first) {
      count = std::min(count, next->run.end() - asked.first);
      owner = next->rank;
      ++next;
    } else if (next != owned.end()) {
      count = std::min(count, next->run.first - asked.first);
    }
    say(owner, count);
    asked = {asked.first + count, asked.count - count};
  }
}

}  // namespace

std::vector<int> find_owners(mpi::Communicator& communicator, std::span<const CopyRun> owned,
                             std::span<const Index> needed, const ExchangeOptions& options,
                             const std::optional<Error>& mine) {
  std::array<std::int64_t, 2> least{largest_index, 1};  // owned index, and negative of the largest
  if (!mine && !owned.empty()) {
    least[0] = owned.front().source;
    least[1] = -(owned.back().source + owned.back().count - 1);
  }
  agree(communicator, mine, least);
  const Blocks blocks(least[0], -least[1], communicator.size());

  // An index outside all blocks has no owner, so no keeper is asked.
  const auto inside = [&](Index index) { return blocks.contains(index); };
  const auto first = std::find_if(needed.begin(), needed.end(), inside);
  const auto last = std::find_if_not(first, needed.end(), inside);

  std::vector<OwnedRun> registered;
  std::vector<std::pair<int, std::vector<IndexRun>>> questions;
  std::optional<Error> found;
  std::vector<ControlMessage> entries;
  attempt(found, [&] { entries = registrations(blocks, owned, std::span(first, last)); });
  std::vector<ControlMessage> registered_by;
  attempt_together(found,
                   [&] { registered_by = exchange_messages(communicator, entries, options); });
  attempt(found, [&] {
    for (const ControlMessage& message : registered_by) {
      auto entry = contents_of<Entry>(message);
      for (const IndexRun& run : entry.owned) registered.push_back({run, message.peer});
      if (!entry.needed.empty()) questions.emplace_back(message.peer, std::move(entry.needed));
    }
  });
  if (!found) found = sort_owned(registered);
  std::vector<ControlMessage> answers;
  std::vector<int> owners;
  attempt(found, [&] {
    owners.reserve(needed.size());
    for (const auto& [peer, asked] : questions) {
      Answer answered;
      for (const IndexRun& run : asked) answer(registered, run, answered.shares);
      answers.push_back(message_to(peer, answered));
    }
  });

  // Keepers ascend with the indices, so the answers arrive in the order of the indices.
  answers = exchange_messages(communicator, answers, options, found);
  if (found) throw Error(*found);
  owners.resize(static_cast<std::size_t>(first - needed.begin()), no_owner);
  for (const ControlMessage& message : answers) {
    for (const Share& share : contents_of<Answer>(message).shares) {
      owners.insert(owners.end(), static_cast<std::size_t>(share.count), share.owner);
    }
  }
  owners.resize(needed.size(), no_owner);
  return owners;
}

}  // namespace vicinal

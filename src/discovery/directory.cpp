// The directory: rank r keeps the r-th block of the span of all owned indices. Blocks, and not a
// hash of each index, because what a rank owns and needs is mostly consecutive: it then meets few
// ranks, and its indices stay in runs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "discovery/index_runs.hpp"
#include "discovery/ownership.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {
namespace {

class Blocks {
 public:
  /// Of the indices first to last; none where last is before first.
  Blocks(Index first, Index last, int size)
      : first_(first), last_(last), block_(size_of(first, last, size)) {}

  [[nodiscard]] bool contains(Index index) const { return index >= first_ && index <= last_; }
  /// For an index that it contains.
  [[nodiscard]] int keeper(Index index) const {
    return static_cast<int>(static_cast<std::uint64_t>(index - first_) / block_);
  }
  /// The end of the block that holds the index.
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

/// What one rank and one keeper have to do with each other. In a letter: the number of words of
/// `owned`, then both lists.
struct Entry {
  std::vector<IndexRun> owned;
  std::vector<IndexRun> needed;
};

using Entries = std::map<int, Entry>;

void split(const Blocks& blocks, IndexRun run, std::vector<IndexRun> Entry::* list,
           Entries& entries) {
  while (run.count > 0) {
    const Index count = std::min(run.count, blocks.end(run.first) - run.first);
    append_run(entries[blocks.keeper(run.first)].*list, {run.first, count});
    run = {run.first + count, run.count - count};
  }
}

std::vector<Letter> registrations(const Blocks& blocks, std::span<const CopyRun> owned,
                                  std::span<const Index> needed) {
  Entries entries;
  for (const CopyRun& run : owned) {
    split(blocks, {run.source, run.count}, &Entry::owned, entries);
  }
  std::vector<IndexRun> asked;
  for (const Index index : needed) append_run(asked, {index, 1});
  for (const IndexRun& run : asked) split(blocks, run, &Entry::needed, entries);

  std::vector<Letter> letters;
  for (const auto& [keeper, entry] : entries) {
    Words words{static_cast<std::int64_t>(2 * entry.owned.size())};
    append_words(words, entry.owned);
    append_words(words, entry.needed);
    letters.push_back({keeper, std::move(words)});
  }
  return letters;
}

struct OwnedRun {
  IndexRun run;
  int rank = 0;
};

/// Where two runs overlap, the fault.
std::optional<Finding> sort_owned(std::vector<OwnedRun>& owned) {
  std::sort(owned.begin(), owned.end(),
            [](const OwnedRun& a, const OwnedRun& b) { return a.run.first < b.run.first; });
  for (std::size_t i = 1; i < owned.size(); ++i) {
    if (owned[i - 1].run.end() <= owned[i].run.first) continue;
    const auto [low, high] = std::minmax(owned[i - 1].rank, owned[i].rank);
    return Finding(
        Error(Fault::argument, "ranks " + std::to_string(low) + " and " + std::to_string(high) +
                                   " both own index " + std::to_string(owned[i].run.first) +
                                   "; each index must have one owner"),
        true);
  }
  return std::nullopt;
}

/// Appends (owner, count) pairs that cover the run.
void answer(std::span<const OwnedRun> owned, IndexRun asked, Words& words) {
  const auto say = [&](int owner, Index count) {
    if (words.size() >= 2 && words[words.size() - 2] == owner) {
      words.back() += count;
    } else {
      words.insert(words.end(), {owner, count});
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

std::span<const std::int64_t> owned_words(const Letter& letter) {
  return std::span(letter.words).subspan(1, static_cast<std::size_t>(letter.words.front()));
}

std::span<const std::int64_t> needed_words(const Letter& letter) {
  return std::span(letter.words).subspan(1 + static_cast<std::size_t>(letter.words.front()));
}

}  // namespace

std::vector<int> find_owners(mpi::Communicator& communicator, std::span<const CopyRun> owned,
                             std::span<const Index> needed, const ExchangeOptions& options,
                             const std::optional<Finding>& mine) {
  // One reduction for the least and largest owned index and the least vote.
  std::array<std::int64_t, 3> least{largest_index, 1, vote(communicator, mine)};
  if (!mine && !owned.empty()) {
    least[0] = owned.front().source;
    least[1] = -(owned.back().source + owned.back().count - 1);
  }
  mpi::allreduce_min(communicator.handle(), least);
  settle(communicator, least[2], mine);
  const Blocks blocks(least[0], -least[1], communicator.size());

  // An index outside all blocks has no owner; nobody needs to be asked.
  const auto inside = [&](Index index) { return blocks.contains(index); };
  const auto first = std::find_if(needed.begin(), needed.end(), inside);
  const auto last = std::find_if_not(first, needed.end(), inside);

  const std::vector<Letter> entries =
      exchange_letters(communicator, registrations(blocks, owned, std::span(first, last)), options);
  std::vector<OwnedRun> registered;
  for (const Letter& letter : entries) {
    for_each_run(owned_words(letter),
                 [&](IndexRun run) { registered.push_back({run, letter.peer}); });
  }
  const std::optional<Finding> doubly = sort_owned(registered);
  std::vector<Letter> answers;
  for (const Letter& letter : entries) {
    if (doubly || needed_words(letter).empty()) continue;
    Words words;
    for_each_run(needed_words(letter), [&](IndexRun run) { answer(registered, run, words); });
    answers.push_back({letter.peer, std::move(words)});
  }

  // Keepers ascend with the indices, so the answers are in the order of the questions.
  std::vector<int> owners(static_cast<std::size_t>(first - needed.begin()), no_owner);
  owners.reserve(needed.size());
  for (const Letter& letter : exchange_letters(communicator, answers, options, doubly)) {
    for_each_run(letter.words, [&](IndexRun pair) {
      owners.insert(owners.end(), static_cast<std::size_t>(pair.count),
                    static_cast<int>(pair.first));
    });
  }
  owners.resize(needed.size(), no_owner);
  return owners;
}

}  // namespace vicinal

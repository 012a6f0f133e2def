// The course of a consultation: each level is one superstep of the way up and one of the way down.
#include "planners/rank_tree.hpp"

namespace vicinal {

namespace {

constexpr std::size_t status_words = 2;

Words begin_letter(const FaultRecord& faults) {
  return {faults.status().fault(), faults.status().rank()};
}

std::span<const std::int64_t> read_status(const Letter& letter, FaultRecord& faults) {
  if (letter.words[0] >= 0) {
    faults.status().report(static_cast<Fault>(letter.words[0]), static_cast<int>(letter.words[1]));
  }
  return std::span(letter.words).subspan(status_words);
}

std::vector<int> children_at(const RankTree& tree, int level) {
  std::vector<int> ranks;
  for (const RankTree::Child& child : tree.children) {
    if (child.level == level) ranks.push_back(child.rank);
  }
  return ranks;
}

/// A letter to a rank: the status, and where that is good, what `write` gives.
template <class Write>
std::vector<Letter> letter_to(int rank, const FaultRecord& faults, Write write) {
  Words words = begin_letter(faults);
  if (faults.good()) {
    const Words contents = write();
    words.insert(words.end(), contents.begin(), contents.end());
  }
  std::vector<Letter> outbox;
  outbox.push_back({rank, std::move(words)});
  return outbox;
}

std::vector<Letter> write_report(const RankTree& tree, FaultRecord& faults, Consultation& about) {
  Words report;
  if (faults.good()) report = faults.attempt(Words(), [&] { return about.report(); });
  return letter_to(tree.parent, faults, [&] { return report; });
}

std::vector<Letter> write_instructions(const RankTree& tree, int level, const FaultRecord& faults,
                                       Consultation& about) {
  std::vector<Letter> outbox;
  for (const RankTree::Child& child : tree.children) {
    if (child.level != level) continue;
    auto letter = letter_to(child.rank, faults, [&] { return about.instruct(child); });
    outbox.push_back(std::move(letter.front()));
  }
  return outbox;
}

}  // namespace

std::int64_t block_size(int level) {
  std::int64_t size = 1;
  for (; level > 0; --level) size *= RankTree::fan;
  return size;
}

RankTree whole_tree(int rank, int size) {
  RankTree tree;
  tree.rank = rank;
  while (block_size(tree.levels) < size) ++tree.levels;
  while (tree.level < tree.levels && rank % block_size(tree.level + 1) == 0) ++tree.level;
  if (rank != 0) tree.parent = static_cast<int>(rank - rank % block_size(tree.level + 1));
  for (int level = 0; level < tree.level; ++level) {
    for (int i = 1; i < RankTree::fan; ++i) {
      const std::int64_t child = rank + i * block_size(level);
      if (child < size) tree.children.push_back({level, static_cast<int>(child)});
    }
  }
  return tree;
}

Task<Done> consult(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                   Consultation& about) {
  for (int level = 0; level < tree.level; ++level) {
    const std::vector<int> children = children_at(tree, level);
    if (children.empty()) {
      talk.skip(1);
      continue;
    }
    const std::vector<Letter> inbox = co_await talk.exchange({}, Expected(children, "reports"));
    for (const Letter& letter : inbox) {
      const auto report = read_status(letter, faults);
      if (!faults.good()) continue;
      faults.attempt(0, [&] { return about.hear(letter.peer, report), 0; });
    }
  }
  if (tree.parent < 0) {
    if (faults.good()) faults.attempt(0, [&] { return about.decide(), 0; });
  } else {
    std::vector<Letter> report = write_report(tree, faults, about);
    co_await talk.exchange(std::move(report));
    talk.skip(2 * (tree.levels - 1 - tree.level));
    const std::vector<Letter> inbox =
        co_await talk.exchange({}, Expected(tree.parent, "decision on what all have reported"));
    const auto decision = read_status(inbox.front(), faults);
    if (faults.good()) about.learn(decision);
  }
  for (int level = tree.level - 1; level >= 0; --level) {
    std::vector<Letter> instructions = write_instructions(tree, level, faults, about);
    if (instructions.empty()) {
      talk.skip(1);
    } else {
      co_await talk.exchange(std::move(instructions));
    }
  }
  co_return Done{};
}

}  // namespace vicinal

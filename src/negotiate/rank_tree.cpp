// A tree allreduce: each level is one superstep up and one down.
#include "negotiate/rank_tree.hpp"

#include <algorithm>

namespace vicinal {

namespace {

/// From child to parent; a Decision is the answer.
struct Report {
  static constexpr std::string_view name = "report";
  Status status;
  Words contents;  ///< empty if the status is not good
};
void fields(auto&& take, Is<Report> auto& it) { take(it.status, it.contents); }

struct Decision {
  static constexpr std::string_view name = "decision";
  Status status;
  Words contents;
};
void fields(auto&& take, Is<Decision> auto& it) { take(it.status, it.contents); }

std::vector<int> children_at(const RankTree& tree, int level) {
  std::vector<int> ranks;
  for (const RankTree::Child& child : tree.children) {
    if (child.level == level) ranks.push_back(child.rank);
  }
  return ranks;
}

std::vector<ControlMessage> write_report(const RankTree& tree, FaultRecord& faults,
                                         AnyTreeAllreduce& about) {
  Words contents;
  if (faults.good()) contents = faults.attempt(Words(), [&] { return about.report_words(); });
  std::vector<ControlMessage> outbox;
  outbox.push_back(message_to(tree.parent, Report{faults.status(), std::move(contents)}));
  return outbox;
}

std::vector<ControlMessage> write_decisions(const RankTree& tree, int level,
                                            const FaultRecord& faults, AnyTreeAllreduce& about) {
  std::vector<ControlMessage> outbox;
  for (const RankTree::Child& child : tree.children) {
    if (child.level != level) continue;
    Words contents;
    if (faults.good()) contents = about.instruct_words(child);
    outbox.push_back(message_to(child.rank, Decision{faults.status(), std::move(contents)}));
  }
  return outbox;
}

}  // namespace

std::int64_t RankBlocks::size(int level) const {
  std::int64_t size = 1;
  for (int below = 0; below < level; ++below) size *= parts(below);
  return size;
}

RankBlocks blocks_of(const Machine& machine) {
  RankBlocks blocks;
  const int on_first = machine.ranks_on(machine.host_of(0));
  for (int rank = 0; rank < machine.size(); ++rank) {
    // Hosts have numbers in the order of their lowest ranks.
    if (machine.host_of(rank) != rank / on_first) return blocks;
  }
  // Children of one rank report one after the other.
  constexpr int most = 64;
  for (int part = std::min(on_first, most); part > 1; --part) {
    if (on_first % part != 0) continue;
    if (part >= RankBlocks::fan || part == on_first) blocks.smallest = part;
    break;
  }
  return blocks;
}

RankTree whole_tree(int rank, int size, RankBlocks blocks) {
  RankTree tree;
  tree.blocks = blocks;
  tree.rank = rank;
  while (blocks.size(tree.levels) < size) ++tree.levels;
  while (tree.level < tree.levels && rank % blocks.size(tree.level + 1) == 0) ++tree.level;
  if (rank != 0) tree.parent = static_cast<int>(rank - rank % blocks.size(tree.level + 1));
  for (int level = 0; level < tree.level; ++level) {
    for (int i = 1; i < blocks.parts(level); ++i) {
      const std::int64_t child = rank + i * blocks.size(level);
      if (child < size) tree.children.push_back({level, static_cast<int>(child)});
    }
  }
  return tree;
}

Task<Done> tree_allreduce(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                          AnyTreeAllreduce& about) {
  for (int level = 0; level < tree.level; ++level) {
    const std::vector<int> children = children_at(tree, level);
    if (children.empty()) {
      talk.skip(1);
      continue;
    }
    const std::vector<ControlMessage> inbox =
        co_await talk.exchange({}, Expected(children, "reports"));
    for (const ControlMessage& message : inbox) {
      const auto report = contents_of<Report>(message);
      report.status.pass_on(faults.status());
      if (!faults.good()) continue;
      faults.attempt(0, [&] { return about.hear_words(message.peer, report.contents), 0; });
    }
  }
  if (tree.parent < 0) {
    if (faults.good()) faults.attempt(0, [&] { return about.decide(), 0; });
  } else {
    std::vector<ControlMessage> report = write_report(tree, faults, about);
    co_await talk.exchange(std::move(report));
    talk.skip(2 * (tree.levels - 1 - tree.level));
    const std::vector<ControlMessage> inbox =
        co_await talk.exchange({}, Expected(tree.parent, "decision on what all have reported"));
    const auto decision = contents_of<Decision>(inbox.front());
    decision.status.pass_on(faults.status());
    if (faults.good()) about.learn_words(tree.parent, decision.contents);
  }
  for (int level = tree.level - 1; level >= 0; --level) {
    std::vector<ControlMessage> decisions = write_decisions(tree, level, faults, about);
    if (decisions.empty()) {
      talk.skip(1);
    } else {
      co_await talk.exchange(std::move(decisions));
    }
  }
  co_return Done{};
}

}  // namespace vicinal

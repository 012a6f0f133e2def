// The driver that needs no launcher: every rank of a negotiation is a coroutine in this process, and
// letters move between them in memory. It makes planners testable without MPI and lets one process
// plan for thousands of ranks.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "base/conversation.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// Numbers tags and slots of one virtual rank; nothing stands behind them.
class VirtualSite final : public Site {
 public:
  std::int64_t new_tag() override { return next_tag_++; }
  std::int64_t new_slot(int) override { return next_slot_++; }

 private:
  std::int64_t next_tag_ = 0;
  std::int64_t next_slot_ = 0;
};

/// Runs `begin(rank, conversation)` for every rank to its end and returns the results by rank.
/// Where some fail, throws the fault of the lowest rank that failed by itself. A negotiation in which
/// ranks wait for letters that nobody sends ends with an internal fault that names such a rank.
template <class T>
std::vector<T> run_virtual(int size, const std::function<Task<T>(int, Conversation&)>& begin) {
  const auto count = static_cast<std::size_t>(size);
  // A letter may be sent for a superstep that its receiver has not reached yet.
  using Boxes = std::map<int, std::vector<Letter>>;
  std::vector<std::unique_ptr<Conversation>> conversations;
  std::vector<Boxes> boxes(count);
  std::vector<Task<T>> tasks;
  std::deque<int> runnable;
  tasks.reserve(count);

  const auto deliverable = [&](int rank) {
    Conversation& conversation = *conversations[static_cast<std::size_t>(rank)];
    if (!conversation.waiting()) return false;
    const auto& mine = boxes[static_cast<std::size_t>(rank)];
    const auto box = mine.find(conversation.superstep());
    return (box == mine.end() ? 0 : box->second.size()) >= conversation.pending().expected.count();
  };
  const auto post = [&](int rank) {
    Conversation& conversation = *conversations[static_cast<std::size_t>(rank)];
    const int superstep = conversation.superstep();
    for (Letter& letter : conversation.pending().outbox) {
      const int to = letter.peer;
      boxes[static_cast<std::size_t>(to)][superstep].push_back({rank, std::move(letter.words)});
      if (to < static_cast<int>(tasks.size()) && deliverable(to)) runnable.push_back(to);
    }
    conversation.pending().outbox.clear();
  };

  for (int rank = 0; rank < size; ++rank) {
    conversations.push_back(std::make_unique<Conversation>());
    tasks.push_back(begin(rank, *conversations.back()));
    post(rank);
    if (deliverable(rank)) runnable.push_back(rank);
  }
  while (!runnable.empty()) {
    const int rank = runnable.front();
    runnable.pop_front();
    if (!deliverable(rank)) continue;
    Conversation& conversation = *conversations[static_cast<std::size_t>(rank)];
    auto node = boxes[static_cast<std::size_t>(rank)].extract(conversation.superstep());
    std::vector<Letter> inbox;
    if (!node.empty()) inbox = std::move(node.mapped());
    require(inbox.size() == conversation.pending().expected.count(), Fault::internal,
            "virtual rank ", rank, " got ", inbox.size(), " letters in superstep ",
            conversation.superstep(), " but expected ", conversation.pending().expected.count());
    std::stable_sort(inbox.begin(), inbox.end(),
                     [](const Letter& a, const Letter& b) { return a.peer < b.peer; });
    conversation.pending().inbox = std::move(inbox);
    conversation.resume();
    post(rank);
    if (deliverable(rank)) runnable.push_back(rank);
  }

  std::vector<T> results;
  results.reserve(count);
  std::optional<Error> first;
  for (int rank = 0; rank < size; ++rank) {
    Task<T>& task = tasks[static_cast<std::size_t>(rank)];
    require(task.done(), Fault::internal, "virtual rank ", rank, " waits in superstep ",
            conversations[static_cast<std::size_t>(rank)]->superstep(),
            " for letters that nobody sends");
    try {
      results.push_back(task.result());
    } catch (const Error& error) {
      if (!first || (first->fault() == Fault::elsewhere && error.fault() != Fault::elsewhere)) {
        first = error;
      }
    }
  }
  if (first) throw *first;
  return results;
}

/// Plans a whole communicator in this process. `patterns` holds one pattern per rank.
std::vector<Plans> plan_virtually(const Planner& planner, std::shared_ptr<const Machine> machine,
                                  std::span<const Pattern> patterns, const PlanOptions& options);

}  // namespace vicinal

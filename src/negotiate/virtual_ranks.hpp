// The driver that needs no launcher: every rank of a negotiation is a coroutine in this process,
// and control messages move between them in memory. Planners thus need no MPI for tests, and one
// process can plan for thousands of ranks.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

#include "base/conversation.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

/// Numbers the tags and slots of one virtual rank, without resources behind them.
class VirtualSite final : public Site {
 public:
  std::int64_t new_tag() override { return next_tag_++; }
  std::int64_t new_slot(int) override { return next_slot_++; }

 private:
  std::int64_t next_tag_ = 0;
  std::int64_t next_slot_ = 0;
};

/// Runs `begin(rank, conversation)` for every rank to its end and returns the results by rank. If
/// ranks fail, throws the fault of the lowest rank that has a fault of its own. If ranks wait for
/// control messages that nobody sends, throws an internal fault that names one of them. An
/// exception other than Error ends the run at once.
///
/// All runnable ranks run before the next rank begins, the one in the latest superstep first. A
/// finished rank keeps nothing but its result. So few ranks at a time have control messages.
template <class T>
std::vector<T> run_virtual(int size, const std::function<Task<T>(int, Conversation&)>& begin) {
  struct Rank {
    std::optional<Conversation> conversation;
    std::optional<Task<T>> task;  // none before it begins and after it is done
    // Control messages by superstep, also for supersteps that this rank has not reached.
    std::map<int, std::vector<ControlMessage>> in;
    bool runnable = false;
    std::optional<T> result;
  };
  std::vector<Rank> ranks(static_cast<std::size_t>(size));
  std::map<int, Error> errors;
  std::map<int, std::vector<int>> runnable;  // by superstep
  SharedFindings shared;
  const auto at = [&](int rank) -> Rank& { return ranks[static_cast<std::size_t>(rank)]; };

  const auto deliverable = [](Rank& it) {
    if (!it.task) return false;
    const auto box = it.in.find(it.conversation->superstep());
    return (box == it.in.end() ? 0 : box->second.size()) >=
           it.conversation->pending().expected.count();
  };
  const auto run_if_deliverable = [&](int rank) {
    Rank& it = at(rank);
    if (it.runnable || !deliverable(it)) return;
    it.runnable = true;
    runnable[it.conversation->superstep()].push_back(rank);
  };
  /// Delivers the control messages of a rank that waits again or is done.
  const auto collect = [&](int rank) {
    Rank& it = at(rank);
    const int superstep = it.conversation->superstep();
    for (ControlMessage& message : it.conversation->pending().outbox) {
      at(message.peer).in[superstep + message.ahead].push_back({rank, std::move(message.words)});
      if (message.peer != rank) run_if_deliverable(message.peer);
    }
    it.conversation->pending().outbox.clear();
    if (!it.task->done()) {
      run_if_deliverable(rank);
      return;
    }
    try {
      it.result = it.task->result();
    } catch (const Error& error) {
      errors.emplace(rank, error);
    }
    it.task.reset();
    it.conversation.reset();
    it.in.clear();
  };
  const auto resume = [&](int rank) {
    Rank& it = at(rank);
    it.runnable = false;
    Conversation& conversation = *it.conversation;
    auto node = it.in.extract(conversation.superstep());
    std::vector<ControlMessage> inbox;
    if (!node.empty()) inbox = std::move(node.mapped());
    require(inbox.size() == conversation.pending().expected.count(), Fault::internal,
            "virtual rank ", rank, " got ", inbox.size(), " control messages in superstep ",
            conversation.superstep(), " but expected ", conversation.pending().expected.count());
    std::stable_sort(
        inbox.begin(), inbox.end(),
        [](const ControlMessage& a, const ControlMessage& b) { return a.peer < b.peer; });
    conversation.pending().inbox = std::move(inbox);
    conversation.resume();
    collect(rank);
  };

  for (int rank = 0; rank < size; ++rank) {
    at(rank).conversation.emplace(&shared);
    at(rank).task.emplace(begin(rank, *at(rank).conversation));
    collect(rank);
    while (!runnable.empty()) {
      const auto furthest = std::prev(runnable.end());
      const int rank_to_resume = furthest->second.back();
      furthest->second.pop_back();
      if (furthest->second.empty()) runnable.erase(furthest);
      resume(rank_to_resume);
    }
  }

  for (int rank = 0; rank < size; ++rank) {
    require(!at(rank).task, Fault::internal, "virtual rank ", rank, " waits in superstep ",
            at(rank).task ? at(rank).conversation->superstep() : 0,
            " for control messages that nobody sends");
  }
  for (const auto& [rank, error] : errors) {
    if (error.fault() != Fault::elsewhere) throw error;
  }
  if (!errors.empty()) throw errors.begin()->second;
  std::vector<T> results;
  results.reserve(ranks.size());
  for (Rank& it : ranks) {
    results.push_back(std::move(*it.result));
    it.result.reset();
  }
  return results;
}

/// Plans a whole communicator in this process. `patterns` holds one pattern per rank.
std::vector<Plans> plan_virtually(const Planner& planner, std::shared_ptr<const Machine> machine,
                                  std::span<const Pattern> patterns, const PlanOptions& options);

}  // namespace vicinal

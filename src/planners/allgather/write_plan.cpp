// What a rank takes goes straight to its place in the user's receive buffer, and what it passes on
// is sent from there. A message holds its blocks in the order of their ranks, so with ranks placed
// in blocks most messages are one stretch, or two, of either buffer.
#include "planners/allgather/write_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/letters.hpp"
#include "base/scramble.hpp"
#include "plan/builder.hpp"
#include "planners/faults.hpp"
#include "planners/passage.hpp"

namespace vicinal::allgather {

namespace {

/// Giver to taker: by what way each transfer between them goes.
struct Passages {
  static constexpr std::string_view name = "passages";
  Status status;
  std::uint64_t fingerprint = 0;  ///< of the counts of all blocks
  std::vector<Passage> passages;
};
void fields(auto&& take, Is<Passages> auto& it) { take(it.status, it.fingerprint, it.passages); }

/// Where a rank's block lies in the receive buffer.
struct Place {
  Index offset = 0;
  Index count = 0;
};

class AllgatherPlanner {
 public:
  AllgatherPlanner(const PlanRequest& request, void (*algorithm)(Schedule&))
      : request_(request),
        machine_(*request.neighborhood.machine),
        schedule_(machine_, request.neighborhood.rank, request.options.shared_memory,
                  request.options.profile),
        faults_(schedule_.rank(), request.options.unit) {
    if (request.fault) faults_.blame(*request.fault);
    try {
      read_pattern();
    } catch (const std::exception& fault) {
      faults_.blame(fault);
    }
    algorithm(schedule_);
    for (const Transfer& transfer : schedule_.transfers()) {
      if (transfer.kind == Transfer::Kind::take) taken_from_[transfer.peers.front()];
    }
  }

  /// A letter to each taker.
  std::vector<Letter> write_letters() {
    std::map<int, std::vector<Passage>> passages;
    for (const Transfer& transfer : schedule_.transfers()) {
      if (transfer.kind == Transfer::Kind::give) open_passages(transfer, passages);
    }
    std::vector<Letter> outbox;
    // All that can fail is done, and the status is known.
    for (auto& [taker, its] : passages) {
      outbox.push_back(letter_to(taker, Passages{faults_.status(), fingerprint_, std::move(its)}));
    }
    return outbox;
  }

  [[nodiscard]] Expected expected_letters() const {
    std::vector<int> givers;
    for (const auto& [giver, passages] : taken_from_) givers.push_back(giver);
    return {std::move(givers), "tags and slots"};
  }

  void read_letters(const std::vector<Letter>& letters) {
    for (const Letter& letter : letters) {
      auto theirs = contents_of<Passages>(letter);
      theirs.status.pass_on(faults_.status());
      if (theirs.status.good() && !faults_.own() && theirs.fingerprint != fingerprint_) {
        faults_.blame(
            Error(Fault::count, "rank " + std::to_string(letter.peer) +
                                    " was given other counts for this allgather than rank " +
                                    std::to_string(schedule_.rank()) +
                                    "; all ranks must give the same counts for all blocks"));
      }
      taken_from_.at(letter.peer) = std::move(theirs.passages);
    }
  }

  Plan write(std::string_view planner) {
    faults_.settle();
    PlanBuilder plan(schedule_.rank(), machine_.size(), planner, false);
    keep_own(plan);
    std::map<int, std::size_t> taken;
    std::size_t given = 0;
    for (const Transfer& transfer : schedule_.transfers()) {
      if (transfer.kind == Transfer::Kind::give) {
        give(plan, transfer.blocks, given_[given++]);
      } else {
        const int giver = transfer.peers.front();
        take(plan, transfer.blocks, giver, taken_from_.at(giver)[taken[giver]++]);
      }
    }
    return plan.finish();
  }

 private:
  /// One give, with the slot that some takers read from and the messages to the others.
  struct Given {
    std::int64_t slot = -1;
    int readers = 0;
    std::vector<std::pair<int, std::int64_t>> messages;  ///< taker and tag
  };

  void read_pattern() {
    const Pattern& pattern = request_.pattern;
    places_.assign(static_cast<std::size_t>(machine_.size()), {});
    require(static_cast<int>(pattern.in.size()) == machine_.size() &&
                static_cast<int>(pattern.out.size()) == machine_.size(),
            Fault::internal, "an allgather over all ranks was asked for with ", pattern.in.size(),
            " sources and ", pattern.out.size(), " destinations on ", machine_.size(), " ranks");
    for (const InEdge& edge : pattern.in) {
      if (edge.count > 0) {
        require(edge.slots.size() == 1 && edge.slots[0].count == edge.count, Fault::internal,
                "the block of rank ", edge.rank, " does not lie in one piece");
        places_[edge.rank] = {edge.slots[0].target, edge.count};
      }
      fingerprint_ += scramble(scramble(static_cast<std::uint64_t>(edge.rank)) +
                               static_cast<std::uint64_t>(edge.count));
    }
    for (const ItemRun& run : pattern.out.front().items) {
      append_run(own_, {run.position, total(own_), run.count});
    }
    faults_.compare(schedule_.rank(), schedule_.rank(), total(own_),
                    places_[schedule_.rank()].count);
  }

  void open_passages(const Transfer& transfer, std::map<int, std::vector<Passage>>& passages) {
    Given& given = given_.emplace_back();
    for (const int taker : transfer.peers) given.readers += schedule_.shares_with(taker) ? 1 : 0;
    if (given.readers > 0) {
      const auto slot =
          faults_.attempt_if_room([&] { return request_.site.new_slot(given.readers); });
      if (slot) given.slot = *slot;
      if (!slot) given.readers = 0;  // all get messages
    }
    int next_reader = 0;
    for (const int taker : transfer.peers) {
      if (given.readers > 0 && schedule_.shares_with(taker)) {
        passages[taker].push_back({-1, given.slot, next_reader++});
      } else {
        const std::int64_t tag =
            faults_.attempt(std::int64_t{-1}, [&] { return request_.site.new_tag(); });
        given.messages.emplace_back(taker, tag);
        passages[taker].push_back({tag, -1, -1});
      }
    }
  }

  [[nodiscard]] Phase phase(bool local) const { return local ? Phase::local : Phase::non_local; }

  /// Where blocks that lie end to end belong in the receive buffer.
  [[nodiscard]] std::vector<CopyRun> places_of(const Blocks& blocks) const {
    std::vector<CopyRun> runs;
    Index offset = 0;
    for (const Blocks::Range& range : blocks.ranges()) {
      for (int rank = range.first; rank < range.last; ++rank) {
        append_run(runs, {offset, places_[rank].offset, places_[rank].count});
        offset += places_[rank].count;
      }
    }
    return runs;
  }

  /// The same of those blocks only that this rank lacks.
  [[nodiscard]] std::vector<CopyRun> missing_places(const Blocks& blocks,
                                                    const Blocks& missing) const {
    std::vector<CopyRun> runs;
    Index offset = 0;
    auto next = missing.ranges().begin();
    for (const Blocks::Range& range : blocks.ranges()) {
      for (int rank = range.first; rank < range.last; ++rank) {
        while (next != missing.ranges().end() && next->last <= rank) ++next;
        const bool lacks = next != missing.ranges().end() && next->first <= rank;
        if (lacks) append_run(runs, {offset, places_[rank].offset, places_[rank].count});
        offset += places_[rank].count;
      }
    }
    return runs;
  }

  void keep_own(PlanBuilder& plan) {
    held_ = Blocks(schedule_.rank());
    if (total(own_) == 0) return;
    std::vector<CopyRun> runs;
    for (const CopyRun& run : own_) {
      append_run(runs, {run.source, places_[schedule_.rank()].offset + run.target, run.count});
    }
    const int copied = plan.copy(Phase::local, Plan::source, Plan::target, std::move(runs), {});
    filled_.emplace(schedule_.rank(), Filled{schedule_.rank() + 1, copied});
  }

  /// The operations that bring these blocks to the receive buffer.
  [[nodiscard]] std::vector<int> bringing(const Blocks& blocks) const {
    std::vector<int> operations;
    for (const Blocks::Range& range : blocks.ranges()) {
      auto it = filled_.upper_bound(range.first);
      if (it != filled_.begin()) --it;
      for (; it != filled_.end() && it->first < range.last; ++it) {
        if (it->second.last > range.first) operations.push_back(it->second.operation);
      }
    }
    std::sort(operations.begin(), operations.end());
    operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
    return operations;
  }

  void give(PlanBuilder& plan, const Blocks& blocks, const Given& given) {
    // An own block need not wait until it is copied to the receive buffer.
    const bool own = blocks == Blocks(schedule_.rank());
    const int from = own ? Plan::source : Plan::target;
    const std::vector<CopyRun> runs = own ? own_ : reversed(places_of(blocks));
    const Index count = total(runs);
    if (count == 0) return;
    const std::vector<int> after = own ? std::vector<int>{} : bringing(blocks);
    send(plan, from, runs, count, after, given);
    if (given.readers == 0) return;
    const int slot = plan.own_slot(given.slot, count, given.readers);
    std::vector<int> free = after;
    for (int reader = 0; reader < given.readers; ++reader) {
      free.push_back(plan.await(Phase::local, slot, reader, 1));
    }
    plan.signal(Phase::local, slot, -1,
                {plan.copy(Phase::local, from, slot, runs, std::move(free))});
  }

  /// The messages of a give: from where the blocks lie, or packed once.
  void send(PlanBuilder& plan, int from, const std::vector<CopyRun>& runs, Index count,
            std::vector<int> after, const Given& given) const {
    if (given.messages.empty()) return;
    Index offset = runs[0].source;
    if (runs.size() > 1) {
      const int packed = plan.staging(count);
      after = {plan.copy(Phase::local, from, packed, runs, std::move(after))};
      from = packed;
      offset = 0;
    }
    for (const auto& [taker, tag] : given.messages) {
      const bool local = machine_.same_region(schedule_.rank(), taker);
      plan.send(phase(local), local, from, offset, count, taker, tag, after);
    }
  }

  void take(PlanBuilder& plan, const Blocks& blocks, int giver, const Passage& passage) {
    const std::vector<CopyRun> all = places_of(blocks);
    const Index count = total(all);
    if (count == 0) return;
    const Blocks missing = blocks.without(held_);
    const std::vector<CopyRun> runs = missing == blocks ? all : missing_places(blocks, missing);
    const bool local = machine_.same_region(schedule_.rank(), giver);
    int taken = -1;
    if (passage.shared()) {
      const int slot = plan.far_slot(passage.slot, count, giver, passage.peer_index);
      taken = plan.await(Phase::local, slot, -1, 0);
      if (!runs.empty()) taken = plan.copy(Phase::local, slot, Plan::target, runs, {taken});
      plan.signal(Phase::local, slot, passage.peer_index, {taken});
    } else if (runs.empty()) {
      plan.receive(phase(local), local, plan.staging(count), 0, count, giver, passage.tag, {});
    } else {
      taken = plan.receive_and_unpack(phase(local), local, Plan::target, runs, count, giver,
                                      passage.tag);
    }
    for (const Blocks::Range& range : missing.ranges()) {
      filled_.emplace(range.first, Filled{range.last, taken});
    }
    held_.add(missing);
  }

  const PlanRequest& request_;
  const Machine& machine_;
  Schedule schedule_;
  FaultRecord faults_;
  std::vector<Place> places_;      ///< by rank
  std::vector<CopyRun> own_;       ///< source buffer -> own block
  std::uint64_t fingerprint_ = 0;  ///< of the counts of all blocks
  std::vector<Given> given_;
  std::map<int, std::vector<Passage>> taken_from_;

  struct Filled {
    int last;       ///< one past the last block
    int operation;  ///< that brings these blocks
  };
  Blocks held_;
  std::map<int, Filled> filled_;  ///< by the first block
};

}  // namespace

Task<Plans> plan_allgather(PlanRequest request, std::string_view planner,
                           void (*algorithm)(Schedule&)) {
  AllgatherPlanner self(request, algorithm);
  std::vector<Letter> letters = self.write_letters();
  self.read_letters(
      co_await request.conversation.exchange(std::move(letters), self.expected_letters()));
  Plans plans{self.write(planner), std::nullopt};
  co_return plans;
}

}  // namespace vicinal::allgather

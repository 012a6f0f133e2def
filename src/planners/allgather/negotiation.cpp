// A received block goes directly to its place in the user's receive buffer, and is forwarded from
// there. A message holds its blocks in the order of their ranks. So if ranks are placed region by
// region, most messages are one or two stretches of either buffer.
#include "planners/allgather/schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "negotiate/ground.hpp"

namespace vicinal::allgather {

namespace {

/// From giver to taker: the passage of each transfer between them.
struct Passages {
  static constexpr std::string_view name = "passages";
  Status status;
  std::vector<Passage> passages;
};
void fields(auto&& take, Is<Passages> auto& it) { take(it.status, it.passages); }

/// Where a rank's block lies in the receive buffer.
struct Place {
  Index offset = 0;
  Index count = 0;
};

class AllgatherNegotiation : public Ground {
 public:
  AllgatherNegotiation(PlanRequest& request, void (*algorithm)(Schedule&))
      : Ground(request),
        schedule_(machine_, rank_, options_.shared_memory, options_.profile),
        held_(rank_) {
    try {
      read_pattern();
    } catch (const std::exception& fault) {
      faults_.blame(fault);
    }
    algorithm(schedule_);
    for (const Step& step : schedule_.steps()) {
      if (step.kind == Step::Kind::take) taken_from_[step.peers.front()];
    }
  }

  Task<Plans> run(std::string_view planner) {
    ControlMessages outbox = write_messages();
    std::vector<int> givers;
    for (const auto& [giver, passages] : taken_from_) givers.push_back(giver);
    Expected expected(std::move(givers), "tags and slots");
    const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
    read<Passages>(
        inbox, [&](int giver, Passages its) { taken_from_.at(giver) = std::move(its.passages); });
    if (faults_.good()) write_transfers();
    co_return finish(planner);
  }

 private:
  /// One give: the slot that some takers read, and the messages to the others.
  struct Given {
    SlotPair slot;
    std::size_t readers = 0;
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
        place(edge.rank) = {edge.slots[0].target, edge.count};
      }
    }
    for (const ItemRun& run : pattern.out.front().items) {
      append_run(own_, {run.position, total(own_), run.count});
    }
    faults_.compare(rank_, rank_, total(own_), place(rank_).count);
  }

  Place& place(int rank) { return places_[static_cast<std::size_t>(rank)]; }

  /// Returns a control message to each taker.
  ControlMessages write_messages() {
    std::map<int, std::vector<Passage>> passages;
    for (const Step& step : schedule_.steps()) {
      if (step.kind == Step::Kind::give) open_passages(step, passages);
    }
    ControlMessages outbox;
    // Everything that can fail is done, so the status is known.
    for (auto& [taker, its] : passages) {
      outbox.push_back(message_to(taker, Passages{faults_.status(), std::move(its)}));
    }
    return outbox;
  }

  void open_passages(const Step& step, std::map<int, std::vector<Passage>>& passages) {
    Given& given = given_.emplace_back();
    int readers = 0;
    for (const int taker : step.peers) readers += schedule_.shares_with(taker) ? 1 : 0;
    const auto slots = readers > 0 ? new_slots(readers) : std::nullopt;
    if (slots) given.slot = *slots;
    for (const int taker : step.peers) {
      if (slots && schedule_.shares_with(taker)) {
        passages[taker].push_back({-1, *slots, static_cast<int>(given.readers++), 0, 0});
      } else {
        const std::int64_t tag = new_tag();
        given.messages.emplace_back(taker, tag);
        passages[taker].push_back(Passage::message(tag, 0));
      }
    }
  }

  void write_transfers() {
    transfers_.move(Phase::local, Plan::source, Plan::target, shifted(own_, place(rank_).offset));
    std::map<int, std::size_t> taken;
    std::size_t given = 0;
    for (const Step& step : schedule_.steps()) {
      if (step.kind == Step::Kind::give) {
        give(step.blocks, given_[given++]);
      } else {
        const int giver = step.peers.front();
        take(step.blocks, giver, taken_from_.at(giver)[taken[giver]++]);
      }
    }
  }

  /// Returns where blocks that lie end to end belong in the receive buffer, for the wanted ones
  /// only.
  [[nodiscard]] std::vector<CopyRun> places_of(const Blocks& blocks, const Blocks& wanted) {
    std::vector<CopyRun> runs;
    Index offset = 0;
    auto next = wanted.ranges().begin();
    for (const Blocks::Range& range : blocks.ranges()) {
      for (int rank = range.first; rank < range.last; ++rank) {
        while (next != wanted.ranges().end() && next->last <= rank) ++next;
        const bool is_wanted = next != wanted.ranges().end() && next->first <= rank;
        if (is_wanted) append_run(runs, {offset, place(rank).offset, place(rank).count});
        offset += place(rank).count;
      }
    }
    return runs;
  }

  void give(const Blocks& blocks, const Given& given) {
    // The own block is sent from the source buffer, without waiting for its copy to the receive
    // buffer.
    const bool own = blocks == Blocks(rank_);
    const int from = own ? Plan::source : Plan::target;
    const std::vector<CopyRun> runs = own ? own_ : reversed(places_of(blocks, blocks));
    const Index count = total(runs);
    if (count == 0) return;
    for (const auto& [taker, tag] : given.messages) {
      const bool local = same_region(taker);
      transfers_.give(local ? Phase::local : Phase::non_local, local, taker, tag, count,
                      Part{from, runs});
    }
    if (given.readers == 0) return;
    std::vector<Window> windows(given.readers, {all_picks(count), 0, -1});
    const int slot = transfers_.add(Store::own_slot(Store::Kind::handing_out, Phase::local,
                                                    given.slot, count, std::move(windows)));
    transfers_.move(Phase::local, from, slot, runs);
  }

  void take(const Blocks& blocks, int giver, Passage passage) {
    const Blocks missing = blocks.without(held_);
    held_.add(missing);
    for (const Blocks::Range& range : blocks.ranges()) {
      for (int rank = range.first; rank < range.last; ++rank) passage.extent += place(rank).count;
    }
    if (passage.extent == 0) return;
    std::vector<CopyRun> runs = places_of(blocks, missing);
    if (passage.shared()) {
      const int slot = transfers_.add(
          Store::far_slot(Store::Kind::handing_out, Phase::local, giver, passage, {}));
      transfers_.move(Phase::local, slot, Plan::target, std::move(runs));
      return;
    }
    const bool local = same_region(giver);
    transfers_.take(local ? Phase::local : Phase::non_local, local, giver, passage.tag,
                    passage.extent, Part{Plan::target, std::move(runs)});
  }

  Schedule schedule_;
  std::vector<Place> places_;  ///< by rank
  std::vector<CopyRun> own_;   ///< source buffer -> own block
  std::vector<Given> given_;
  std::map<int, std::vector<Passage>> taken_from_;
  Blocks held_;
};

}  // namespace

Task<Plans> plan_allgather(PlanRequest request, std::string_view planner,
                           void (*algorithm)(Schedule&)) {
  AllgatherNegotiation negotiation(request, algorithm);
  co_return co_await negotiation.run(planner);
}

}  // namespace vicinal::allgather

// Plans made without a planner, to test code that reads plans on its own. All edges of their
// patterns leave the region, and identities are positions. Each region pair has one relayed
// message, gathered and scattered through shared slots.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace vicinal::testing {

struct Scenario {
  std::vector<Pattern> patterns;
  std::vector<Plan> plans;
};

inline std::vector<Plan> empty_plans(int ranks, Index source_extent, Index target_extent) {
  std::vector<Plan> plans(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    Plan& plan = plans[rank];
    plan.rank = rank;
    plan.size = ranks;
    plan.planner = "by hand";
    plan.buffers = {{Space::source, source_extent}, {Space::target, target_extent}};
  }
  return plans;
}

inline int add(Plan& plan, Operation operation) {
  plan.operations.push_back(std::move(operation));
  return static_cast<int>(plan.operations.size()) - 1;
}

inline int add(Plan& plan, Buffer buffer) {
  plan.buffers.push_back(buffer);
  return static_cast<int>(plan.buffers.size()) - 1;
}

inline Operation moving(OperationKind kind, Phase phase, int from, int to,
                        std::vector<CopyRun> runs, std::vector<int> after = {}) {
  Operation it;
  it.kind = kind;
  it.phase = phase;
  it.from = from;
  it.to = to;
  it.runs = std::move(runs);
  it.after = std::move(after);
  return it;
}

inline Operation message(OperationKind kind, int buffer, Index offset, Index count, int peer,
                         std::int64_t tag, std::vector<int> after = {}) {
  Operation it;
  it.kind = kind;
  it.phase = Phase::non_local;
  (kind == OperationKind::send ? it.from : it.to) = buffer;
  it.offset = offset;
  it.count = count;
  it.peer = peer;
  it.tag = tag;
  it.after = std::move(after);
  return it;
}

inline Operation flagging(OperationKind kind, Phase phase, int buffer, int flag, int lag = 0,
                          std::vector<int> after = {}) {
  Operation it;
  it.kind = kind;
  it.phase = phase;
  it.from = buffer;
  it.flag = flag;
  it.lag = lag;
  it.after = std::move(after);
  return it;
}

inline Operation event(OperationKind kind, int event, int peer, std::vector<int> after = {}) {
  Operation it;
  it.kind = kind;
  it.event = event;
  it.peer = peer;
  it.after = std::move(after);
  return it;
}

/// Draws `items` random elements of `owned` for each of `degree` random peers in other regions.
inline std::vector<Pattern> random_patterns(int ranks, int per_region, int degree, int items,
                                            Index owned, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Pattern> patterns(static_cast<std::size_t>(ranks));
  std::vector<Index> filled(patterns.size(), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    patterns[rank].identity = true;
    std::set<int> peers;
    while (static_cast<int>(peers.size()) < degree) {
      const int peer = static_cast<int>(random() % static_cast<unsigned>(ranks));
      if (peer / per_region != rank / per_region) peers.insert(peer);
    }
    for (const int peer : peers) {
      std::set<Index> positions;
      while (static_cast<int>(positions.size()) < items) {
        positions.insert(static_cast<Index>(random()) % owned);
      }
      OutEdge edge{peer, {}};
      for (const Index position : positions) edge.items.push_back({position, position, 1});
      patterns[rank].out.push_back(std::move(edge));
      patterns[peer].in.push_back({rank, items, {{0, filled[peer], items}}});
      filled[peer] += items;
    }
  }
  return patterns;
}

class RelayMaker {
 public:
  RelayMaker(std::vector<Pattern> patterns, int per_region, Index owned)
      : per_region_(per_region), program_{std::move(patterns), {}} {
    const int ranks = static_cast<int>(program_.patterns.size());
    program_.plans = empty_plans(ranks, owned, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const OutEdge& edge : program_.patterns[rank].out) {
        auto& positions = links_[{rank / per_region, edge.rank / per_region}][rank];
        for (const ItemRun& run : edge.items) {
          for (Index i = 0; i < run.count; ++i) positions.insert(run.position + i);
        }
      }
    }
  }

  Scenario make() {
    for (const auto& [regions, contributions] : links_) {
      place_.clear();
      Index total = 0;
      for (const auto& [rank, positions] : contributions) {
        for (const Index position : positions) place_[{rank, position}] = total++;
      }
      gather(regions.first, regions.second, contributions, total);
      scatter(regions.first, regions.second, total);
      ++link_;
    }
    return std::move(program_);
  }

 private:
  using Contributions = std::map<int, std::set<Index>>;

  [[nodiscard]] int leader(int region, int other) const {
    return region * per_region_ + other % per_region_;
  }
  Plan& plan(int rank) { return program_.plans[rank]; }

  void gather(int region, int other, const Contributions& contributions, Index total) {
    const int owner = leader(region, other);
    const auto lead = contributions.contains(owner);
    const int peers = static_cast<int>(contributions.size()) - (lead ? 1 : 0);
    const int slot = add(plan(owner), Buffer{Space::shared, total, 2 * link_, owner, -1, peers});
    std::vector<int> packed;
    int peer = 0;
    for (const auto& [rank, positions] : contributions) {
      std::vector<CopyRun> runs;
      for (const Index position : positions) {
        append_run(runs, {position, place_[{rank, position}], 1});
      }
      Plan& mine = plan(rank);
      if (rank == owner) {
        packed.push_back(add(
            mine, moving(OperationKind::copy, Phase::gather, Plan::source, slot, std::move(runs))));
        continue;
      }
      const int view = add(mine, Buffer{Space::shared, total, 2 * link_, owner, peer, 0});
      const int free = add(mine, flagging(OperationKind::await, Phase::gather, view, -1, 1));
      const int copy = add(mine, moving(OperationKind::copy, Phase::gather, Plan::source, view,
                                        std::move(runs), {free}));
      add(mine, flagging(OperationKind::signal, Phase::gather, view, peer, 0, {copy}));
      packed.push_back(add(plan(owner), flagging(OperationKind::await, Phase::gather, slot, peer)));
      ++peer;
    }
    const int sent = add(plan(owner), message(OperationKind::send, slot, 0, total,
                                              leader(other, region), link_, packed));
    add(plan(owner), flagging(OperationKind::signal, Phase::gather, slot, -1, 0, {sent}));
  }

  void scatter(int other, int region, Index total) {
    const int owner = leader(region, other);
    Plan& lead = plan(owner);
    std::vector<int> consumers;
    std::vector<int> free;
    const int slot = add(lead, Buffer{Space::shared, total, 2 * link_ + 1, owner, -1, 0});
    for (int rank = region * per_region_; rank < (region + 1) * per_region_; ++rank) {
      const bool takes =
          std::any_of(program_.patterns[rank].in.begin(), program_.patterns[rank].in.end(),
                      [&](const InEdge& edge) { return edge.rank / per_region_ == other; });
      if (!takes) continue;
      consumers.push_back(rank);
      if (rank == owner) continue;
      const int peer = lead.buffers[slot].peers++;
      free.push_back(add(lead, flagging(OperationKind::await, Phase::scatter, slot, peer, 1)));
    }
    const int received = add(
        lead, message(OperationKind::receive, slot, 0, total, leader(other, region), link_, free));
    add(lead, flagging(OperationKind::signal, Phase::scatter, slot, -1, 0, {received}));
    int peer = 0;
    for (const int rank : consumers) {
      Plan& mine = plan(rank);
      if (rank == owner) {
        add(mine, moving(OperationKind::copy, Phase::scatter, slot, Plan::target,
                         unpacking(other, rank), {received}));
        continue;
      }
      const int view = add(mine, Buffer{Space::shared, total, 2 * link_ + 1, owner, peer, 0});
      const int ready = add(mine, flagging(OperationKind::await, Phase::scatter, view, -1));
      const int copy = add(mine, moving(OperationKind::copy, Phase::scatter, view, Plan::target,
                                        unpacking(other, rank), {ready}));
      add(mine, flagging(OperationKind::signal, Phase::scatter, view, peer++, 0, {copy}));
    }
  }

  std::vector<CopyRun> unpacking(int other, int rank) {
    std::vector<CopyRun> runs;
    for (const InEdge& in : program_.patterns[rank].in) {
      if (in.rank / per_region_ != other) continue;
      std::vector<Index> places;
      for (const OutEdge& out : program_.patterns[in.rank].out) {
        if (out.rank != rank) continue;
        for (const ItemRun& run : out.items) {
          for (Index i = 0; i < run.count; ++i)
            places.push_back(place_[{in.rank, run.position + i}]);
        }
      }
      for (const CopyRun& run : in.slots) {
        for (Index i = 0; i < run.count; ++i) {
          append_run(runs, {places[run.source + i], run.target + i, 1});
        }
        Index& extent = plan(rank).buffers[Plan::target].extent;
        extent = std::max(extent, run.target + run.count);
      }
    }
    return runs;
  }

  int per_region_;
  Scenario program_;
  std::map<std::pair<int, int>, Contributions> links_;
  std::map<std::pair<int, Index>, Index> place_;
  std::int64_t link_ = 0;
};

inline Scenario relay(std::vector<Pattern> patterns, int per_region, Index owned) {
  return RelayMaker(std::move(patterns), per_region, owned).make();
}

}  // namespace vicinal::testing

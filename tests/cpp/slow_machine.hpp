// A machine on which every step takes whole seconds, with handwritten plans. A comment can thus
// work out their timelines.
#pragma once

#include <utility>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "relay_plans.hpp"

namespace vicinal::testing {

/// An element takes 2 s on a link between hosts, 1 s on other links, and 0.5 s to copy. Ports cost
/// nothing.
inline Profile slow() {
  Profile it;
  it.levels = {LevelCost{1, 1, {{Protocol::any_size, 2, 0.125, false}}},
               LevelCost{1, 2, {{Protocol::any_size, 4, 0.125, false}}},
               LevelCost{2, 3, {{Protocol::any_size, 100, 0.25, false}}}};
  it.handover = 5;
  it.copy_seconds_per_byte = 0.0625;
  return it;
}

inline Profile with_rendezvous() {
  Profile it = slow();
  it.levels[2].protocols = {{16, 100, 0.25, false}, {Protocol::any_size, 100, 0.25, true}};
  return it;
}

/// Hosts, which are also the regions.
inline Machine on_hosts(std::vector<int> host_of) { return {host_of, host_of}; }

/// Adds a message of `count` elements; the receive follows `receive_after`. Returns the receive's
/// index.
inline int transfer(std::vector<Plan>& plans, int from, int to, Index count, std::int64_t tag = 0,
                    std::vector<int> send_after = {}, std::vector<int> receive_after = {}) {
  add(plans[from],
      message(OperationKind::send, Plan::source, 0, count, to, tag, std::move(send_after)));
  return add(plans[to], message(OperationKind::receive, Plan::target, 0, count, from, tag,
                                std::move(receive_after)));
}

inline int copy(Plan& plan, Index count, std::vector<int> after = {}) {
  return add(plan, moving(OperationKind::copy, Phase::local, Plan::source, Plan::target,
                          {{0, 0, count}}, std::move(after)));
}

inline std::vector<Plan> plans_of(int ranks) { return empty_plans(ranks, 400, 400); }

/// Rank 0 writes four elements into a slot of rank 1, which copies them out.
inline std::vector<Plan> handing_over() {
  auto plans = plans_of(2);
  const int view = add(plans[0], Buffer{Space::shared, 4, 5, 1, 0});
  const int slot = add(plans[1], Buffer{Space::shared, 4, 5, 1, -1, 1});
  const int free = add(plans[0], flagging(OperationKind::await, Phase::gather, view, -1, 1));
  const int in = add(plans[0], moving(OperationKind::copy, Phase::gather, Plan::source, view,
                                      {{0, 0, 4}}, {free}));
  add(plans[0], flagging(OperationKind::signal, Phase::gather, view, 0, 0, {in}));
  const int ready = add(plans[1], flagging(OperationKind::await, Phase::scatter, slot, 0));
  const int out = add(plans[1], moving(OperationKind::copy, Phase::local, slot, Plan::target,
                                       {{0, 0, 4}}, {ready}));
  add(plans[1], flagging(OperationKind::signal, Phase::scatter, slot, -1, 0, {out}));
  return plans;
}

}  // namespace vicinal::testing

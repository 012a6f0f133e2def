// Routes as the reverse plan: every send becomes a receive, every reader of a slot a contributor. The
// source is now the ghost side and the target the owned side, into which contributions are reduced.
// All reductions into one buffer are chained in the order in which they are written here, so that a
// sum comes out the same from run to run.
#include <algorithm>

#include "plan/builder.hpp"
#include "planners/relay/write_plan.hpp"

namespace vicinal {

namespace {

/// Runs that lead into a buffer which holds nothing yet: the first element for each target is copied
/// there, later ones are reduced into it.
struct FirstAndMore {
  std::vector<CopyRun> first;
  std::vector<CopyRun> more;
};

/// Splits runs by whether `filled` already has the target; marks the targets as filled.
FirstAndMore split(const std::vector<CopyRun>& runs, std::vector<bool>& filled) {
  FirstAndMore result;
  for (const CopyRun& run : runs) {
    for (Index i = 0; i < run.count; ++i) {
      const auto target = static_cast<std::size_t>(run.target + i);
      append_run(filled[target] ? result.more : result.first, {run.source + i, run.target + i, 1});
      filled[target] = true;
    }
  }
  return result;
}

class ReverseWriter {
 public:
  ReverseWriter(const Routes& routes, int rank, int size, std::string_view planner)
      : routes_(routes), plan_(rank, size, planner, true) {}

  Plan write() {
    for (const Share& share : routes_.readings) give_back(share, Phase::local);
    for (const Share& share : routes_.deliveries) give_back(share, Phase::scatter);
    for (const Straight& link : routes_.receives) {
      const Phase phase = link.local ? Phase::local : Phase::direct;
      const Packed packed = pack(phase, Plan::source, reversed(link.runs), link.count, {});
      plan_.send(phase, link.local, packed.buffer, packed.offset, link.count, link.peer, link.tag,
                 packed.done);
    }
    for (std::size_t i = 0; i < routes_.inbound.size(); ++i) inbound(i);
    for (std::size_t i = 0; i < routes_.outbound.size(); ++i) outbound(i);

    // From here on everything is reduced into the target, one after the other.
    if (!routes_.self.empty()) combine(Phase::direct, Plan::source, reversed(routes_.self), {});
    if (routes_.publication) collect(*routes_.publication);
    std::vector<const Straight*> links;
    for (const Straight& link : routes_.sends) links.push_back(&link);
    std::sort(links.begin(), links.end(),
              [](const Straight* a, const Straight* b) { return a->peer < b->peer; });
    for (const Straight* link : links) {
      const Phase phase = link->local ? Phase::local : Phase::direct;
      receive_and_combine(phase, link->local, reversed(link->runs), link->count, link->peer,
                          link->tag);
    }
    for (const Share& share : routes_.contributions) take_back(share);
    return plan_.finish();
  }

 private:
  struct Packed {
    int buffer;
    Index offset;
    std::vector<int> done;
  };

  /// Brings contributions into message order; nothing to do where they already are one stretch.
  Packed pack(Phase phase, int from, const std::vector<CopyRun>& runs, Index count,
              std::vector<int> after) {
    if (runs.size() == 1 && runs[0].count == count) return {from, runs[0].source, after};
    const int buffer = plan_.staging(count);
    return {buffer, 0, {fill(phase, from, buffer, runs, count, std::move(after))}};
  }

  /// Copies and reduces contributions into an empty buffer; returns the last operation.
  int fill(Phase phase, int from, int to, const std::vector<CopyRun>& runs, Index extent,
           std::vector<int> after) {
    std::vector<bool> filled(static_cast<std::size_t>(extent));
    FirstAndMore parts = split(runs, filled);
    int last = plan_.copy(phase, from, to, std::move(parts.first), std::move(after));
    if (!parts.more.empty()) last = plan_.reduce(phase, from, to, std::move(parts.more), {last});
    return last;
  }

  /// A reduction into the target, after the one before it.
  int combine(Phase phase, int from, std::vector<CopyRun> runs, std::vector<int> after) {
    if (last_combined_ >= 0) after.push_back(last_combined_);
    last_combined_ = plan_.reduce(phase, from, Plan::target, std::move(runs), std::move(after));
    return last_combined_;
  }

  void receive_and_combine(Phase phase, bool local, std::vector<CopyRun> runs, Index count,
                           int peer, std::int64_t tag) {
    const int message = plan_.staging(count);
    const int received = plan_.receive(phase, local, message, 0, count, peer, tag, {});
    combine(phase, message, std::move(runs), {received});
  }

  /// What this rank once took from `share.owner`, in the order in which the owner knows it.
  void give_back(const Share& share, Phase phase) {
    if (share.via == Via::self) return;  // the leader reduces from its own ghosts
    const std::vector<CopyRun> runs = reversed(share.order);
    if (share.via == Via::message) {
      const Packed packed = pack(phase, Plan::source, runs, share.count, {});
      plan_.send(phase, true, packed.buffer, packed.offset, share.count, share.owner, share.tag,
                 packed.done);
      return;
    }
    const int slot = plan_.far_slot(share.slot.reverse, share.offset + share.count, share.owner,
                                    share.peer_index);
    const int free = plan_.await(phase, slot, -1, 1);
    std::vector<CopyRun> placed = runs;
    for (CopyRun& run : placed) run.target += share.offset;
    const int filled = fill(phase, Plan::source, slot, placed, share.offset + share.count, {free});
    plan_.signal(phase, slot, share.peer_index, {filled});
  }

  /// Where the contributions of one partner arrive, and after which operations.
  struct Source {
    int buffer;
    Index offset;
    std::vector<int> ready;
  };

  struct Slot {
    int buffer = -1;
    int peers = 0;
  };

  Slot contribution_slot(const SlotPair& slot, const std::vector<Partner>& partners) {
    Slot result;
    Index extent = 0;
    for (const Partner& partner : partners) {
      if (partner.via != Via::shared) continue;
      ++result.peers;
      extent = std::max(extent, partner.offset + partner.count);
    }
    if (result.peers > 0) result.buffer = plan_.own_slot(slot.reverse, extent, result.peers);
    return result;
  }

  Source arriving(const Partner& partner, const Slot& slot, Phase phase) {
    if (partner.via == Via::shared) {
      return {
          slot.buffer, partner.offset, {plan_.await(phase, slot.buffer, partner.peer_index, 0)}};
    }
    const int message = plan_.staging(partner.count);
    return {message,
            0,
            {plan_.receive(phase, true, message, 0, partner.count, partner.rank, partner.tag, {})}};
  }

  /// The partner's picks the other way round: from its contributions to the buffer it once read.
  static std::vector<CopyRun> contributed(const Partner& partner, Index offset) {
    std::vector<CopyRun> runs = reversed(partner.picks);
    for (CopyRun& run : runs) run.source += offset;
    return runs;
  }

  /// Consumers' contributions, reduced in the order of their ranks, go back to the far leader.
  void inbound(std::size_t index) {
    const Relay& relay = routes_.inbound[index];
    const int message = plan_.staging(relay.count);
    const Slot slot = contribution_slot(relay.slot, relay.partners);
    std::vector<bool> filled(static_cast<std::size_t>(relay.count));
    int last = -1;
    for (const Partner& partner : relay.partners) {
      Source from{Plan::source, 0, {}};
      std::vector<CopyRun> runs;
      if (partner.via == Via::self) {
        for (const Share& share : routes_.deliveries) {
          if (share.via == Via::self && share.peer_index == static_cast<int>(index)) {
            runs = reversed(share.runs);
          }
        }
      } else {
        from = arriving(partner, slot, Phase::scatter);
        runs = contributed(partner, from.offset);
      }
      FirstAndMore parts = split(runs, filled);
      std::vector<int> after = from.ready;
      if (last >= 0) after.push_back(last);
      if (!parts.first.empty()) {
        last = plan_.copy(Phase::scatter, from.buffer, message, std::move(parts.first), after);
        after.push_back(last);
      }
      if (!parts.more.empty()) {
        last = plan_.reduce(Phase::scatter, from.buffer, message, std::move(parts.more), after);
      }
    }
    if (slot.peers > 0) plan_.signal(Phase::scatter, slot.buffer, -1, {last});
    plan_.send(Phase::non_local, false, message, 0, relay.count, relay.peer, relay.tag, {last});
  }

  /// The far leader's message, laid open to those who once contributed to it.
  void outbound(std::size_t index) {
    const Relay& relay = routes_.outbound[index];
    int peers = 0;
    for (const Partner& partner : relay.partners) peers += partner.via == Via::shared ? 1 : 0;
    const int buffer = peers > 0 ? plan_.own_slot(relay.slot.reverse, relay.count, peers)
                                 : plan_.staging(relay.count);
    std::vector<int> free;
    for (const Partner& partner : relay.partners) {
      if (partner.via == Via::shared) {
        free.push_back(plan_.await(Phase::gather, buffer, partner.peer_index, 1));
      }
    }
    const int received = plan_.receive(Phase::non_local, false, buffer, 0, relay.count, relay.peer,
                                       relay.tag, std::move(free));
    if (peers > 0) plan_.signal(Phase::gather, buffer, -1, {received});
    for (const Partner& partner : relay.partners) {
      if (partner.via == Via::message) {
        plan_.send(Phase::gather, true, buffer, partner.offset, partner.count, partner.rank,
                   partner.tag, {received});
      }
    }
    outbound_.push_back({buffer, 0, {received}});
  }

  /// What comes back of a contribution to a leader.
  void take_back(const Share& share) {
    std::vector<CopyRun> runs = reversed(share.runs);
    if (share.via == Via::message) {
      receive_and_combine(Phase::gather, true, std::move(runs), share.count, share.owner,
                          share.tag);
      return;
    }
    for (CopyRun& run : runs) run.source += share.offset;
    if (share.via == Via::self) {
      const Source& from = outbound_[static_cast<std::size_t>(share.peer_index)];
      combine(Phase::gather, from.buffer, std::move(runs), from.ready);
      return;
    }
    const int slot =
        plan_.far_slot(share.slot.reverse, share.extent, share.owner, share.peer_index);
    const int ready = plan_.await(Phase::gather, slot, -1, 0);
    const int combined = combine(Phase::gather, slot, std::move(runs), {ready});
    plan_.signal(Phase::gather, slot, share.peer_index, {combined});
  }

  /// Readers' contributions to what this rank published.
  void collect(const Publication& publication) {
    const Slot slot = contribution_slot(publication.slot, publication.readers);
    const std::vector<CopyRun> home = reversed(publication.pack);
    int last = -1;
    for (const Partner& reader : publication.readers) {
      const Source from = arriving(reader, slot, Phase::local);
      last = combine(Phase::local, from.buffer, compose(contributed(reader, from.offset), home),
                     from.ready);
    }
    plan_.signal(Phase::local, slot.buffer, -1, {last});
  }

  /// First `inner`, then `outer`, whose sources ascend and cover all of inner's targets.
  static std::vector<CopyRun> compose(const std::vector<CopyRun>& inner,
                                      const std::vector<CopyRun>& outer) {
    std::vector<CopyRun> result;
    for (const CopyRun& run : inner) {
      auto step = std::upper_bound(outer.begin(), outer.end(), run.target,
                                   [](Index at, const CopyRun& next) { return at < next.source; });
      --step;
      for (Index done = 0; done < run.count; ++step) {
        const Index at = run.target + done - step->source;
        const Index count = std::min(run.count - done, step->count - at);
        append_run(result, {run.source + done, step->target + at, count});
        done += count;
      }
    }
    return result;
  }

  const Routes& routes_;
  PlanBuilder plan_;
  std::vector<Source> outbound_;  ///< by outbound relay
  int last_combined_ = -1;
};

}  // namespace

Plan write_reverse(const Routes& routes, int rank, int size, std::string_view planner) {
  return ReverseWriter(routes, rank, size, planner).write();
}

}  // namespace vicinal

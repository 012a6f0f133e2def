// Routes as a forward plan. Operations that others wait for come first: receives are posted, then
// contributions are handed over, then this rank's own messages go out; what only this rank waits for
// comes last.
#include <sstream>

#include "plan/builder.hpp"
#include "planners/relay/negotiation.hpp"
#include "planners/relay/write_plan.hpp"

namespace vicinal {

namespace {

class ForwardWriter {
 public:
  ForwardWriter(const Routes& routes, int rank, int size, std::string_view planner)
      : routes_(routes), plan_(rank, size, planner, false) {}

  Plan write() {
    for (const Relay& relay : routes_.inbound) inbound(relay);
    for (const Straight& link : routes_.receives) {
      plan_.receive_and_unpack(phase(link), link.local, Plan::target, link.runs, link.count,
                               link.peer, link.tag);
    }
    for (const Share& share : routes_.contributions) contribute(share);
    for (const Straight& link : routes_.sends) {
      plan_.pack_and_send(phase(link), link.local, Plan::source, link.runs, link.count, link.peer,
                          link.tag, {});
    }
    for (std::size_t i = 0; i < routes_.outbound.size(); ++i) outbound(i);
    if (routes_.publication) publish(*routes_.publication);
    if (!routes_.self.empty()) {
      plan_.copy(Phase::direct, Plan::source, Plan::target, routes_.self, {});
    }
    for (const Share& share : routes_.readings) take(share, Phase::local);
    for (const Share& share : routes_.deliveries) take(share, Phase::scatter);
    return plan_.finish();
  }

 private:
  static Phase phase(const Straight& link) { return link.local ? Phase::local : Phase::direct; }

  /// What this rank hands to a leader that is another rank.
  void contribute(const Share& share) {
    if (share.via == Via::message) {
      plan_.pack_and_send(Phase::gather, true, Plan::source, share.runs, share.count, share.owner,
                          share.tag, {});
    } else if (share.via == Via::shared) {
      const int slot =
          plan_.far_slot(share.slot.forward, share.extent, share.owner, share.peer_index);
      const int free = plan_.await(Phase::gather, slot, -1, 1);
      std::vector<CopyRun> runs = share.runs;
      for (CopyRun& run : runs) run.target += share.offset;
      const int packed = plan_.copy(Phase::gather, Plan::source, slot, std::move(runs), {free});
      plan_.signal(Phase::gather, slot, share.peer_index, {packed});
    }
  }

  /// This rank's own items of a message that it leads.
  const Share& own_share(std::size_t outbound) const {
    for (const Share& share : routes_.contributions) {
      if (share.via == Via::self && share.peer_index == static_cast<int>(outbound)) return share;
    }
    fail(Fault::internal, "message ", outbound, " that this rank leads has no items of its own");
  }

  void outbound(std::size_t index) {
    const Relay& relay = routes_.outbound[index];
    if (relay.partners.size() == 1 && relay.partners.front().via == Via::self) {
      plan_.pack_and_send(Phase::non_local, false, Plan::source, own_share(index).runs, relay.count,
                          relay.peer, relay.tag, {});
      return;
    }
    const int peers = shared_partners(relay);
    const int buffer = peers > 0 ? plan_.own_slot(relay.slot.forward, relay.count, peers)
                                 : plan_.staging(relay.count);
    std::vector<int> filled;
    for (const Partner& partner : relay.partners) {
      if (partner.via == Via::shared) {
        filled.push_back(plan_.await(Phase::gather, buffer, partner.peer_index, 0));
      } else if (partner.via == Via::message) {
        filled.push_back(plan_.receive(Phase::gather, true, buffer, partner.offset, partner.count,
                                       partner.rank, partner.tag, {}));
      } else {
        std::vector<CopyRun> runs = own_share(index).runs;
        for (CopyRun& run : runs) run.target += partner.offset;
        filled.push_back(plan_.copy(Phase::gather, Plan::source, buffer, std::move(runs), {}));
      }
    }
    const int sent = plan_.send(Phase::non_local, false, buffer, 0, relay.count, relay.peer,
                                relay.tag, std::move(filled));
    if (peers > 0) plan_.signal(Phase::gather, buffer, -1, {sent});
  }

  static int shared_partners(const Relay& relay) {
    int count = 0;
    for (const Partner& partner : relay.partners) count += partner.via == Via::shared ? 1 : 0;
    return count;
  }

  /// A message from another leader, and what consumers take from it by way of this rank.
  void inbound(const Relay& relay) {
    const int index = static_cast<int>(inbound_buffers_.size());
    const Share* own = nullptr;
    for (const Share& share : routes_.deliveries) {
      if (share.via == Via::self && share.peer_index == index) own = &share;
    }
    if (own != nullptr && relay.partners.size() == 1) {
      plan_.receive_and_unpack(Phase::non_local, false, Plan::target, own->runs, relay.count,
                               relay.peer, relay.tag);
      inbound_buffers_.push_back({-1, -1});
      return;
    }
    const int peers = shared_partners(relay);
    const int buffer = peers > 0 ? plan_.own_slot(relay.slot.forward, relay.count, peers)
                                 : plan_.staging(relay.count);
    std::vector<int> free;
    for (const Partner& partner : relay.partners) {
      if (partner.via == Via::shared) {
        free.push_back(plan_.await(Phase::scatter, buffer, partner.peer_index, 1));
      }
    }
    const int received = plan_.receive(Phase::non_local, false, buffer, 0, relay.count, relay.peer,
                                       relay.tag, std::move(free));
    if (peers > 0) plan_.signal(Phase::scatter, buffer, -1, {received});
    for (const Partner& partner : relay.partners) {
      if (partner.via == Via::message) {
        plan_.pack_and_send(Phase::scatter, true, buffer, partner.picks, partner.count,
                            partner.rank, partner.tag, {received});
      }
    }
    inbound_buffers_.push_back({buffer, received});
  }

  void publish(const Publication& publication) {
    const int slot = plan_.own_slot(publication.slot.forward, publication.extent,
                                    static_cast<int>(publication.readers.size()));
    std::vector<int> free;
    for (const Partner& reader : publication.readers) {
      free.push_back(plan_.await(Phase::local, slot, reader.peer_index, 1));
    }
    const int packed =
        plan_.copy(Phase::local, Plan::source, slot, publication.pack, std::move(free));
    plan_.signal(Phase::local, slot, -1, {packed});
  }

  /// What this rank takes from a leader or from another rank's publication.
  void take(const Share& share, Phase phase) {
    if (share.via == Via::message) {
      plan_.receive_and_unpack(phase, true, Plan::target, share.order, share.count, share.owner,
                               share.tag);
    } else if (share.via == Via::shared) {
      const int slot =
          plan_.far_slot(share.slot.forward, share.extent, share.owner, share.peer_index);
      const int ready = plan_.await(phase, slot, -1, 0);
      const int taken = plan_.copy(phase, slot, Plan::target, share.runs, {ready});
      plan_.signal(phase, slot, share.peer_index, {taken});
    } else {
      const auto [buffer, received] = inbound_buffers_[static_cast<std::size_t>(share.peer_index)];
      if (buffer >= 0) plan_.copy(phase, buffer, Plan::target, share.runs, {received});
    }
  }

  struct Arrived {
    int buffer;
    int received;
  };

  const Routes& routes_;
  PlanBuilder plan_;
  std::vector<Arrived> inbound_buffers_;  ///< by inbound relay; no buffer where it went straight
};

/// Why this rank's part of a plan is as it is.
std::string reason_of(const Routes& routes, const RelayPolicy& policy) {
  using Decision = RelayPolicy::Decision;
  if (policy.decision == Decision::never) return {};
  std::ostringstream text;
  text << "goes by leaders to " << routes.relayed_regions << " of " << routes.regions
       << " other regions, where that "
       << (policy.decision == Decision::cheaper ? "takes less time by the cost model"
                                                : "saves messages");
  return text.str();
}

}  // namespace

Plan write_forward(const Routes& routes, int rank, int size, std::string_view planner) {
  return ForwardWriter(routes, rank, size, planner).write();
}

Task<Plans> plan_with(PlanRequest request, RelayPolicy policy, std::string_view planner) {
  const int rank = request.neighborhood.rank;
  const int size = request.neighborhood.machine->size();
  const bool with_reverse = request.options.with_reverse;
  const Routes routes = co_await negotiate(std::move(request), policy);
  Plans plans{write_forward(routes, rank, size, planner), std::nullopt, reason_of(routes, policy)};
  if (with_reverse) plans.reverse = write_reverse(routes, rank, size, planner);
  co_return plans;
}

}  // namespace vicinal

// The neighborhood operation (Sharifian et al. 2024, algorithm 4) as a graph without barriers: what
// goes to an agent waits for what it consists of, not for the step before; what arrives is received
// straight into its place in the main buffer; each destination gets one message at the end.
//
// Ranks of a host read the main buffer where it is: it is then a slot, whose flag is set once all
// is there that they want. The agents of a host get a slot for each step, since a slot's flag can
// be set only once in an execution and they must not wait for what comes in later steps.
#include "planners/halving/write_plan.hpp"

#include <algorithm>

#include "plan/builder.hpp"

namespace vicinal::halving {

namespace {

class HalvingWriter {
 public:
  HalvingWriter(const HalvingRoutes& routes, int rank, int size, std::string_view planner)
      : routes_(routes), plan_(rank, size, planner, false) {}

  Plan write() {
    open_main();
    arrived_.assign(routes_.arrivals.size(), -1);
    for (std::size_t i = 0; i < routes_.arrivals.size(); ++i) receive(i);
    for (const Pickup& pickup : routes_.pickups) {
      if (pickup.passage.shared()) continue;
      plan_.receive_and_unpack(phase(pickup.local), pickup.local, Plan::target, pickup.runs,
                               pickup.extent, pickup.carrier, pickup.passage.tag);
    }
    copy_own();
    std::size_t taken = 0;
    for (const Hop& hop : routes_.hops) {
      while (taken < hop.arrivals) take(taken++);
      send(hop);
    }
    while (taken < routes_.arrivals.size()) take(taken++);
    publish();
    for (const Delivery& delivery : routes_.deliveries) {
      if (!delivery.passage.shared()) send(delivery);
    }
    for (const Kept& kept : routes_.kept) keep(kept);
    for (const Pickup& pickup : routes_.pickups) {
      if (pickup.passage.shared()) pick_up(pickup);
    }
    return plan_.finish();
  }

 private:
  static Phase phase(bool local) { return local ? Phase::local : Phase::direct; }

  void open_main() {
    if (routes_.extent == 0) return;
    if (routes_.readers == 0) {
      main_ = plan_.staging(routes_.extent);
      return;
    }
    main_ = plan_.own_slot(routes_.slot, routes_.extent, routes_.readers);
    for (int reader = 0; reader < routes_.readers; ++reader) {
      free_.push_back(plan_.await(Phase::local, main_, reader, 1));
    }
  }

  void receive(std::size_t index) {
    const Arrival& arrival = routes_.arrivals[index];
    if (arrival.passage.shared()) return;
    arrived_[index] = plan_.receive(Phase::halving, false, main_, arrival.offset, arrival.count,
                                    arrival.origin, arrival.passage.tag, free_);
  }

  /// What an origin on this host has put into its slot for this rank.
  void take(std::size_t index) {
    const Arrival& arrival = routes_.arrivals[index];
    if (!arrival.passage.shared()) return;
    const int slot = plan_.far_slot(arrival.passage.slot, arrival.count, arrival.origin,
                                    arrival.passage.peer_index);
    std::vector<int> after = free_;
    after.push_back(plan_.await(Phase::halving, slot, -1, 0));
    arrived_[index] = plan_.copy(Phase::halving, slot, main_, {{0, arrival.offset, arrival.count}},
                                 std::move(after));
    plan_.signal(Phase::halving, slot, arrival.passage.peer_index, {arrived_[index]});
  }

  void copy_own() {
    std::vector<CopyRun> runs;
    for (const Parcel& parcel : routes_.parcels) {
      if (parcel.arrived >= 0 || parcel.offset < 0) continue;
      for (const CopyRun& run : parcel.source) {
        append_run(runs, {run.source, parcel.offset + run.target, run.count});
      }
    }
    if (!runs.empty()) {
      own_ = plan_.copy(Phase::local, Plan::source, main_, std::move(runs), free_);
    }
  }

  /// Parcels laid end to end: what comes from the source buffer, and what from the main buffer.
  struct Gathered {
    std::vector<CopyRun> source;
    std::vector<CopyRun> main;
    std::vector<int> after;  ///< the operations that bring the latter
  };

  Gathered gather(const std::vector<std::size_t>& parcels) const {
    Gathered result;
    Index offset = 0;
    for (const std::size_t index : parcels) {
      const Parcel& parcel = routes_.parcels[index];
      if (parcel.offset < 0) {
        for (const CopyRun& run : parcel.source) {
          append_run(result.source, {run.source, offset + run.target, run.count});
        }
      } else {
        append_run(result.main, {parcel.offset, offset, parcel.count});
        result.after.push_back(filled_by(parcel));
      }
      offset += parcel.count;
    }
    std::sort(result.after.begin(), result.after.end());
    result.after.erase(std::unique(result.after.begin(), result.after.end()), result.after.end());
    return result;
  }

  int filled_by(const Parcel& parcel) const {
    return parcel.arrived < 0 ? own_ : arrived_[static_cast<std::size_t>(parcel.arrived)];
  }

  /// Copies parcels into a buffer once `free` are complete; returns the copies.
  std::vector<int> pack(Phase phase, const Gathered& parcels, int buffer,
                        const std::vector<int>& free) {
    std::vector<int> copies;
    if (!parcels.source.empty()) {
      copies.push_back(plan_.copy(phase, Plan::source, buffer, parcels.source, free));
    }
    if (!parcels.main.empty()) {
      std::vector<int> after = free;
      after.insert(after.end(), parcels.after.begin(), parcels.after.end());
      copies.push_back(plan_.copy(phase, main_, buffer, parcels.main, std::move(after)));
    }
    return copies;
  }

  void send_message(Phase phase, bool local, const std::vector<std::size_t>& parcels, Index count,
                    int peer, std::int64_t tag) {
    const Gathered gathered = gather(parcels);
    if (gathered.source.empty()) {
      plan_.pack_and_send(phase, local, main_, gathered.main, count, peer, tag, gathered.after);
    } else if (gathered.main.empty()) {
      plan_.pack_and_send(phase, local, Plan::source, gathered.source, count, peer, tag, {});
    } else {
      const int message = plan_.staging(count);
      plan_.send(phase, local, message, 0, count, peer, tag, pack(phase, gathered, message, {}));
    }
  }

  void send(const Hop& hop) {
    if (!hop.passage.shared()) {
      send_message(Phase::halving, false, hop.parcels, hop.count, hop.agent, hop.passage.tag);
      return;
    }
    const int slot = plan_.own_slot(hop.passage.slot, hop.count, 1);
    const int free = plan_.await(Phase::halving, slot, hop.passage.peer_index, 1);
    plan_.signal(Phase::halving, slot, -1, pack(Phase::halving, gather(hop.parcels), slot, {free}));
  }

  void send(const Delivery& delivery) {
    send_message(phase(delivery.local), delivery.local, delivery.parcels, delivery.count,
                 delivery.rank, delivery.passage.tag);
  }

  /// Lets the ranks of the host read.
  void publish() {
    std::vector<std::size_t> wanted;
    for (const Delivery& delivery : routes_.deliveries) {
      if (delivery.passage.shared()) {
        wanted.insert(wanted.end(), delivery.parcels.begin(), delivery.parcels.end());
      }
    }
    if (!wanted.empty()) plan_.signal(Phase::local, main_, -1, gather(wanted).after);
  }

  void pick_up(const Pickup& pickup) {
    const Phase label = phase(pickup.local);
    const int slot = plan_.far_slot(pickup.passage.slot, pickup.extent, pickup.carrier,
                                    pickup.passage.peer_index);
    const int ready = plan_.await(label, slot, -1, 0);
    const int taken = plan_.copy(label, slot, Plan::target, pickup.runs, {ready});
    plan_.signal(label, slot, pickup.passage.peer_index, {taken});
  }

  void keep(const Kept& kept) {
    const Parcel& parcel = routes_.parcels[kept.parcel];
    std::vector<CopyRun> runs;
    if (parcel.arrived >= 0) {
      for (const CopyRun& run : kept.runs) {
        append_run(runs, {parcel.offset + run.source, run.target, run.count});
      }
      plan_.copy(Phase::halving, main_, Plan::target, std::move(runs), {filled_by(parcel)});
      return;
    }
    for (const CopyRun& part : parcel.source) {
      for (const CopyRun& run : kept.runs) {
        const Index first = std::max(part.target, run.source);
        const Index end = std::min(part.target + part.count, run.source + run.count);
        if (first >= end) continue;
        append_run(runs, {part.source + (first - part.target), run.target + (first - run.source),
                          end - first});
      }
    }
    plan_.copy(Phase::direct, Plan::source, Plan::target, std::move(runs), {});
  }

  const HalvingRoutes& routes_;
  PlanBuilder plan_;
  int main_ = -1;
  std::vector<int> free_;     ///< what must be complete before the main buffer is written
  std::vector<int> arrived_;  ///< by arrival: the operation that brings it
  int own_ = -1;              ///< the operation that copies own parcels to the main buffer
};

}  // namespace

Plan write_halving(const HalvingRoutes& routes, int rank, int size, std::string_view planner) {
  return HalvingWriter(routes, rank, size, planner).write();
}

}  // namespace vicinal::halving

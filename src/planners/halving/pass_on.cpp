// The neighborhood operation (Sharifian et al. 2024, algorithm 4) as transfers: messages to the
// agent and from the origins of each step, and the final deliveries.
#include <algorithm>

#include "planners/halving/negotiation.hpp"

namespace vicinal::halving {

/// Returns the pieces of parcels laid end to end: from the source, and from the main buffer.
std::vector<Part> HalvingNegotiation::pieces_of(const std::vector<std::size_t>& parcels) const {
  std::vector<CopyRun> own, passed_on;
  Index offset = 0;
  for (const std::size_t index : parcels) {
    const Parcel& parcel = parcels_[index];
    if (parcel.offset < 0) {
      for (const CopyRun& run : parcel.source) {
        append_run(own, {run.source, offset + run.target, run.count});
      }
    } else {
      append_run(passed_on, {parcel.offset, offset, parcel.count});
    }
    offset += parcel.count;
  }
  std::vector<Part> pieces;
  if (!own.empty()) pieces.push_back({Plan::source, std::move(own)});
  if (!passed_on.empty()) pieces.push_back({main_, std::move(passed_on)});
  return pieces;
}

void HalvingNegotiation::pass_on() {
  std::vector<CopyRun> copied;
  for (const Parcel& parcel : parcels_) {
    if (parcel.arrived || parcel.offset < 0) continue;
    for (const CopyRun& run : parcel.source) {
      append_run(copied, {run.source, parcel.offset + run.target, run.count});
    }
  }
  transfers_.move(Phase::local, Plan::source, main_, std::move(copied));
  std::size_t taken = 0;
  for (const Hop& hop : hops_) {
    while (taken < hop.arrivals) take(arrivals_[taken++]);
    send(hop);
  }
  while (taken < arrivals_.size()) take(arrivals_[taken++]);
}

/// Returns the label of a step. Halving never hands data on inside a region.
Phase HalvingNegotiation::phase_to(int peer) const {
  if (passing_ != Passing::cascaded) return Phase::halving;
  return same_region(peer) ? Phase::gather : Phase::non_local;
}

void HalvingNegotiation::take(const Arrival& arrival) {
  const Index extent = arrival.passage.extent;
  transfers_.take(phase_to(arrival.origin), same_region(arrival.origin), arrival.origin,
                  arrival.passage, {Part{main_, {{0, arrival.offset, extent}}}});
}

void HalvingNegotiation::send(const Hop& hop) {
  transfers_.give(phase_to(hop.taker), same_region(hop.taker), hop.taker, hop.passage,
                  pieces_of(hop.parcels));
}

void HalvingNegotiation::send_deliveries() {
  for (const Delivery& delivery : deliveries_) {
    const Passage& passage = delivery.passage;
    if (passage.shared() || passage.extent == 0) continue;
    const bool local = same_region(delivery.rank);
    transfers_.give(local ? Phase::local : Phase::direct, local, delivery.rank, passage.tag,
                    passage.extent, pieces_of(delivery.parcels));
  }
}

void HalvingNegotiation::use_kept() {
  for (const Kept& kept : kept_) {
    const Parcel& parcel = parcels_[kept.parcel];
    if (parcel.arrived) {
      std::vector<CopyRun> runs;
      for (const CopyRun& run : kept.runs) {
        append_run(runs, {parcel.offset + run.source, run.target, run.count});
      }
      transfers_.move(Phase::halving, main_, Plan::target, std::move(runs));
      continue;
    }
    const std::vector<CopyRun> from = reversed(parcel.source);
    transfers_.move(Phase::direct, Plan::source, Plan::target,
                    reversed(compose(reversed(kept.runs), from)));
  }
}

}  // namespace vicinal::halving

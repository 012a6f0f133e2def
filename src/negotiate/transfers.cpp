// Lists of transfers, and arithmetic on positions.
#include "negotiate/transfers.hpp"

#include <algorithm>
#include <utility>

namespace vicinal {

Transfers::Transfers() : stores(2) {
  for (Store& store : stores) store.kind = Store::Kind::user;
}

int Transfers::add(Store store) {
  stores.push_back(std::move(store));
  return static_cast<int>(stores.size()) - 1;
}

int Transfers::hold(Index extent) {
  Store store;
  store.extent = extent;
  return add(std::move(store));
}

void Transfers::give(Phase phase, bool local, int peer, std::int64_t tag, Index count,
                     std::vector<Part> pieces) {
  list.push_back({Transfer::Kind::give, phase, std::move(pieces), -1, local, peer, tag, count});
}

void Transfers::take(Phase phase, bool local, int peer, std::int64_t tag, Index count,
                     std::vector<Part> pieces) {
  give(phase, local, peer, tag, count, std::move(pieces));
  list.back().kind = Transfer::Kind::take;
}

namespace {

std::vector<Part> only(Part piece) {
  std::vector<Part> pieces;
  pieces.push_back(std::move(piece));
  return pieces;
}

}  // namespace

void Transfers::give(Phase phase, bool local, int peer, std::int64_t tag, Index count, Part piece) {
  give(phase, local, peer, tag, count, only(std::move(piece)));
}

void Transfers::take(Phase phase, bool local, int peer, std::int64_t tag, Index count, Part piece) {
  take(phase, local, peer, tag, count, only(std::move(piece)));
}

void Transfers::move(Phase phase, int from, int to, std::vector<CopyRun> runs) {
  if (runs.empty()) return;
  Transfer& transfer = list.emplace_back();
  transfer.phase = phase;
  transfer.to = to;
  transfer.pieces.push_back({from, std::move(runs)});
}

void Transfers::give(Phase phase, bool local, int peer, const Passage& passage,
                     std::vector<Part> pieces) {
  if (!passage.shared()) {
    give(phase, local, peer, passage.tag, passage.extent, std::move(pieces));
    return;
  }
  const int slot = add(Store::own_slot(Store::Kind::handing_out, phase, passage.slot,
                                       passage.extent, {{all_picks(passage.extent), 0, peer}}));
  for (Part& piece : pieces) move(phase, piece.store, slot, std::move(piece.runs));
}

void Transfers::take(Phase phase, bool local, int peer, const Passage& passage,
                     std::vector<Part> pieces) {
  if (!passage.shared()) {
    take(phase, local, peer, passage.tag, passage.extent, std::move(pieces));
    return;
  }
  const int slot = add(
      Store::far_slot(Store::Kind::handing_out, phase, peer, passage, all_picks(passage.extent)));
  for (Part& piece : pieces) move(phase, slot, piece.store, std::move(piece.runs));
}

std::vector<CopyRun> picks_of(std::vector<CopyRun> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const CopyRun& a, const CopyRun& b) { return a.source < b.source; });
  std::vector<CopyRun> picks;
  Index count = 0;
  for (const CopyRun& run : runs) {
    const Index known = picks.empty() ? 0 : picks.back().source + picks.back().count;
    const Index first = std::max(run.source, known), end = run.source + run.count;
    if (first >= end) continue;
    append_run(picks, {first, count, end - first});
    count += end - first;
  }
  return picks;
}

std::vector<CopyRun> all_picks(Index extent) {
  std::vector<CopyRun> picks;
  append_run(picks, {0, 0, extent});
  return picks;
}

Index place_in(const std::vector<CopyRun>& picks, Index position) {
  const auto after =
      std::upper_bound(picks.begin(), picks.end(), position,
                       [](Index at, const CopyRun& pick) { return at < pick.source; });
  const CopyRun& pick = *std::prev(after);
  return pick.target + (position - pick.source);
}

Index lay_end_to_end(std::vector<Window>& windows) {
  Index end = 0;
  for (Window& window : windows) {
    window.offset = end;
    end += total(window.picks);
  }
  return end;
}

std::vector<CopyRun> compose(const std::vector<CopyRun>& inner, const std::vector<CopyRun>& outer) {
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

std::vector<CopyRun> shifted(std::vector<CopyRun> runs, Index by) {
  for (CopyRun& run : runs) run.target += by;
  return runs;
}

}  // namespace vicinal

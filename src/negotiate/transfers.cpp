// Lists of transfers, and arithmetic on positions.
//
// The reverse of a list is made transfer by transfer, the last one first. A slot that takes in
// becomes one that its peers read, unchanged. A slot that hands out has elements that several peers
// read; in reverse, each peer has an area of its own. The owner adds up the contributions in a
// store of its own. If the slot held only a copy of the source, it adds them up directly in the
// target.
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

namespace {

class Reversal {
 public:
  explicit Reversal(const Transfers& forward) : forward_(forward) {}

  Transfers run() {
    reverse_.reverse = true;
    for (std::size_t i = 0; i < forward_.stores.size(); ++i) reverse(static_cast<int>(i));
    for (auto it = forward_.list.rbegin(); it != forward_.list.rend(); ++it) reverse(*it);
    return std::move(reverse_);
  }

 private:
  /// The counterpart of a store in the reverse.
  struct ReversedStore {
    int store = -1;  ///< that replaces it
    /// Positions of the elements in another rank's slot; empty: unchanged.
    std::vector<CopyRun> picks;
    Index offset = 0;
    bool composed = false;  ///< the move that filled it is reversed with it
  };

  void reverse(int index) {
    ReversedStore& its = reversed_stores_.emplace_back();
    const Store& store = forward_.stores[static_cast<std::size_t>(index)];
    if (store.kind == Store::Kind::user) {
      its.store = index == Plan::source ? Plan::target : Plan::source;
    } else if (store.kind == Store::Kind::own) {
      its.store = reverse_.hold(store.extent);
    } else if (store.kind == Store::Kind::handing_out && !store.is_far()) {
      add_up(index, its);
    } else {
      its.store = reverse_.add(opposite(store));
      if (store.kind == Store::Kind::taking_in) return;
      its.picks = store.windows.front().picks;
      its.offset = store.windows.front().offset;
    }
  }

  static Store opposite(Store store) {
    if (store.kind == Store::Kind::taking_in) {
      store.kind = Store::Kind::handing_out;
      return store;
    }
    store.kind = Store::Kind::taking_in;
    store.extent = 0;
    for (Window& window : store.windows) {
      const Index count = total(window.picks);
      store.extent = std::max(store.extent, window.offset + count);
      window.picks.assign(1, {window.offset, 0, count});
    }
    return store;
  }

  /// Adds the areas of an own slot's readers, and the moves that add up their contributions.
  void add_up(int index, ReversedStore& its) {
    const Store& store = forward_.stores[static_cast<std::size_t>(index)];
    const int areas = reverse_.add(opposite(store));
    const std::vector<CopyRun>* source = only_source(index);
    its.composed = source != nullptr;
    its.store = its.composed ? Plan::target : reverse_.hold(store.extent);
    const std::vector<CopyRun> home = its.composed ? reversed(*source) : std::vector<CopyRun>{};
    for (const Window& window : store.windows) {
      std::vector<CopyRun> back = reversed(window.picks);
      for (CopyRun& run : back) run.source += window.offset;
      if (its.composed) back = compose(back, home);
      reverse_.move(store.phase, areas, its.store, std::move(back));
    }
  }

  /// Returns the ascending runs that fill a store, if it is a copy of the source that only its
  /// peers read; else null.
  [[nodiscard]] const std::vector<CopyRun>* only_source(int store) const {
    const std::vector<CopyRun>* found = nullptr;
    for (const Transfer& transfer : forward_.list) {
      for (const Part& piece : transfer.pieces) {
        if (piece.store == store) return nullptr;
        if (transfer.kind != Transfer::Kind::move || transfer.to != store) continue;
        if (piece.store != Plan::source || found != nullptr) return nullptr;
        found = &piece.runs;
      }
    }
    const auto by_target = [](const CopyRun& a, const CopyRun& b) { return a.target < b.target; };
    const bool ascends =
        found != nullptr && std::is_sorted(found->begin(), found->end(), by_target);
    return ascends ? found : nullptr;
  }

  [[nodiscard]] const ReversedStore& reversed_store(int store) const {
    return reversed_stores_[static_cast<std::size_t>(store)];
  }

  /// Translates runs to a store's forward positions into runs to its reverse positions.
  static std::vector<CopyRun> into(const ReversedStore& store, std::vector<CopyRun> runs) {
    return store.picks.empty() ? runs : shifted(compose(runs, store.picks), store.offset);
  }

  void reverse(const Transfer& it) {
    if (it.kind == Transfer::Kind::move) {
      const Part& piece = it.pieces.front();
      const ReversedStore& to = reversed_store(piece.store);
      if (reversed_store(it.to).composed) return;
      reverse_.move(it.phase, reversed_store(it.to).store, to.store,
                    into(to, reversed(piece.runs)));
      return;
    }
    const bool gave = it.kind == Transfer::Kind::give;
    std::vector<Part> pieces;
    for (const Part& piece : it.pieces) {
      const ReversedStore& its = reversed_store(piece.store);
      std::vector<CopyRun> runs = reversed(piece.runs);
      if (gave) runs = into(its, std::move(runs));
      pieces.push_back({its.store, std::move(runs)});
    }
    if (gave) reverse_.take(it.phase, it.local, it.peer, it.tag, it.count, std::move(pieces));
    if (!gave) reverse_.give(it.phase, it.local, it.peer, it.tag, it.count, std::move(pieces));
  }

  const Transfers& forward_;
  Transfers reverse_;
  std::vector<ReversedStore> reversed_stores_;
};

}  // namespace

Transfers reverse_of(const Transfers& forward) { return Reversal(forward).run(); }

}  // namespace vicinal

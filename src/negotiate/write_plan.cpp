// Each store becomes a buffer when it is first needed, and records the operations that fill it. A
// read of a part of it comes after those. When contributions are added up, the first one to an
// element is copied there, and later ones are reduced into it. Their order is the order in which
// they are written here.
#include "negotiate/transfers.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/scramble.hpp"
#include "plan/builder.hpp"

namespace vicinal {

namespace {

/// A store as it is in the plan.
struct Place {
  struct Fill {
    Index last = 0;  ///< one past the last element
    int operation = -1;
  };
  int buffer = -1;
  std::vector<int> free;        ///< operations after which it may be written
  std::map<Index, Fill> fills;  ///< by first element
  std::vector<int> uses;        ///< operations that read it
  int last = -1;                ///< the operation after which all of it is filled; else see `fills`
  bool at_once = false;         ///< one operation fills all of it
  // When contributions are added up: by element, whether something has been copied there.
  std::vector<bool> holds;
};

/// Adds missing operations to a list and keeps it in ascending order.
void append_new(std::vector<int>& operations, const std::vector<int>& more) {
  if (more.empty()) return;
  operations.insert(operations.end(), more.begin(), more.end());
  std::sort(operations.begin(), operations.end());
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
}

class PlanWriter {
 public:
  PlanWriter(Transfers transfers, int rank, int size, std::string_view planner)
      : transfers_(std::move(transfers)),
        plan_(rank, size, planner, transfers_.reverse),
        places_(transfers_.stores.size()),
        message_of_(transfers_.list.size(), -1),
        first_read_(transfers_.stores.size(), transfers_.list.size()) {
    for (const int users : {Plan::source, Plan::target}) place(users).buffer = users;
    messages_.reserve(transfers_.list.size());
    for (std::size_t i = 0; i < transfers_.list.size(); ++i) {
      const Transfer& it = transfers_.list[i];
      if (it.kind == Transfer::Kind::take) continue;
      for (const Part& piece : it.pieces) {
        passes_target_on_ |= piece.store == Plan::target;
        std::size_t& first = first_read_[static_cast<std::size_t>(piece.store)];
        first = std::min(first, i);
      }
      if (it.kind == Transfer::Kind::give && !is_one_stretch(it)) {
        to_pack_.emplace_back(fingerprint(it), i);
      }
    }
    std::sort(to_pack_.begin(), to_pack_.end());
  }

  Plan write() {
    for (std::size_t i = 0; i < transfers_.list.size(); ++i) {
      if (transfers_.list[i].kind == Transfer::Kind::take) receive(i);
    }
    for (const Pass pass : {Pass::own, Pass::passed_on, Pass::kept}) {
      for (std::size_t i = 0; i < transfers_.list.size(); ++i) {
        if (pass_of(transfers_.list[i]) == pass) write(i);
      }
    }
    for (std::size_t i = 0; i < places_.size(); ++i) close(static_cast<int>(i));
    return plan_.finish();
  }

 private:
  using Runs = std::vector<CopyRun>;
  enum class Pass : std::uint8_t { own, passed_on, kept };

  [[nodiscard]] Pass pass_of(const Transfer& it) const {
    const auto is = [](int store) { return [store](const Part& at) { return at.store == store; }; };
    const auto all = [&](int store) {
      return std::all_of(it.pieces.begin(), it.pieces.end(), is(store));
    };
    const bool kept = it.kind == Transfer::Kind::take ? all(Plan::target) : it.to == Plan::target;
    if (kept && !passes_target_on_) return Pass::kept;
    return it.kind != Transfer::Kind::take && all(Plan::source) ? Pass::own : Pass::passed_on;
  }

  Place& place(int store) { return places_[static_cast<std::size_t>(store)]; }
  Place& message(std::size_t transfer) {
    return messages_[static_cast<std::size_t>(message_of_[transfer])];
  }
  Place& new_message(std::size_t transfer) {
    message_of_[transfer] = static_cast<int>(messages_.size());
    Place& it = messages_.emplace_back();
    it.buffer = plan_.staging(transfers_.list[transfer].count);
    it.at_once = true;
    return it;
  }
  [[nodiscard]] const Store& described(int store) const {
    return transfers_.stores[static_cast<std::size_t>(store)];
  }

  /// Returns the place of a store; at first use, creates its buffer and the awaits of its slot.
  Place& open(int store) {
    Place& it = place(store);
    if (it.buffer >= 0) return it;
    const Store& what = described(store);
    const std::int64_t slot = transfers_.reverse ? what.slot.reverse : what.slot.forward;
    const bool handing_out = what.kind == Store::Kind::handing_out;
    if (!what.is_slot()) {
      it.buffer = plan_.staging(what.extent);
    } else if (what.is_far()) {
      it.buffer = plan_.far_slot(slot, what.extent, what.owner, what.peer_index);
      const int await = plan_.await(what.phase, it.buffer, -1, handing_out ? 0 : 1, what.owner);
      if (handing_out) filled(it, 0, what.extent, await);
      if (!handing_out) it.free.push_back(await);
    } else {
      const int peers = static_cast<int>(what.windows.size());
      it.buffer = plan_.own_slot(slot, what.extent, peers);
      for (int peer = 0; peer < peers; ++peer) {
        const int rank = what.windows[static_cast<std::size_t>(peer)].peer;
        const int await = plan_.await(what.phase, it.buffer, peer, handing_out ? 1 : 0, rank);
        if (handing_out) it.free.push_back(await);
        if (handing_out) continue;
        for (const CopyRun& run : what.windows[static_cast<std::size_t>(peer)].picks) {
          filled(it, run.source, run.count, await);
        }
      }
    }
    return it;
  }

  /// Signals the peers of a slot that this rank is done with it.
  void close(int store) {
    const Store& what = described(store);
    if (!what.is_slot()) return;
    Place& it = open(store);
    const bool handing_out = what.kind == Store::Kind::handing_out;
    const bool reads = handing_out == what.is_far();
    std::vector<int> done;
    if (reads && !it.uses.empty()) {
      append_new(done, it.uses);
    } else if (handing_out && !what.is_far()) {
      for (const Window& window : what.windows) append_new(done, filling(it, window.picks));
    } else {
      append_new(done, filling(it, all_picks(what.extent)));
    }
    plan_.signal(what.phase, it.buffer, what.peer_index, std::move(done));
  }

  static void filled(Place& it, Index first, Index count, int operation) {
    if (count > 0) it.fills[first] = {first + count, operation};
  }

  /// Returns the operations that fill the elements that runs read.
  static std::vector<int> filling(const Place& it, const std::vector<CopyRun>& runs) {
    if (it.last >= 0) return {it.last};
    if (it.fills.size() == 1) return {it.fills.begin()->second.operation};
    std::vector<int> operations;
    for (const CopyRun& run : runs) {
      auto fill = it.fills.upper_bound(run.source);
      if (fill != it.fills.begin()) --fill;
      for (; fill != it.fills.end() && fill->first < run.source + run.count; ++fill) {
        if (fill->second.last > run.source) operations.push_back(fill->second.operation);
      }
    }
    std::sort(operations.begin(), operations.end());
    operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
    return operations;
  }

  [[nodiscard]] bool is_tracked(const Place& it) const {
    return it.buffer != Plan::source && (it.buffer != Plan::target || passes_target_on_);
  }

  /// Copies the elements of runs from one place to another; in reverse, adds them up there.
  void put(Phase phase, Place& from, Place& to, std::vector<CopyRun> runs) {
    if (runs.empty()) return;
    std::vector<int> after = filling(from, runs);
    append_new(after, to.free);
    if (transfers_.reverse) {
      add_up(phase, from, to, runs, std::move(after));
      return;
    }
    const Runs targets = is_tracked(to) && !to.at_once ? joined_targets(runs) : Runs{};
    const int copied = plan_.copy(phase, from.buffer, to.buffer, std::move(runs), std::move(after));
    from.uses.push_back(copied);
    if (to.at_once) to.last = copied;
    for (const CopyRun& run : targets) filled(to, run.target, run.count, copied);
  }

  /// Returns the targets of runs, joined where they are consecutive.
  static Runs joined_targets(const Runs& runs) {
    Runs targets;
    for (const CopyRun& run : runs) append_run(targets, {run.target, run.target, run.count});
    return targets;
  }

  void add_up(Phase phase, Place& from, Place& to, const std::vector<CopyRun>& runs,
              std::vector<int> after) {
    std::vector<CopyRun> first, more;
    if (to.buffer == Plan::target) {
      more = runs;
    } else {
      for (const CopyRun& run : runs) split(run, to.holds, first, more);
    }
    const auto chain = [&](int operation) {
      from.uses.push_back(operation);
      to.last = operation;
      after.assign(1, operation);
    };
    if (to.last >= 0) after.push_back(to.last);
    if (!first.empty()) chain(plan_.copy(phase, from.buffer, to.buffer, std::move(first), after));
    if (!more.empty()) chain(plan_.reduce(phase, from.buffer, to.buffer, std::move(more), after));
  }

  /// Divides a run into the elements that are the first at their target, and later contributions.
  static void split(const CopyRun& run, std::vector<bool>& holds, std::vector<CopyRun>& first,
                    std::vector<CopyRun>& more) {
    const auto end = static_cast<std::size_t>(run.target + run.count);
    if (holds.size() < end) holds.resize(end);
    for (Index i = 0; i < run.count; ++i) {
      const auto target = static_cast<std::size_t>(run.target + i);
      append_run(holds[target] ? more : first, {run.source + i, run.target + i, 1});
      holds[target] = true;
    }
  }

  void write(std::size_t index) {
    Transfer& it = transfers_.list[index];
    switch (it.kind) {
      case Transfer::Kind::give: send(index); break;
      case Transfer::Kind::take:
        if (message_of_[index] < 0) break;
        for (Part& piece : it.pieces) {
          put(it.phase, message(index), open(piece.store), std::move(piece.runs));
        }
        break;
      case Transfer::Kind::move: {
        Part& piece = it.pieces.front();
        Place& from = open(piece.store);
        put(it.phase, from, open(it.to), std::move(piece.runs));
        break;
      }
    }
  }

  /// Receives a message that is one stretch of a store directly there, any other in a buffer of its
  /// own. In reverse, a receive into a store comes before all other contributions, so no earlier
  /// transfer may read the store. Otherwise two ranks that forward to each other would each wait
  /// for the other's message.
  void receive(std::size_t index) {
    const Transfer& it = transfers_.list[index];
    if (is_one_stretch(it)) {
      const Part& piece = it.pieces.front();
      Place& to = open(piece.store);
      const Index offset = piece.runs.front().target;
      const bool untouched = to.buffer != Plan::target && to.last < 0 &&
                             index < first_read_[static_cast<std::size_t>(piece.store)];
      if (!transfers_.reverse || untouched) {
        const int received = plan_.receive(it.phase, it.local, to.buffer, offset, it.count, it.peer,
                                           it.tag, to.free);
        if (is_tracked(to)) filled(to, offset, it.count, received);
        if (!transfers_.reverse) return;
        to.last = received;
        to.holds.resize(static_cast<std::size_t>(offset + it.count));
        std::fill(to.holds.begin() + offset, to.holds.end(), true);
        return;
      }
    }
    Place& to = new_message(index);
    to.last = plan_.receive(it.phase, it.local, to.buffer, 0, it.count, it.peer, it.tag, {});
  }

  static bool is_one_stretch(const Transfer& it) {
    return it.pieces.size() == 1 && it.pieces.front().runs.size() == 1 &&
           it.pieces.front().runs.front().count == it.count;
  }

  void send(std::size_t index) {
    const Transfer& it = transfers_.list[index];
    if (is_one_stretch(it)) {
      const Part& piece = it.pieces.front();
      Place& from = open(piece.store);
      from.uses.push_back(plan_.send(it.phase, it.local, from.buffer, piece.runs.front().source,
                                     it.count, it.peer, it.tag, filling(from, piece.runs)));
      return;
    }
    const Place& from = message(packed(index));
    plan_.send(it.phase, it.local, from.buffer, 0, it.count, it.peer, it.tag,
               from.last >= 0 ? std::vector<int>{from.last} : filling(from, all_picks(it.count)));
  }

  /// Packs a message and returns the transfer that holds it. Messages with equal contents, as most
  /// are in an allgather, are packed once, for the first of them.
  std::size_t packed(std::size_t index) {
    const Transfer& it = transfers_.list[index];
    const std::uint64_t content = fingerprint(it);
    auto same =
        std::lower_bound(to_pack_.begin(), to_pack_.end(), std::pair(content, std::size_t{0}));
    for (; same != to_pack_.end() && same->first == content; ++same) {
      const bool is_packed = message_of_[same->second] >= 0;
      if (is_packed && transfers_.list[same->second].pieces == it.pieces) return same->second;
    }
    Place& to = new_message(index);
    to.at_once = it.pieces.size() == 1;
    for (const Part& piece : it.pieces) put(it.phase, open(piece.store), to, piece.runs);
    return index;
  }

  static std::uint64_t fingerprint(const Transfer& it) {
    std::uint64_t sum = 0;
    const auto add = [&](Index number) {
      sum = scramble(sum + static_cast<std::uint64_t>(number));
    };
    for (const Part& piece : it.pieces) {
      add(piece.store);
      for (const CopyRun& run : piece.runs) add(run.source ^ (run.count << 32U));
    }
    return sum;
  }

  Transfers transfers_;  ///< takes and moves lose their runs to the plan
  PlanBuilder plan_;
  std::vector<Place> places_;            ///< by store
  std::vector<Place> messages_;          ///< packed or unpacked messages
  std::vector<int> message_of_;          ///< by transfer, or -1
  std::vector<std::size_t> first_read_;  ///< by store: the first transfer that reads it
  std::vector<std::pair<std::uint64_t, std::size_t>> to_pack_;  ///< transfers, ordered by content
  bool passes_target_on_ = false;  ///< items received in the target are read there
};

}  // namespace

Plan write_plan(Transfers transfers, int rank, int size, std::string_view planner) {
  return PlanWriter(std::move(transfers), rank, size, planner).write();
}

Plans write_plans(Transfers transfers, const PlanRequest& request, std::string_view planner,
                  std::string reason) {
  const int rank = request.neighborhood.rank, size = request.neighborhood.machine->size();
  Plans plans{Plan(), std::nullopt, std::move(reason), request.options.element_bytes};
  if (request.options.with_reverse) {
    plans.reverse = write_plan(reverse_of(transfers), rank, size, planner);
  }
  plans.forward = write_plan(std::move(transfers), rank, size, planner);
  return plans;
}

}  // namespace vicinal

// The place of a buffer follows from the operations that touch it. Staging is added to the
// operations of a plan.
#include "plan/placement.hpp"

#include <algorithm>
#include <functional>

namespace vicinal {

namespace {

std::vector<bool> users_on_device(const Plan& plan, OnDevice users) {
  std::vector<bool> there;
  for (const Buffer& buffer : plan.buffers) {
    there.push_back((buffer.space == Space::source && users.source) ||
                    (buffer.space == Space::target && users.target));
  }
  return there;
}

/// By buffer: whether data moves between it and the user's buffers on the device, other memory, or
/// messages.
struct Neighbors {
  std::vector<bool> users_there;
  std::vector<bool> others;
  std::vector<bool> messages;

  Neighbors(const Plan& plan, const std::vector<bool>& there)
      : users_there(there.size()), others(there.size()), messages(there.size()) {
    const auto meet = [&](int buffer, int other) {
      (there[static_cast<std::size_t>(other)] ? users_there
                                              : others)[static_cast<std::size_t>(buffer)] = true;
    };
    for (const Operation& it : plan.operations) {
      const bool reads = reads_elements(it.kind), writes = writes_elements(it.kind);
      if (reads && writes) {
        meet(it.from, it.to);
        meet(it.to, it.from);
      } else if (reads || writes) {
        messages[static_cast<std::size_t>(reads ? it.from : it.to)] = true;
      }
    }
  }
};

}  // namespace

std::vector<bool> lying_on_device(const Plan& plan, OnDevice users, bool direct) {
  std::vector<bool> there = users_on_device(plan, users);
  if (!direct) return there;
  const Neighbors neighbors(plan, there);
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (plan.buffers[i].space != Space::staging) continue;
    there[i] = neighbors.users_there[i] && !neighbors.others[i];
  }
  return there;
}

std::vector<bool> slots_on_device(const Plan& plan, OnDevice users) {
  const Neighbors neighbors(plan, users_on_device(plan, users));
  std::vector<bool> there(plan.buffers.size());
  for (std::size_t i = 0; i < there.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.space != Space::shared || buffer.peer_index >= 0) continue;
    there[i] = neighbors.users_there[i] && !neighbors.others[i] && !neighbors.messages[i];
  }
  return there;
}

std::vector<bool> lendable_slots(const Plan& plan, OnDevice users) {
  std::vector<bool> found = slots_on_device(plan, users);
  std::vector<bool> is_filled(found.size());
  const auto exclude = [&](int buffer) { found[static_cast<std::size_t>(buffer)] = false; };
  for (const Operation& it : plan.operations) {
    if (reads_elements(it.kind)) exclude(it.from);
    if (!writes_elements(it.kind)) continue;
    const bool from_source = it.kind == OperationKind::copy && it.from == Plan::source;
    if (from_source && users.source) is_filled[static_cast<std::size_t>(it.to)] = true;
    if (!from_source) exclude(it.to);
  }
  std::transform(found.begin(), found.end(), is_filled.begin(), found.begin(),
                 std::logical_and<>());
  return found;
}

std::vector<CopyRun> lent_in(const Plan& plan, int slot) {
  std::vector<CopyRun> runs;
  for (const Operation& it : plan.operations) {
    if (it.kind == OperationKind::copy && it.to == slot)
      runs.insert(runs.end(), it.runs.begin(), it.runs.end());
  }
  std::ranges::sort(runs, {}, &CopyRun::target);
  return runs;
}

namespace {

using Side = Index CopyRun::*;

bool is_users(int buffer) { return buffer == Plan::source || buffer == Plan::target; }

/// Returns the elements of a buffer that an operation touches, as runs from the buffer to a compact
/// staging buffer.
std::vector<CopyRun> touched(const Operation& operation, Side side) {
  if (operation.kind != OperationKind::reduce) return {{operation.offset, 0, operation.count}};
  std::vector<CopyRun> runs = operation.runs;
  std::sort(runs.begin(), runs.end(),
            [&](const CopyRun& a, const CopyRun& b) { return a.*side < b.*side; });
  std::vector<CopyRun> result;
  Index place = 0;
  for (const CopyRun& run : runs) {
    const Index begin = result.empty()
                            ? run.*side
                            : std::max(run.*side, result.back().source + result.back().count);
    const Index count = run.*side + run.count - begin;
    if (count <= 0) continue;  // several contributions to the same elements
    append_run(result, {begin, place, count});
    place += count;
  }
  return result;
}

Index elements_of(const std::vector<CopyRun>& places) {
  return places.empty() ? 0 : places.back().target + places.back().count;
}

/// Redirects the operation's elements on one side to the staging buffer.
void relocate(Operation& operation, Side side, const std::vector<CopyRun>& places) {
  operation.offset = 0;
  for (CopyRun& run : operation.runs) {
    const auto after = std::upper_bound(
        places.begin(), places.end(), run.*side,
        [](Index element, const CopyRun& place) { return element < place.source; });
    const CopyRun& place = *(after - 1);
    run.*side = place.target + (run.*side - place.source);
  }
}

class Stager {
 public:
  explicit Stager(const Plan& plan) : result_(plan) { result_.operations.clear(); }

  /// Returns whether an operation needs staging for a buffer. This holds for the user's buffers.
  /// For reductions it also holds for slots, which may lie in the same memory as the user's.
  [[nodiscard]] bool is_apart(const Operation& operation, int buffer) const {
    if (buffer < 0 || is_users(buffer)) return buffer >= 0;
    return operation.kind == OperationKind::reduce &&
           result_.buffers[static_cast<std::size_t>(buffer)].space == Space::shared;
  }
  /// Adds the operation unchanged.
  void keep(Operation operation) {
    renumber(operation);
    last_.push_back(add(std::move(operation)));
  }

  void stage(Operation operation) {
    renumber(operation);
    const bool reduces = operation.kind == OperationKind::reduce;
    const Operation old = operation;
    if (reduces) operation.after.clear();
    if (is_apart(old, old.from)) {
      const std::vector<CopyRun> places = touched(old, &CopyRun::source);
      operation.from = add_buffer(elements_of(places));
      operation.after = {add_copy(old, old.from, operation.from, places, old.after)};
      relocate(operation, &CopyRun::source, places);
    }
    if (!is_apart(old, old.to)) {
      last_.push_back(add(std::move(operation)));
      return;
    }
    const std::vector<CopyRun> places = touched(old, &CopyRun::target);
    const int staging = add_buffer(elements_of(places));
    if (reduces) {
      operation.after.push_back(add_copy(old, old.to, staging, places, old.after));
    }
    operation.to = staging;
    relocate(operation, &CopyRun::target, places);
    const int done = add(std::move(operation));
    last_.push_back(add_copy(old, staging, old.to, reversed(places), {done}));
  }

  Plan take() { return std::move(result_); }

 private:
  void renumber(Operation& operation) const {
    for (int& before : operation.after) before = last_[static_cast<std::size_t>(before)];
  }
  int add(Operation operation) {
    result_.operations.push_back(std::move(operation));
    return static_cast<int>(result_.operations.size()) - 1;
  }
  int add_copy(const Operation& of, int from, int to, const std::vector<CopyRun>& runs,
               std::vector<int> after) {
    Operation copy;
    copy.phase = of.phase;
    copy.from = from;
    copy.to = to;
    copy.runs = runs;
    copy.after = std::move(after);
    return add(std::move(copy));
  }
  int add_buffer(Index extent) {
    Buffer buffer;
    buffer.extent = extent;
    result_.buffers.push_back(buffer);
    return static_cast<int>(result_.buffers.size()) - 1;
  }

  Plan result_;
  std::vector<int> last_;  ///< by operation of the old plan: the new one that completes it
};

}  // namespace

Plan with_staged(const Plan& plan, Staged what) {
  Stager stager(plan);
  for (const Operation& operation : plan.operations) {
    const bool reduces =
        operation.kind == OperationKind::reduce && what == Staged::messages_and_reductions;
    const bool staged = is_message(operation.kind) || reduces;
    if (staged &&
        (stager.is_apart(operation, operation.from) || stager.is_apart(operation, operation.to))) {
      stager.stage(operation);
    } else {
      stager.keep(operation);
    }
  }
  return stager.take();
}

}  // namespace vicinal

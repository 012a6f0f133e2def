// Made when all is over, of what the event loop notes of each operation in any case. So the loop is the same whether a
// timeline is asked for or not, and this goes through memory in order.
#include "cost/timeline.hpp"

#include <algorithm>
#include <tuple>

namespace vicinal::detail {

namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// The moment at which an operation is complete.
const Moment& last_of(const Steps& steps, int id) {
  const bool sends = steps[id].kind == OperationKind::send;
  return steps.moment(sends ? Steps::gone(id) : Steps::done(id));
}

void describe(const Program& program, const Steps& steps, Timeline& timeline) {
  const std::size_t operations = at(program.operations());
  for (auto* times : {&timeline.ready, &timeline.begun, &timeline.done, &timeline.complete}) {
    times->reserve(operations);
  }
  timeline.cause.reserve(operations);
  for (int id = 0; id < program.operations(); ++id) {
    const Step& step = steps[id];
    const Moment& last = last_of(steps, id);
    double ready = 0;
    for (const int before : program.operation(id).after) {
      ready = std::max(ready, timeline.complete[at(program.id(program.rank_of[at(id)], before))]);
    }
    int cause = last.cause;
    while (cause >= 0 && Steps::operation(cause) == id) cause = steps.moment(cause).cause;
    const double done = step.moments[0].time;
    timeline.ready.push_back(ready);
    timeline.begun.push_back(step.begun < 0 ? done : step.begun);
    timeline.done.push_back(done);
    timeline.complete.push_back(last.time);
    timeline.cause.push_back(cause < 0 ? -1 : Steps::operation(cause));
  }
}

/// What can end a rank's waiting: an operation that begins, or one that is complete.
struct End {
  double since;
  double until;
  int operation;
  Phase phase;
  [[nodiscard]] auto key() const { return std::tuple(since, until, operation); }
};

void account(std::vector<End>& ends, Timeline::ByPhase& busy, Timeline::ByPhase& waiting) {
  // Of two that begin at one time one takes none; of two that take none the first in the plan is what was waited for.
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.key() < b.key(); });
  double told = 0;
  for (const End& it : ends) {
    const auto phase = static_cast<std::size_t>(it.phase);
    waiting[phase] += std::max(0.0, it.since - told);
    busy[phase] += it.until - it.since;
    told = std::max(told, it.until);
  }
}

}  // namespace

Timeline timeline_of(const Program& program, const Steps& steps, int last) {
  Timeline timeline;
  describe(program, steps, timeline);
  timeline.busy.resize(program.plans.size());
  timeline.waiting.resize(program.plans.size());
  std::vector<End> ends;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    ends.clear();
    for (int id = program.first_operation[at(rank)]; id < program.first_operation[at(rank) + 1];
         ++id) {
      const Phase phase = program.operation(id).phase;
      ends.push_back({timeline.begun[at(id)], timeline.done[at(id)], id, phase});
      if (steps[id].kind != OperationKind::send) continue;
      ends.push_back({timeline.complete[at(id)], timeline.complete[at(id)], id, phase});
    }
    account(ends, timeline.busy[at(rank)], timeline.waiting[at(rank)]);
  }
  for (int moment = last; moment >= 0; moment = steps.moment(moment).cause) {
    const int before = steps.moment(moment).cause;
    const double since = before < 0 ? 0 : steps.moment(before).time;
    timeline.chain.push_back({Steps::operation(moment), since, steps.moment(moment).time});
  }
  std::reverse(timeline.chain.begin(), timeline.chain.end());
  return timeline;
}

}  // namespace vicinal::detail

// Built after the execution from what the event loop records of each operation anyway. So the loop
// is the same with or without a timeline, and this pass reads memory in order.
#include "cost/timeline.hpp"

#include <algorithm>
#include <tuple>

namespace vicinal {

namespace detail {

namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// Returns the moment at which an operation is complete.
int last_of(const Steps& steps, int id) {
  return steps[id].goes_on() ? Steps::gone(id) : Steps::done(id);
}

void describe(const Program& program, const Steps& steps, Timeline& timeline) {
  const std::size_t operations = at(program.operations());
  for (auto* times : {&timeline.ready, &timeline.begun, &timeline.done, &timeline.complete}) {
    times->reserve(operations);
  }
  timeline.cause.reserve(operations);
  for (int id = 0; id < program.operations(); ++id) {
    const Step& step = steps[id];
    const int last = last_of(steps, id);
    double ready = 0;
    for (const int before : program.operation(id).after) {
      ready = std::max(ready, timeline.complete[at(program.id(program.rank_of[at(id)], before))]);
    }
    int cause = steps.cause(last);
    while (cause >= 0 && Steps::operation(cause) == id) cause = steps.cause(cause);
    const double done = steps.time(Steps::done(id));
    timeline.ready.push_back(ready);
    timeline.begun.push_back(step.begun < 0 ? done : step.begun);
    timeline.done.push_back(done);
    timeline.complete.push_back(steps.time(last));
    timeline.cause.push_back(cause < 0 ? -1 : Steps::operation(cause));
  }
}

}  // namespace

Timeline timeline_of(const Program& program, const Steps& steps, int last) {
  Timeline timeline;
  describe(program, steps, timeline);
  timeline.busy.resize(program.plans.size());
  timeline.waiting.resize(program.plans.size());
  for (int rank = 0; rank < program.ranks(); ++rank) {
    const std::size_t first = at(program.first_operation[at(rank)]);
    const std::size_t count = at(program.first_operation[at(rank) + 1]) - first;
    const auto mine = [&](const std::vector<double>& times) {
      return std::span(times).subspan(first, count);
    };
    for (const Span& it :
         spans(mine(timeline.begun), mine(timeline.done), mine(timeline.complete))) {
      const Operation& operation = program.plans[at(rank)].operations[at(it.operation)];
      auto& times = it.busy ? timeline.busy[at(rank)] : timeline.waiting[at(rank)];
      times[static_cast<std::size_t>(operation.phase)] += it.until - it.since;
    }
  }
  for (int moment = last; moment >= 0; moment = steps.cause(moment)) {
    const int before = steps.cause(moment);
    const double since = before < 0 ? 0 : steps.time(before);
    timeline.chain.push_back({Steps::operation(moment), since, steps.time(moment)});
  }
  std::reverse(timeline.chain.begin(), timeline.chain.end());
  return timeline;
}

}  // namespace detail

std::vector<Span> spans(std::span<const double> begun, std::span<const double> done,
                        std::span<const double> complete) {
  // An event that can end a rank's waiting: an operation begins, or completes later than it is
  // done.
  struct End {
    double since;
    double until;
    int operation;
    [[nodiscard]] auto key() const { return std::tuple(since, until, operation); }
  };
  std::vector<End> ends;
  ends.reserve(begun.size());
  for (std::size_t i = 0; i < begun.size(); ++i) {
    ends.push_back({begun[i], done[i], static_cast<int>(i)});
    if (complete[i] > done[i]) ends.push_back({complete[i], complete[i], static_cast<int>(i)});
  }
  // Of two that begin at one time, one takes no time; of two that take no time, the first in the
  // plan ended the wait.
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.key() < b.key(); });
  std::vector<Span> result;
  result.reserve(ends.size());
  double told = 0;
  for (const End& it : ends) {
    if (it.since > told) result.push_back({told, it.since, it.operation, false});
    if (it.until > it.since) result.push_back({it.since, it.until, it.operation, true});
    told = std::max(told, it.until);
  }
  return result;
}

}  // namespace vicinal

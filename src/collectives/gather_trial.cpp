// Taking turns, and agreeing on what was faster.
#include "collectives/gather_trial.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <utility>

#include "choose/contenders.hpp"
#include "choose/trial.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {

GatherTrial::Call GatherTrial::next(mpi::Communicator& communicator) {
  if (entered_ < timed_calls) {
    const std::size_t number = entered_++;
    return {way_of(number), number};
  }
  if (!verdict_) decide(communicator);
  return {verdict_->way, std::nullopt};
}

void GatherTrial::note(std::size_t number, std::chrono::steady_clock::duration time) {
  times_[number] = std::max<std::int64_t>(std::chrono::nanoseconds(time).count(), 1);
}

void GatherTrial::decide(mpi::Communicator& communicator) {
  std::array<Numbers, 2> by_way;  // after the ranks have agreed nothing may fail
  for (Numbers& times : by_way) times.reserve(timed_calls);
  // Of each call the slowest rank's: the least of what is negative. A rank that has none has the least of all.
  std::array<std::int64_t, timed_calls> slowest{};
  std::transform(times_.begin(), times_.end(), slowest.begin(),
                 [](std::int64_t time) { return -(time == 0 ? untimed : time); });
  mpi::allreduce_min(communicator.handle(), slowest);
  for (std::size_t number = 0; number < timed_calls; ++number) {
    const std::size_t place = number % turn;
    if (place == 0 || place == turn - 1) continue;
    by_way[static_cast<std::size_t>(way_of(number))].push_back(-slowest[number]);
  }
  Verdict verdict;
  verdict.nanoseconds = {median_of(std::move(by_way[0])), median_of(std::move(by_way[1]))};
  verdict.way = verdict.nanoseconds[1] < verdict.nanoseconds[0] ? Way::mpi : Way::plan;
  verdict_ = verdict;
}

std::string GatherTrial::outcome() const {
  if (!verdict_) return {};
  std::ostringstream text;
  const auto say = [&](const char* what, std::int64_t nanoseconds) {
    text << what;
    if (nanoseconds == untimed) {
      text << " not timed";
    } else {
      text << ' ' << static_cast<double>(nanoseconds) / 1000 << " us";
    }
  };
  say("measured in blocking calls: by the plan", verdict_->nanoseconds[0]);
  say(", by MPI", verdict_->nanoseconds[1]);
  text << "; these go by " << (verdict_->way == Way::mpi ? "MPI" : "the plan");
  return text.str();
}

}  // namespace vicinal

// recursive-doubling: in step i each rank exchanges all its blocks with the rank whose number
// differs in bit i.
//
// Wins where Bruck's algorithm does, if the number of ranks is a power of two: ceil(log2 p)
// messages and p - 1 blocks per rank. A rank's blocks always form one stretch. Otherwise some ranks
// first hand their block to a partner, which hands all blocks back at the end. Handing over costs
// two more steps, and the partners send 2 p blocks.
//
// Source: the textbook algorithm, as in Thakur, Rabenseifner and Gropp 2005; Bienz et al. 2022,
// section 2.
#include <bit>

#include "planners/all.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

void recursive_doubling(Schedule& schedule) {
  const Team team = everybody(schedule.machine());
  const int size = team.size();
  const int place = team.place_of(schedule.rank());
  const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int pairs = size - active;  // an active rank at an even place and an inactive one
  const Blocks all = team.held_by(0, size);
  const bool paired = place < 2 * pairs;
  if (paired && place % 2 == 1) {
    schedule.give(team.holds[place], {team.ranks[place - 1]});
    schedule.take(all, team.ranks[place - 1]);
    return;
  }
  if (paired) schedule.take(team.holds[place + 1], team.ranks[place + 1]);

  // The active ranks are numbered; each of the first `pairs` represents two places.
  const int number = paired ? place / 2 : place - pairs;
  const auto place_at = [&](int other) { return other < pairs ? 2 * other : other + pairs; };
  const auto held_from = [&](int other, int count) {
    const int first = place_at(other);
    return team.held_by(first, place_at(other + count) - first);
  };
  for (int step = 1; step < active; step *= 2) {
    const int partner = number ^ step;
    const int rank = team.ranks[place_at(partner)];
    schedule.give(held_from(number & ~(step - 1), step), {rank});
    schedule.take(held_from(partner & ~(step - 1), step), rank);
  }
  if (paired) schedule.give(all, {team.ranks[place + 1]});
}

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_recursive_doubling(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "recursive-doubling",
                                   allgather::recursive_doubling);
}

}  // namespace

const PlannerKind kind_of_recursive_doubling =
    among_all("allgather in log2 p steps, by exchanges between two", plan_recursive_doubling);

}  // namespace vicinal

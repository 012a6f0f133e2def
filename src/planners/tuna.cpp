// tuna and tuna-hierarchical: an alltoall over all ranks in few messages. What a rank has for others it hands to ranks on the
// way, which store it and pass it on; so each message holds blocks of many, and each block is sent several times.
//
// With the radix r, tuna needs ceil(log_r p) supersteps in which a rank sends at most r - 1 messages each: (r - 1) ceil(log_r
// p) in place of p - 1, of about p / r blocks each, so every block travels as often as its distance has digits other than 0.
// With 2 it has the fewest messages and the most bytes, with p it is `direct`. It wins for small blocks where ranks are
// equally far from each other. tuna-hierarchical does so among the n ranks of a region, after which each rank has what its
// counterparts in other regions want; between the regions nothing is passed on where vicinal_radix is given, and by the
// cost model's radix otherwise. So a block leaves its region once, or as often as that says, in messages of n blocks or more;
// with shared memory the way inside a region costs copies only. It wins where regions have two ranks, or more that share no
// memory; where they do, leaders have as few messages and fewer supersteps.
//
// Blocks may be of any sizes; counts are learned along the way, while planning, so an execution sends data only. Both serve
// complete graphs alone, since every rank must be there to pass on what is for others.
//
// Sources: Bruck, Ho, Kipnis, Upfal and Weathersby 1997, "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", for the index algorithm with any radix; Fan, Domke, Ba and Kumar 2024, "Configurable non-uniform
// all-to-all algorithms" (TuNA; arXiv 2411.02581), and 2025, "Parameterized algorithms for non-uniform all-to-all"
// (ParLogNa and ParLinNa; HPDC), for blocks of unequal sizes and the two levels. Of all three, the abstracts were at hand, and
// the beginning of the second paper; the algorithms are worked out from what these say. There, each step is preceded by a
// message with the sizes, and blocks wait in a buffer that is used again in each step.
#include "planners/all.hpp"
#include "planners/tuna/negotiation.hpp"

namespace vicinal {

Task<Plans> plan_tuna(PlanRequest request) {
  tuna::TunaNegotiation negotiation(request);
  Task<Plans> running = negotiation.run_fastest(tuna::Among::all_ranks, "tuna");
  co_return co_await running;
}

Task<Plans> plan_tuna_hierarchical(PlanRequest request) {
  tuna::TunaNegotiation negotiation(request);
  Task<Plans> running = negotiation.run_fastest(tuna::Among::regions, "tuna-hierarchical");
  co_return co_await running;
}

}  // namespace vicinal

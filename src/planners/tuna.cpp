// tuna and tuna-hierarchical: an alltoall over all ranks in few messages. A rank hands its blocks
// to intermediate ranks, which store and forward them. So each message holds blocks of many ranks,
// and each block is sent several times.
//
// With the radix r, tuna needs ceil(log_r p) supersteps, each with at most r - 1 messages per rank
// of about p / r blocks. In total these are (r - 1) ceil(log_r p) messages instead of p - 1. A
// block travels once for each nonzero digit of its distance. Radix 2 has the fewest messages and
// the most bytes; radix p is `direct`. Tuna wins for small blocks where ranks are equally far from
// each other.
//
// tuna-hierarchical does the same among the n ranks of a region; then each rank has the blocks for
// its counterparts in other regions. If vicinal_radix is given, nothing is forwarded between
// regions; otherwise the cost model chooses that radix. A block leaves its region once, or as often
// as the radix requires, in messages of n blocks or more. With shared memory, steps inside a region
// cost copies only. The hierarchical form wins where regions have two ranks, or more that share no
// memory. With shared memory, leaders need as few messages and fewer supersteps.
//
// Blocks may be of any sizes. Counts are learned while planning, so an execution sends data only.
// Both planners serve complete graphs alone, since every rank must forward for others.
//
// Sources: Bruck, Ho, Kipnis, Upfal and Weathersby 1997, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems": the index algorithm with any radix. Fan,
// Domke, Ba and Kumar 2024, "Configurable non-uniform all-to-all algorithms" (TuNA; arXiv
// 2411.02581), and 2025, "Parameterized algorithms for non-uniform all-to-all" (ParLogNa and
// ParLinNa; HPDC): blocks of unequal sizes, and the two levels. Only the three abstracts and the
// beginning of the second paper were available; the algorithms are worked out from these. There, a
// message with the sizes precedes each step, and blocks wait in a buffer that each step reuses.
#include "planners/all.hpp"
#include "planners/tuna/negotiation.hpp"

namespace vicinal {

namespace {

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

}  // namespace

const PlannerKind kind_of_tuna =
    between_all("alltoall in log_r p steps, storing and forwarding", plan_tuna);
const PlannerKind kind_of_tuna_hierarchical =
    between_all("the same inside regions, then between them", plan_tuna_hierarchical);

}  // namespace vicinal

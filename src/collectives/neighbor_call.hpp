// Blocking and nonblocking neighborhood collectives. These plan little or not at all:
//
//   alltoall, allgather  all blocks have one size, so a plan in blocks fits every call; the graph
//                        keeps one for each class of block sizes
//   allgatherv of a complete graph   all ranks know all sizes, so the graph keeps plans by sizes
//   the others           counts may change on one rank without the others knowing, so no plan that
//                        depends on them can be kept: one message per edge, with the user's own
//                        datatypes, or where a strategy was asked for by name, a plan for each call
#pragma once

#include <memory>
#include <optional>

#include "collectives/graph.hpp"
#include "collectives/request.hpp"
#include "collectives/side.hpp"

namespace vicinal {

/// Begins a call, with the settings of the graph; the request is of single use. Collective over the
/// ranks of the graph that have neighbours, where it plans; else local. `fault`: what the caller
/// already knows to be wrong with the arguments, of which `equal_blocks` and `one_block` must be
/// right all the same. A fault gives up the graph, unless the call has a plan of its own.
std::unique_ptr<Request> begin_neighbor_call(const std::shared_ptr<Graph>& graph,
                                             NeighborArguments arguments,
                                             std::optional<Error> fault);

}  // namespace vicinal

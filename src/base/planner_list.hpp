// The planners, one line each: an identifier and the name that settings give. The file of a planner, in
// src/planners, defines `kind_of_<identifier>`.
#pragma once

#define VICINAL_PLANNERS(X)                             \
  X(direct, "direct")                                   \
  X(nearest_first, "nearest-first")                     \
  X(aggregate, "aggregate")                             \
  X(aggregate_plain, "aggregate-plain")                 \
  X(two_step, "two-step")                               \
  X(split, "split")                                     \
  X(automatic, "automatic")                             \
  X(distance_halving, "distance-halving")               \
  X(distance_halving_pruned, "distance-halving-pruned") \
  X(cascade, "cascade")                                 \
  X(common_neighbor, "common-neighbor")                 \
  X(tuna, "tuna")                                       \
  X(tuna_hierarchical, "tuna-hierarchical")             \
  X(bruck, "bruck")                                     \
  X(dissemination, "dissemination")                     \
  X(recursive_doubling, "recursive-doubling")           \
  X(ring, "ring")                                       \
  X(hierarchical, "hierarchical")                       \
  X(multi_lane, "multi-lane")                           \
  X(locality_bruck, "locality-bruck")

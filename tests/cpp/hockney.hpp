// The performance model of Sharifian et al. 2024, section V. It gives the cost of a neighborhood
// allgather over a random graph, direct and by distance halving. A message of b bytes takes latency
// + b / bandwidth, and a rank sends or receives one message at a time.
//
// The functions are the paper's equations as printed. If its text or its own derivation differs,
// the function says so. tests/cpp/unit/hockney.cpp compares them with what a plan really sends. The
// logarithm is to base 2.
#pragma once

namespace vicinal {

/// A network link (Hockney 1994). The paper calls beta "the time it takes to transfer each byte",
/// but divides by it, so it is a bandwidth here.
struct Hockney {
  double latency = 0;    ///< alpha, in seconds per message
  double bandwidth = 1;  ///< beta, in bytes per second
};

/// A random graph over a machine of equal regions.
struct RandomGraphModel {
  double ranks = 1;             ///< n
  double ranks_per_region = 1;  ///< L; the paper's regions are sockets
  double regions_per_node = 1;  ///< S
  double density = 0;           ///< delta, the probability of each edge
};

/// Halving steps in the equations: ceil(log2(n / L)) + 1. Regions are separate after ceil(log2(n /
/// L)) steps, and the paper's example (7 for n / L = 100) counts that many.
double halving_steps(const RandomGraphModel& graph);

/// Equation 1: messages that a rank sends out of its region.
double off_region_messages(const RandomGraphModel& graph);

/// Equation 2: messages that a rank sends in its region. It counts only a rank's direct origins,
/// one in each step, though their buffers hold their own origins' data as well.
double in_region_messages(const RandomGraphModel& graph);

/// Equation 3: bytes of a message inside the region, for a block of `bytes`.
double in_region_bytes(const RandomGraphModel& graph, double bytes);

/// Equation 4: seconds for one rank that sends and receives all of its messages directly.
double direct_rank_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes);

/// Equation 5: as equation 4, for all ranks of a node, one after the other.
double direct_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes);

/// Equation 6, in its closed form: seconds for one rank's messages out of its region, each twice as
/// long as the one before. The sum printed with it has one more latency.
double off_region_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes);

/// Equation 7: seconds for one rank's messages in its region.
double in_region_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes);

/// Equation 8: seconds for all ranks of a node, sending and receiving, one after the other.
double halving_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes);

}  // namespace vicinal

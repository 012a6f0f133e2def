// What the ranks have agreed on at the end of a halving, as one rank sees it, for write_plan to
// write out. All that a rank is given to pass on lies in its main buffer (Sharifian et al.'s
// main_buf).
#pragma once

#include <cstdint>
#include <vector>

#include "base/runs.hpp"
#include "planners/passage.hpp"

namespace vicinal::halving {

/// One edge that a parcel serves.
struct Destination {
  int rank = 0;
  int edge = 0;  ///< which of the edges between the parcel's origin and that rank, in edge order
};

/// Items of one origin that stay together, and those of their destinations that this rank has to
/// see to. In an allgather each rank sends one parcel to all of its neighbours.
struct Parcel {
  int origin = 0;
  Index count = 0;
  int arrived = -1;   ///< the place of the arrival that brought it; -1 for this rank's own
  Index offset = -1;  ///< in the main buffer; -1 for an own parcel that is not copied there
  std::vector<CopyRun> source;  ///< own: source buffer -> 0..count-1
  std::vector<Destination> destinations;
};

/// What goes to the agent of a step, at the origin.
struct Hop {
  int agent = 0;
  Passage passage;
  Index count = 0;
  std::vector<std::size_t> parcels;  ///< in the order in which they lie in the message
  std::size_t arrivals = 0;          ///< how many arrivals there were before
};

/// The same at the agent.
struct Arrival {
  int origin = 0;
  Passage passage;
  Index count = 0;
  Index offset = 0;  ///< in the main buffer
};

/// What a rank gets from this one when all steps are done.
struct Delivery {
  int rank = 0;
  bool local = false;
  Passage passage;
  Index count = 0;
  std::vector<std::size_t> parcels;
};

/// The same at the rank that gets it.
struct Pickup {
  int carrier = 0;
  bool local = false;
  Passage passage;
  Index extent = 0;           ///< of the carrier's main buffer, or of the message
  std::vector<CopyRun> runs;  ///< main buffer or message -> target
};

/// What this rank carries and is itself a destination of.
struct Kept {
  std::size_t parcel = 0;
  std::vector<CopyRun> runs;  ///< parcel -> target
};

struct HalvingRoutes {
  std::vector<Parcel> parcels;
  std::vector<Hop> hops;          ///< by step, without those that move nothing
  std::vector<Arrival> arrivals;  ///< likewise
  std::vector<Delivery> deliveries;
  std::vector<Pickup> pickups;
  std::vector<Kept> kept;
  Index extent = 0;        ///< of the main buffer
  std::int64_t slot = -1;  ///< that the main buffer is, where ranks of the host read from it
  int readers = 0;
};

}  // namespace vicinal::halving

// A halo: a rank owns some of a global index space, and needs values of others. From the global
// indices alone this finds out who sends what to whom, as a pattern whose items have identity: an
// owned element that several ranks need is one item on several edges.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/runs.hpp"
#include "discovery/exchange.hpp"
#include "mpi/communicator.hpp"
#include "pattern/pattern.hpp"

namespace vicinal {

struct HaloMap {
  /// Item identities and source positions are positions in the owned array; target position i is
  /// the ghost slot of needed[i]. Each edge carries each index once, in ascending order of the
  /// global index; an index that is needed in several slots fills them all. Edges are in order of
  /// rank; an index that a rank both owns and needs is on an edge to itself.
  Pattern pattern;

  /// The same, element by element: send_indices[send_offsets[e]...send_offsets[e + 1]) are the
  /// owned positions sent to send_ranks[e], as they travel.
  std::vector<int> send_ranks;
  std::vector<Index> send_offsets;
  std::vector<Index> send_indices;
  /// Likewise the ghost slots that receive_ranks[e] fills, in ascending order.
  std::vector<int> receive_ranks;
  std::vector<Index> receive_offsets;
  std::vector<Index> receive_positions;

  Index owned_count = 0;
  Index ghost_count = 0;  ///< slots: needed indices, those given twice counted twice
};

// The needed indices may be in any order, be given several times, and be the rank's own. All three
// forms are collective and throw on every rank when one of them has a fault: an argument fault for
// an index that is negative, that nobody owns or that two ranks own. A rank that has no memory at the end of the last exchange
// throws alone: who goes on to something collective has to tell the others. They cost O(n log n) for n
// owned and needed indices, and messages only between ranks that have to do with each other (and
// with a directory's block).

/// Each rank owns one range, from `first` to before `second`. One allgather and one exchange.
HaloMap form_halo(mpi::Communicator& communicator, std::pair<Index, Index> owned_range,
                  std::span<const Index> needed, const ExchangeOptions& options = {});

/// Each rank owns the indices of an array, in any order. One allreduce and three exchanges.
HaloMap form_halo(mpi::Communicator& communicator, std::span<const Index> owned,
                  std::span<const Index> needed, const ExchangeOptions& options = {});

/// The same where owners[i] is known to own needed[i]; the owner makes sure that it does. One
/// exchange and one allreduce. That an index is owned by others besides is not noticed. A rank
/// fault where an owner is not in the communicator.
HaloMap form_halo(mpi::Communicator& communicator, std::span<const Index> owned,
                  std::span<const Index> needed, std::span<const int> owners,
                  const ExchangeOptions& options = {});

}  // namespace vicinal

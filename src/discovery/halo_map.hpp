// A halo: a rank owns some indices of a global index space, and needs values of others. From the
// global indices alone, form_halo() derives the communication. The result is a pattern whose items
// have identity: an owned element that several ranks need is one item on several edges.
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
  /// global index. An index needed in several slots fills them all. Edges are in order of rank; an
  /// index that a rank both owns and needs is on an edge to itself.
  Pattern pattern;

  /// The send side of the pattern, element by element. The owned positions sent to send_ranks[e],
  /// in sending order, are send_indices from send_offsets[e] to before send_offsets[e + 1].
  std::vector<int> send_ranks;
  std::vector<Index> send_offsets;
  std::vector<Index> send_indices;
  /// The receive side: the ghost slots that receive_ranks[e] fills, in ascending order.
  std::vector<int> receive_ranks;
  std::vector<Index> receive_offsets;
  std::vector<Index> receive_positions;

  Index owned_count = 0;
  Index ghost_count = 0;  ///< number of slots; repeated indices count repeatedly
};

// The needed indices may be in any order, repeat, and be the rank's own. All three forms are
// collective, and throw on every rank if one rank has a fault. They throw an argument fault for an
// index that is negative, has no owner or has two. A rank that fails to allocate memory after the
// last exchange throws alone; before another collective its caller must tell the other ranks. They
// cost O(n log n) for n owned and needed indices, and messages only between ranks that share
// indices (and with a directory's block).

/// Each rank owns one range, from `first` to before `second`. One allgather and one exchange.
HaloMap form_halo(mpi::Communicator& communicator, std::pair<Index, Index> owned_range,
                  std::span<const Index> needed, const ExchangeOptions& options = {});

/// Each rank owns the indices of an array, in any order. One allreduce and three exchanges.
HaloMap form_halo(mpi::Communicator& communicator, std::span<const Index> owned,
                  std::span<const Index> needed, const ExchangeOptions& options = {});

/// As above, if the caller knows that owners[i] owns needed[i]; the owner checks this. One exchange
/// and one allreduce. Does not detect an index that other ranks own, too. Throws a rank fault for
/// an owner outside the communicator.
HaloMap form_halo(mpi::Communicator& communicator, std::span<const Index> owned,
                  std::span<const Index> needed, std::span<const int> owners,
                  const ExchangeOptions& options = {});

}  // namespace vicinal

// Neighborhood all-to-all with counts and displacements, persistent. Plans are made in bytes, since
// the two ends of an edge may describe the same data by different datatypes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/graph.hpp"
#include "collectives/request.hpp"
#include "execute/execution.hpp"
#include "mpi/datatype.hpp"

namespace vicinal {

/// One side's data, an entry for each edge of the graph on that side.
struct EdgeData {
  const void* buffer = nullptr;  ///< written through on the receive side
  std::vector<Index> counts;     ///< in `type`
  std::vector<Index> displacements;  ///< in extents of `type`
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

class NeighborAlltoallv final : public Request {
 public:
  /// Collective over the ranks of the graph that have neighbours. `items`, if given, holds an identity
  /// for each element sent, edge after edge: elements of one identity have equal values, and travel
  /// once where the planner can share them. Buffers stay the user's, and stay in place. `fault`: what
  /// the caller already knows to be wrong with the arguments. Throws on the rank at fault and on those
  /// that communicate with it.
  NeighborAlltoallv(std::shared_ptr<Graph> graph, const EdgeData& send,
                    std::optional<std::vector<Index>> items, const EdgeData& receive,
                    const Settings& settings, std::optional<Error> fault = std::nullopt);

  void start() override;
  bool test() override;
  void wait() override;
  [[nodiscard]] bool in_flight() const override { return execution_->in_flight(); }
  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] MPI_Comm user() const override { return graph_->user(); }
  [[nodiscard]] const AgreedPlan& plan() const { return execution_->plan(); }

 private:
  /// Where an edge's data lie in the user's buffer and in the bytes that the plan moves.
  struct Piece {
    std::int64_t user_offset;
    std::int64_t packed_offset;
    Index count;
  };
  /// One side: either the user's buffer itself, or packed bytes and how to get from one to the other.
  struct Side {
    mpi::Datatype type;
    std::byte* user = nullptr;
    bool packed = false;
    std::vector<std::byte> bytes;
    std::vector<Piece> pieces;
    std::int64_t base = 0;  ///< lowest byte of the user's buffer that is touched
    [[nodiscard]] std::byte* data();
  };

  static Side describe_side(const EdgeData& data, const char* what);
  static Pattern make_pattern(const Graph& graph, const Side& send,
                              const std::optional<std::vector<Index>>& items, const Side& receive);

  void unpack();

  std::shared_ptr<Graph> graph_;
  Side send_;
  Side receive_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace vicinal

// A persistent neighborhood collective, with a plan of its own. Such plans are made in bytes, since the two
// ends of an edge may describe the same data by different datatypes, and since that lets the ends compare
// their counts.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "collectives/execution_request.hpp"
#include "collectives/graph.hpp"
#include "collectives/partitions.hpp"
#include "collectives/side.hpp"

namespace vicinal {

class PersistentRequest final : public ExecutionRequest {
 public:
  /// To be planned before anything else.
  explicit PersistentRequest(std::shared_ptr<Graph> graph);
  /// Collective over the ranks of the graph that have neighbours. Buffers stay the user's, and stay
  /// in place. `fault`: what the caller already knows to be wrong with the arguments. Throws on the
  /// rank at fault and on those that communicate with it.
  void plan_for(NeighborArguments arguments, Settings settings, std::optional<Error> fault);

  PersistentRequest(const PersistentRequest&) = delete;
  PersistentRequest& operator=(const PersistentRequest&) = delete;
  ~PersistentRequest() override { end(); }

  void mark_ready(int neighbor, int first, int last) override;
  bool has_arrived(int neighbor, int partition) override;

 private:
  void begin() override;
  void take() override;
  [[nodiscard]] Places places() const override { return {send_.data(), receive_.data()}; }
  void describe_missing(std::ostream& out) const override;

  std::shared_ptr<Graph> graph_;
  Side send_;
  Side receive_;
  std::shared_ptr<Partitions> partitions_;  ///< null where it has none
};

}  // namespace vicinal

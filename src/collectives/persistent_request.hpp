// A persistent neighborhood collective, with a plan of its own. The plan moves bytes, since the two
// ends of an edge may describe the same data by different datatypes. So the ends can compare their
// counts, too.
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
  /// plan_for() must be called first.
  explicit PersistentRequest(std::shared_ptr<Graph> graph);
  /// Plans the request. Collective over the ranks of the graph that have neighbours. The user owns
  /// the buffers and leaves them in place. `fault`: an error that the caller has already detected
  /// in the arguments. Throws on a rank that has failed, and on those that communicate with it.
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
  std::shared_ptr<Partitions> partitions_;  ///< null if there are none
};

}  // namespace vicinal

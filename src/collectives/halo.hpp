// The everyday interface: "I own these indices and need those". A halo finds the owners of needed
// indices, plans the exchange once, and runs it on any arrays of the right shape.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "collectives/execution_request.hpp"
#include "collectives/graph.hpp"
#include "collectives/request.hpp"
#include "collectives/starting.hpp"
#include "discovery/halo_map.hpp"
#include "execute/agreed_plan.hpp"

namespace vicinal {

/// The shape of the data of an index.
struct ValueShape {
  std::int64_t value_bytes = 8;  ///< of one value
  Index values = 1;              ///< consecutive values per index: blocks
  Index vectors = 1;             ///< vectors exchanged together, each laid out as above
  Index source_stride = 0;       ///< values from one vector to the next, in the array that is read
  Index target_stride = 0;       ///< and in the array that is written
};

class HaloRequest;

class Halo {
 public:
  struct Owned {
    /// [first, last), or a list
    std::variant<std::pair<Index, Index>, std::vector<Index>> indices;
  };

  /// Collective over `user`. `needed` lists indices in the order of the ghosts; it may repeat
  /// indices and contain own ones. `owners`, if given (by all ranks or by none), names the owner of
  /// each and saves the look-up. `fault`: an error that the caller has already detected in the
  /// arguments. Throws on every rank if any rank has failed.
  Halo(MPI_Comm user, const Owned& owned, std::span<const Index> needed,
       std::optional<std::span<const int>> owners, Settings settings,
       std::optional<Error> fault = std::nullopt);
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;
  ~Halo();

  /// Begins to bring owned values to ghosts. Local. The halo owns the request, and the caller stops
  /// using it when its wait or test has reported completion. Throws a request fault if as many
  /// exchanges of the direction are in flight as the halo was made for; it has started nothing
  /// then. Any other fault affects this exchange alone, in which this rank then participates so
  /// that other ranks can complete.
  Request& start(const void* owned, void* ghosts, const ValueShape& shape);

  /// Begins to bring ghost values back to their owners, where `combine` joins them to the owned
  /// values: first own ghosts, then those of other ranks. Their order is the same in each
  /// execution.
  Request& start_reverse(void* owned, const void* ghosts, const ValueShape& shape,
                         const Combine& combine);

  /// Returns a persistent request that brings owned values to ghosts, by a plan of its own. It may
  /// be started in any order with other exchanges, and may outlive the halo. Collective. The caller
  /// owns the arrays and leaves them in place. `fault`: as above. Throws on every rank if any rank
  /// has failed.
  [[nodiscard]] std::unique_ptr<ExecutionRequest> persistent(
      const void* owned, void* ghosts, const ValueShape& shape,
      std::optional<Error> fault = std::nullopt);
  /// As persistent(), for start_reverse(). A user's operator must exist as long as the request.
  [[nodiscard]] std::unique_ptr<ExecutionRequest> persistent_reverse(
      void* owned, const void* ghosts, const ValueShape& shape, const Combine& combine,
      std::optional<Error> fault = std::nullopt);

  /// Replaces a start whose arguments are not available, because of a fault that the caller
  /// reports.
  void start_after_failure(bool reverse);
  /// Waits until exchanges of a direction are over in which this rank participates after a failure.
  /// For blocking forms that have failed.
  void wait_idle(bool reverse);

  [[nodiscard]] const HaloMap& map() const { return map_; }
  /// The plan for both directions; while a contest runs, that of the first channel's last exchange.
  [[nodiscard]] const AgreedPlan& plan() const;
  [[nodiscard]] Graph& graph() const { return *graph_; }

 private:
  void check_buffers(const void* owned, const void* ghosts, const ValueShape& shape) const;
  void check_stride(const ValueShape& shape) const;
  HaloRequest& next_request(bool reverse);
  /// Participates in the next exchange of a direction after a failure. Called with `starting_`
  /// held.
  void participate_after_failure(bool reverse);
  template <class Bind>
  Request& launch(bool reverse, Bind bind);
  template <class Bind>
  std::unique_ptr<ExecutionRequest> make_persistent(bool reverse, std::optional<Error> fault,
                                                    Bind bind);
  [[nodiscard]] Binding bind_forward(const void* owned, void* ghosts,
                                     const ValueShape& shape) const;
  [[nodiscard]] Binding bind_reverse(void* owned, const void* ghosts, const ValueShape& shape,
                                     const Combine& combine) const;

  HaloMap map_;
  std::shared_ptr<Graph> graph_;
  std::vector<std::unique_ptr<HaloRequest>> requests_[2];
  std::size_t started_[2] = {0, 0};
  std::atomic_flag starting_;  ///< held while an exchange is started
};

}  // namespace vicinal

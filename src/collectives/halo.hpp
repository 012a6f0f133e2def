// The everyday interface: "I own these indices and need those". A halo finds out who owns what is
// needed, plans the exchange once, and runs it on any arrays of the right shape.
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
#include "execute/execution.hpp"

namespace vicinal {

/// The shape of what moves per index.
struct ValueShape {
  std::int64_t value_bytes = 8;  ///< of one value
  Index values = 1;              ///< consecutive values per index: blocks
  Index vectors = 1;             ///< vectors exchanged together, each laid out as above
  Index source_stride = 0;       ///< values from one vector to the next, in what is read
  Index target_stride = 0;       ///< and in what is written
};

class HaloRequest;

class Halo {
 public:
  struct Owned {
    std::variant<std::pair<Index, Index>, std::vector<Index>> indices;  ///< [first, last) or any
  };

  /// Collective over `user`. `needed` in the order in which the ghosts shall lie; repeated indices and
  /// own ones are allowed. `owners`, if given (by all ranks or by none), names the owner of each and
  /// saves looking it up. `fault`: what the caller already knows to be wrong with the arguments.
  /// Throws on every rank where one is at fault.
  Halo(MPI_Comm user, const Owned& owned, std::span<const Index> needed,
       std::optional<std::span<const int>> owners, Settings settings,
       std::optional<Error> fault = std::nullopt);
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;
  ~Halo();

  /// Begins to bring owned values to ghosts. Local. The request belongs to the halo and is done with
  /// when its wait or test has said so. A request fault where as many exchanges of the direction are
  /// in flight as the halo was made for: then nothing has been started. Any other fault is that of this
  /// exchange alone, in which this rank takes part for the others' sake.
  Request& start(const void* owned, void* ghosts, const ValueShape& shape);

  /// Begins to bring ghost values back to their owners, where `combine` joins them to what is there:
  /// first own ghosts, then those of other ranks in an order that is the same in each execution.
  Request& start_reverse(void* owned, const void* ghosts, const ValueShape& shape,
                         const Combine& combine);

  /// A persistent request that brings owned values to ghosts, by a plan of its own: its executions keep step with nothing else. Collective;
  /// arrays stay the caller's, and stay where they are. It may outlive the halo. Throws on every rank where one is at fault; `fault` as above.
  [[nodiscard]] std::unique_ptr<ExecutionRequest> persistent(
      const void* owned, void* ghosts, const ValueShape& shape,
      std::optional<Error> fault = std::nullopt);
  /// The same of start_reverse(). A user's operator stays as long as the request.
  [[nodiscard]] std::unique_ptr<ExecutionRequest> persistent_reverse(
      void* owned, const void* ghosts, const ValueShape& shape, const Combine& combine,
      std::optional<Error> fault = std::nullopt);

  /// In the place of a start for which the arguments cannot be had, because of a fault that the caller
  /// reports.
  void start_at_fault(bool reverse);
  /// Waits until the exchanges of a direction in which this rank takes part for the others' sake alone are
  /// over: for blocking forms that have failed.
  void wait_idle(bool reverse);

  [[nodiscard]] const HaloMap& map() const { return map_; }
  /// The plan for both directions; that of the first channel's last exchange while several are being measured.
  [[nodiscard]] const AgreedPlan& plan() const;
  [[nodiscard]] Graph& graph() const { return *graph_; }

 private:
  void check_buffers(const void* owned, const void* ghosts, const ValueShape& shape) const;
  void check_stride(const ValueShape& shape) const;
  HaloRequest& next_request(bool reverse);
  /// With `starting_` held.
  void take_part_at_fault(bool reverse);
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
  std::atomic_flag starting_;  ///< held where an exchange is started
};

}  // namespace vicinal

// A graph: which ranks communicate with each other, on a communicator. Creation is collective: all
// ranks make sure that they agree on edges and settings. The first graph on a communicator also
// sets that up (private duplicate, locality, arena).
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "choose/contest.hpp"
#include "collectives/graph_tags.hpp"
#include "collectives/settings.hpp"
#include "execute/agreed_plan.hpp"
#include "execute/planning.hpp"
#include "mpi/backoff.hpp"
#include "negotiate/neighborhood.hpp"

namespace vicinal {

class CallQueue;
class Graph;

/// End of a warning that begins with what the user has asked for.
inline constexpr std::string_view strict_goes_direct =
    "vicinal_progress is 'strict' and no progress thread runs: nonblocking and persistent "
    "exchanges go "
    "direct, one message per edge";

/// Scope for which the user has named a strategy. A strategy that was named for a single exchange
/// must serve it.
enum class Named : std::uint8_t { for_this, for_all };

/// Kinds of calls. All ranks must carry out calls of a kind alike.
enum class CallKind : std::uint8_t { alltoallv, allgatherv, alltoall, allgather };
constexpr std::size_t call_kinds = 4;

/// One side of a graph as its user sees it. Entry i of an array of counts belongs to ranks[i].
struct Ends {
  Ends() = default;
  /// Makes an edge of each entry, in the same order.
  explicit Ends(std::vector<int> all);
  Ends(std::vector<int> all, std::vector<int> order)
      : ranks(std::move(all)), entry_of(std::move(order)) {}

  std::vector<int> ranks;     ///< MPI_PROC_NULL where an entry is no edge
  std::vector<int> entry_of;  ///< by edge, in the order in which edges between two ranks pair
};

/// If a rank passes invalid arguments, or ranks differ, all ranks throw. If a rank fails alone
/// after its last control message, other ranks learn of it when they plan on the graph.
class Graph {
 public:
  ~Graph();
  /// Collective over `user`. `sources` and `destinations` may repeat ranks and contain the own
  /// rank. `fault`: an error that the caller has already detected; other ranks learn of it, then
  /// the constructor throws it.
  Graph(MPI_Comm user, Ends sources, Ends destinations, Settings settings,
        std::optional<Error> fault = std::nullopt)
      : Graph(mpi::Communicator::of(user), std::move(sources), std::move(destinations),
              std::move(settings), std::move(fault)) {}
  Graph(std::shared_ptr<mpi::Communicator> communicator, Ends sources, Ends destinations,
        Settings settings, std::optional<Error> fault = std::nullopt);
  Graph(MPI_Comm user, std::vector<int> sources, std::vector<int> destinations, Settings settings,
        std::optional<Error> fault = std::nullopt)
      : Graph(user, Ends(std::move(sources)), Ends(std::move(destinations)), std::move(settings),
              std::move(fault)) {}
  static std::shared_ptr<Graph> make(std::shared_ptr<mpi::Communicator> communicator, Ends sources,
                                     Ends destinations, Settings settings,
                                     std::optional<Error> fault) {
    return std::make_shared<Graph>(std::move(communicator), std::move(sources),
                                   std::move(destinations), std::move(settings), std::move(fault));
  }
  /// Makes a graph of the topology of `user`. Collective over `user`. Throws a topology fault if
  /// there is none.
  static std::shared_ptr<Graph> from_topology(MPI_Comm user, Settings settings,
                                              std::optional<Error> fault = std::nullopt);
  /// Makes a graph from one side of the edges: the ranks to which a rank sends or, with
  /// `are_sources`, from which it receives. A sparse exchange finds the other side, in ascending
  /// order. Collective over `user`.
  static std::shared_ptr<Graph> from_one_side(MPI_Comm user, std::vector<int> known,
                                              bool are_sources, Settings settings,
                                              std::optional<Error> fault = std::nullopt);
  /// Makes a graph with an edge from each rank to every rank, itself included, in the order of
  /// ranks. Collective over `user`.
  static std::shared_ptr<Graph> complete(MPI_Comm user, Settings settings,
                                         std::optional<Error> fault = std::nullopt) {
    return complete(mpi::Communicator::of(user), std::move(settings), std::move(fault));
  }
  static std::shared_ptr<Graph> complete(std::shared_ptr<mpi::Communicator> communicator,
                                         Settings settings, std::optional<Error> fault);

  /// Plans a pattern whose edges are this graph's, in its order, for `channels` executions in
  /// flight. Collective over the ranks that have neighbours, and waits for them. `fault`: an error
  /// that this rank has already detected; other ranks learn of it. Throws on a rank that has
  /// failed, and on every rank that communicates with it.
  std::shared_ptr<AgreedPlan> plan(const Pattern& pattern, const Planner& planner,
                                   const PlanOptions& options, std::optional<Error> fault,
                                   int channels = 1);

  /// Returns the task of such a plan, to be begun in the background, with a key of its own.
  PlanningTask task(const Pattern& pattern, const Planner& planner, const PlanOptions& options,
                    std::optional<Error> fault, int channels);
  /// Returns a key for a conversation of the ranks of a component. All of them call it at the same
  /// point.
  mpi::ConversationKey next_key() { return {id_, ++plans_}; }
  /// Returns the planner that the settings name: by vicinal_allgather if the one block of every
  /// rank goes to all ranks, else by vicinal_strategy. If that planner was named for more than this
  /// exchange, and cannot serve it, returns `automatic`, tells the options, and warns the user.
  [[nodiscard]] const Planner& planner(const Settings& settings, PlanOptions& options,
                                       Named named = Named::for_all) const;

  /// Plans an exchange for which the caller does not wait at once. Uses `direct` if the exchange
  /// may not depend on progress of other ranks. For `automatic`, the settings tell how to choose
  /// (choose.hpp).
  Chosen plan_persistent(const Pattern& pattern, const Settings& settings, PlanOptions options,
                         std::optional<Error> fault, Named named, int channels = 1);

  /// Warns that the planner that the user has named is not used. `what` ends the sentence, and
  /// tells why. Prints nothing if the user has named none, or if another rank of the component
  /// prints it.
  void warn_of_strategy(const Settings& settings, bool one_block, std::string_view what) const;

  /// Replaces plan() on a rank that does not even know the planner: tells the other ranks, then
  /// throws the fault.
  [[noreturn]] void refuse_plan(const Error& fault);

  /// Returns the queue of the blocking and nonblocking calls of a kind.
  CallQueue& calls(CallKind kind);

  /// Plan that calls of a kind use now; null if there is none.
  [[nodiscard]] std::shared_ptr<AgreedPlan> plan_in_use(CallKind kind);

  /// Returns whether exchanges for which the caller does not wait at once may depend on progress of
  /// other ranks.
  [[nodiscard]] bool may_relay(const Settings& settings) const;

  [[nodiscard]] const Ends& sources() const { return sources_; }
  [[nodiscard]] const Ends& destinations() const { return destinations_; }
  [[nodiscard]] const Neighborhood& neighborhood() const { return neighborhood_; }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const std::shared_ptr<mpi::Communicator>& shared_communicator() const {
    return communicator_;
  }
  /// Number of this graph: identical on all ranks, and no other graph has it.
  [[nodiscard]] std::int64_t number() const { return id_; }
  [[nodiscard]] const std::shared_ptr<const GraphTags>& tags() const { return tags_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] bool is_complete() const { return complete_; }
  /// Communicator whose error handler receives faults.
  [[nodiscard]] MPI_Comm error_communicator() const { return communicator_->error_communicator(); }

  /// Returns a graph with number `number` (next_graph_number), the same edges and settings, and
  /// calls of its own. Sends no message, so the ranks have to agree that each has its clone. Throws
  /// a memory fault if no memory or no tags are left.
  [[nodiscard]] std::shared_ptr<Graph> clone(std::int64_t number) const;

  /// Has nothing planned before calls repeat, for a program that does not know of plans. Call it
  /// before the first call, on all ranks.
  void wait_for_repetition() { waits_for_repetition_ = true; }
  [[nodiscard]] bool waits_for_repetition() const { return waits_for_repetition_; }

 private:
  /// Makes a clone.
  Graph(const Graph& original, std::int64_t number);
  /// Exchanges the control messages of the creation.
  void negotiate(std::optional<Error> fault);
  /// Warns that a setting of the user does not have the intended effect.
  void warn_of(const Settings& settings, std::string_view key, std::string_view value,
               std::string_view what) const;
  /// Warns if ranks do without the shared memory that the user has asked for.
  void warn_of_shared_memory(const Settings& settings) const;
  /// Begins the conversation that has the next key. If that throws, notifies the ranks that depend
  /// on this one.
  template <class Begin>
  auto begin_or_tell(Begin begin);

  Settings settings_;
  bool complete_ = false;
  bool waits_for_repetition_ = false;
  Ends sources_;
  Ends destinations_;
  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t id_ = 0;
  std::int64_t plans_ = 0;
  Neighborhood neighborhood_;
  std::shared_ptr<const GraphTags> tags_;
  Mutex mutex_;
  std::array<std::unique_ptr<CallQueue>, call_kinds> made_ VICINAL_GUARDED_BY(mutex_);
  /// queues in `made_`, readable without the lock
  std::array<std::atomic<CallQueue*>, call_kinds> calls_{};
};

}  // namespace vicinal

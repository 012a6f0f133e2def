// A graph: who talks to whom on a communicator. Creating one is collective: all ranks make sure that
// they agree on its edges and on the settings. Creating the first one on a communicator also sets that
// up (private duplicate, locality, arena).
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
#include "planners/neighborhood.hpp"

namespace vicinal {

class CallQueue;
class Graph;

/// A warning that goes on after what was asked for.
inline constexpr std::string_view strict_goes_direct =
    "vicinal_progress is 'strict' and no progress thread runs: nonblocking and persistent "
    "exchanges go "
    "direct, one message per edge";

/// For what a person has named a strategy: one that was named for a single exchange must serve that.
enum class Named : std::uint8_t { for_this, for_all };

/// What kind of call it is, as far as ranks must agree on how it goes.
enum class CallKind : std::uint8_t { alltoallv, allgatherv, alltoall, allgather };
constexpr std::size_t call_kinds = 4;

/// One side of a graph as its user sees it. Entry i of an array of counts belongs to ranks[i].
struct Ends {
  Ends() = default;
  /// An edge for each entry, in the same order.
  explicit Ends(std::vector<int> all);
  Ends(std::vector<int> all, std::vector<int> order)
      : ranks(std::move(all)), entry_of(std::move(order)) {}

  std::vector<int> ranks;     ///< MPI_PROC_NULL where an entry is no edge
  std::vector<int> entry_of;  ///< by edge, in the order in which edges between two ranks pair
};

/// What the ranks that make a graph agree on besides. `prepare` is called where this rank has its own; what that throws is
/// a fault in making the graph. Then each number of `least` becomes the least that any rank has there.
struct Besides {
  std::function<void(const std::shared_ptr<Graph>& graph)> prepare;
  std::span<std::int64_t> least;
};

/// If a rank gives something wrong, or ranks differ, all throw. If a rank fails alone behind its last letter, for want of memory
/// say, the others hear of it when they plan on the graph; where more than the graph is made (Besides), at once.
class Graph {
 public:
  ~Graph();
  /// Collective over `user`. `sources` and `destinations` may repeat ranks and name the own rank.
  /// `fault`: what the caller already knows to be wrong; it is told to the others, then thrown.
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
  /// The same where a rank may have no memory for the graph itself: the others hear of that as well.
  struct Unmade;  ///< says that create() is still to come
  Graph(const Unmade& unmade, std::shared_ptr<mpi::Communicator> communicator, Ends sources,
        Ends destinations, Settings settings);
  static std::shared_ptr<Graph> make(std::shared_ptr<mpi::Communicator> communicator, Ends sources,
                                     Ends destinations, Settings settings,
                                     std::optional<Error> fault, const Besides& besides = {});
  /// The edges of the topology that `user` has. Collective over `user`. A topology fault where it
  /// has none.
  static std::shared_ptr<Graph> from_topology(MPI_Comm user, Settings settings,
                                              std::optional<Error> fault = std::nullopt);
  /// From what each rank knows of one side only: the ranks it sends to, or with `are_sources` those it
  /// receives from. The others are told by a sparse exchange, and found in ascending order.
  /// Collective over `user`.
  static std::shared_ptr<Graph> from_one_side(MPI_Comm user, std::vector<int> known,
                                              bool are_sources, Settings settings,
                                              std::optional<Error> fault = std::nullopt);
  /// An edge between any two ranks, and from each to itself, in the order of ranks. Collective over
  /// `user`.
  static std::shared_ptr<Graph> complete(MPI_Comm user, Settings settings,
                                         std::optional<Error> fault = std::nullopt) {
    return complete(mpi::Communicator::of(user), std::move(settings), std::move(fault));
  }
  static std::shared_ptr<Graph> complete(std::shared_ptr<mpi::Communicator> communicator,
                                         Settings settings, std::optional<Error> fault,
                                         const Besides& besides = {});

  /// Plans a pattern whose edges are this graph's, in its order, for executions in so many channels.
  /// Collective over the ranks that have neighbours, and waits for them. `fault`: what this rank already
  /// knows to be wrong; it is told to the others, then thrown. Throws on every rank that communicates
  /// with one at fault.
  std::shared_ptr<AgreedPlan> plan(const Pattern& pattern, const Planner& planner,
                                   const PlanOptions& options, std::optional<Error> fault,
                                   int channels = 1);

  /// What such a plan takes, to be begun in the background; with a key of its own.
  PlanningTask task(const Pattern& pattern, const Planner& planner, const PlanOptions& options,
                    std::optional<Error> fault, int channels);
  /// For a conversation of the ranks of a component; all ask for it at the same point.
  mpi::ConversationKey next_key() { return {id_, ++plans_}; }
  /// Begins something on which others count, with keys as next_key() has them: again, with the same ones, until there is memory
  /// for it.
  template <class Begin>
  void begin_with_memory(Begin begin) {
    mpi::with_memory([&] {
      const std::int64_t before = plans_;
      try {
        begin();
      } catch (const std::bad_alloc&) {
        plans_ = before;
        throw;
      }
    });
  }

  /// The planner for what the options ask for: the one that settings name, vicinal_allgather where every rank's
  /// one block goes to all ranks, else vicinal_strategy. Where that one was named for more than this, and cannot
  /// serve it, `automatic`: then the options are told of it, and a person is warned.
  [[nodiscard]] const Planner& planner(const Settings& settings, PlanOptions& options,
                                       Named named = Named::for_all) const;

  /// Plans what is not waited for at once, by the planner for it: direct where that may not depend on others'
  /// progress, and where it is left to `automatic` by what the settings choose.
  Chosen plan_persistent(const Pattern& pattern, const Settings& settings, PlanOptions options,
                         std::optional<Error> fault, Named named, int channels = 1);

  /// Warns that the planner that a person has asked for does not serve `what`, and why. Says nothing where
  /// nobody has asked for one, or another rank of the component says it.
  void warn_of_strategy(const Settings& settings, bool one_block, std::string_view what) const;

  /// In the place of a plan for which this rank does not even know the planner: tells the others, then
  /// throws the fault.
  [[noreturn]] void refuse_plan(const Error& fault);

  /// The blocking and nonblocking calls of a kind.
  CallQueue& calls(CallKind kind);

  /// By which calls of a kind go now; null where there is none.
  [[nodiscard]] std::shared_ptr<AgreedPlan> plan_in_use(CallKind kind);

  /// Whether what is not waited for at once may depend on other ranks' progress.
  [[nodiscard]] bool may_relay(const Settings& settings) const;

  [[nodiscard]] const Ends& sources() const { return sources_; }
  [[nodiscard]] const Ends& destinations() const { return destinations_; }
  [[nodiscard]] const Neighborhood& neighborhood() const { return neighborhood_; }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const std::shared_ptr<mpi::Communicator>& shared_communicator() const {
    return communicator_;
  }
  /// The same on all ranks, and no other graph's.
  [[nodiscard]] std::int64_t number() const { return id_; }
  [[nodiscard]] const std::shared_ptr<const GraphTags>& tags() const { return tags_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] bool is_complete() const { return complete_; }
  /// Whose error handler hears of faults.
  [[nodiscard]] MPI_Comm error_communicator() const { return communicator_->error_communicator(); }

  /// A graph of that number (next_graph_number) with the same edges and settings and calls of its own, made without a word
  /// to other ranks. They have to agree that each has one: a memory fault where this one has no memory or tags left.
  [[nodiscard]] std::shared_ptr<Graph> make_twin(std::int64_t number) const;

  /// Nothing is planned before the program is seen to call again and again, for a program that knows nothing of plans.
  /// Before the first call; on all ranks.
  void wait_for_repetition() { waits_for_repetition_ = true; }
  [[nodiscard]] bool waits_for_repetition() const { return waits_for_repetition_; }

 private:
  /// The twin.
  Graph(const Graph& original, std::int64_t number);
  /// Makes what is nobody's yet. `self`: who is to have it.
  void create(std::optional<Error> fault, const std::shared_ptr<Graph>& self,
              const Besides& besides);
  /// The letters of it.
  void negotiate(std::optional<Error> fault);
  /// Warns that what a person has said for a key does not have the effect that was wanted.
  void warn_of(const Settings& settings, std::string_view key, std::string_view value,
               std::string_view what) const;
  /// Warns where ranks do without the shared memory that a person has asked for.
  void warn_of_shared_memory(const Settings& settings) const;
  /// Begins what the next key is for, of which the others hear where it could not be begun.
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
  std::array<std::atomic<CallQueue*>, call_kinds> calls_{};  ///< what has been made
};

}  // namespace vicinal

// The allgathers of a communicator, for a program that does not know of plans. Allgathers whose
// block sizes repeat get a plan for just these sizes, if that is expected to pay. MPI carries out
// all others.
//
// Ranks exchange nothing to find out which calls use a plan. The choice follows from the block
// sizes, and from the order and form of the calls. Each rank knows the sizes, and MPI requires
// order and form to be equal on all ranks. Only blocking calls make plans, since they may wait for
// other ranks. So every rank knows, when a call enters, whether there is a plan. Calls must not
// come from several threads at once.
//
// If all calls before a plan is made are blocking, plans and MPI's own allgather compete
// (contest.hpp). Nonblocking calls must not wait for a decision, so MPI carries them out from then
// on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "collectives/call_queue.hpp"
#include "collectives/gather_price.hpp"
#include "collectives/graph.hpp"

namespace vicinal {

class SizedQueue;

/// Bytes of each rank's block; one number if all are equal.
using BlockSizes = std::vector<std::int64_t>;

class GatherLoops {
 public:
  /// Number of block sizes that are remembered. The least recently used are forgotten first, with
  /// their plan.
  static constexpr std::size_t most_kept = 16;

  /// `graph`: a complete graph, used for these calls alone.
  explicit GatherLoops(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}
  GatherLoops(const GatherLoops&) = delete;
  GatherLoops& operator=(const GatherLoops&) = delete;
  ~GatherLoops() = default;

  /// The method by which a call is carried out.
  struct Path {
    std::shared_ptr<CallQueue> queue = nullptr;  ///< null if MPI carries out the call
    std::shared_ptr<Contest> contest = nullptr;  ///< null if the call is not timed
    std::int64_t number = 0;                     ///< number of the call in that contest
  };
  /// Enters a call. Collective if the form is blocking.
  [[nodiscard]] Path enter(const BlockSizes& sizes, Form form);
  /// Returns whether a plan is expected to be better than MPI for an exchange that gets one of its
  /// own.
  [[nodiscard]] bool pays(const BlockSizes& sizes) const;

  [[nodiscard]] const std::shared_ptr<Graph>& graph() const { return graph_; }

  /// A plan in use, for reports.
  struct PlanInUse {
    std::string what;
    std::shared_ptr<AgreedPlan> plan;
    GatherPrice price;
    std::string measured;  ///< outcome of the contest, or ""
  };
  [[nodiscard]] std::vector<PlanInUse> plans();

 private:
  enum class Stage : std::uint8_t { counted, due, planned, left };
  struct Loop {
    BlockSizes sizes;
    std::int64_t calls = 0;
    bool some_nonblocking = false;  ///< whether some of the calls were nonblocking
    bool is_contested = false;      ///< whether MPI's own allgather competes, or did
    Stage stage = Stage::counted;
    GatherPrice price;
    std::shared_ptr<SizedQueue> queue;  ///< null if there is no plan
    std::string measured;
  };

  Loop& find(const BlockSizes& sizes, std::list<Loop>& forgotten) VICINAL_REQUIRES(mutex_);
  void plan(Loop& loop) const;
  [[nodiscard]] Path path_of_next(Loop& loop) const;
  [[nodiscard]] std::vector<std::int64_t> by_rank(const BlockSizes& sizes) const;
  [[nodiscard]] GatherPrice price_of(const BlockSizes& sizes) const;
  [[nodiscard]] bool pays(const GatherPrice& price) const;

  std::shared_ptr<Graph> graph_;
  Mutex mutex_;
  std::list<Loop> loops_ VICINAL_GUARDED_BY(mutex_);  ///< most recently used first
};

}  // namespace vicinal

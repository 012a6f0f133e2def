// The allgathers of a communicator, for a program that knows nothing of plans: where blocks of the same sizes come again
// and again they get a plan for just these sizes, if that is expected to pay; all others are left to MPI.
//
// Nobody is asked what goes by a plan. It follows from the sizes of the blocks, all of which each rank knows, and from the
// order and the form of the calls, in which MPI has all ranks agree. Plans are made in blocking calls alone, which may
// wait for the other ranks: so all know, when a call enters, whether there is one. Not for several threads at once.
//
// Where all calls have been blocking until the plan is made, plans and MPI's own compete (contest.hpp); nonblocking ones, which must
// not wait for a verdict, are left to MPI from then on.
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
#include "collectives/neighbor_call.hpp"

namespace vicinal {

class SizedQueue;

/// Bytes of each rank's block; a single number where all have as many.
using BlockSizes = std::vector<std::int64_t>;

class GatherLoops {
 public:
  /// Sizes that are kept in mind; the ones not seen for longest are forgotten, with their plan.
  static constexpr std::size_t most_kept = 16;

  /// `graph`: a complete one, for these calls alone.
  explicit GatherLoops(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}
  GatherLoops(const GatherLoops&) = delete;
  GatherLoops& operator=(const GatherLoops&) = delete;
  ~GatherLoops() = default;

  /// By what a call goes.
  struct Way {
    std::shared_ptr<CallQueue> queue = nullptr;  ///< null where MPI is to carry it out
    std::shared_ptr<Contest> contest = nullptr;  ///< null where nobody compares what it takes
    std::int64_t number = 0;                     ///< in that contest
  };
  /// A call enters. Collective where the form is blocking.
  [[nodiscard]] Way enter(const BlockSizes& sizes, Form form);
  /// Whether an exchange that is planned for itself is better left to MPI.
  [[nodiscard]] bool pays(const BlockSizes& sizes) const;

  [[nodiscard]] const std::shared_ptr<Graph>& graph() const { return graph_; }

  /// What there are plans for.
  struct PlanInUse {
    std::string what;
    std::shared_ptr<AgreedPlan> plan;
    GatherPrice price;
    std::string measured;  ///< what was; "" where nothing was
  };
  [[nodiscard]] std::vector<PlanInUse> plans();

 private:
  enum class Stage : std::uint8_t { counted, due, planned, left };
  struct Loop {
    BlockSizes sizes;
    std::int64_t calls = 0;
    bool some_nonblocking = false;  ///< of them
    bool is_contested = false;      ///< MPI's own takes part, or did
    Stage stage = Stage::counted;
    GatherPrice price;
    std::shared_ptr<SizedQueue> queue;  ///< where it is planned
    std::string measured;
  };

  Loop& find(const BlockSizes& sizes, std::list<Loop>& forgotten) VICINAL_REQUIRES(mutex_);
  void plan(Loop& loop) const;
  [[nodiscard]] Way way_of_next(Loop& loop) const;
  [[nodiscard]] std::vector<std::int64_t> by_rank(const BlockSizes& sizes) const;
  [[nodiscard]] GatherPrice price_of(const BlockSizes& sizes) const;
  [[nodiscard]] bool pays(const GatherPrice& price) const;

  std::shared_ptr<Graph> graph_;
  Mutex mutex_;
  std::list<Loop> loops_ VICINAL_GUARDED_BY(mutex_);  ///< the one seen last is the first
};

}  // namespace vicinal

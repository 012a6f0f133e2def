// The calls of one kind on a graph, blocking and nonblocking, in order.
//
// A call takes its number when it enters, whatever its arguments are, and everything on
// which ranks must agree follows from kind, number and form (blocking or not) alone: whether it goes
// straight, with which tag, or by the plan, and in which of its channels. So a rank whose arguments are
// wrong knows all the same how to take part for the others' sake, and no fault puts ranks out of step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.hpp"
#include "collectives/call.hpp"
#include "collectives/counted_call.hpp"
#include "collectives/direct_call.hpp"
#include "collectives/edge_data.hpp"
#include "collectives/planned_call.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

class CallQueue {
 public:
  static std::unique_ptr<CallQueue> of(CallKind kind, const Graph& graph);
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  virtual ~CallQueue() = default;

  struct Entered {
    std::shared_ptr<Call> call;
    std::exception_ptr
        refused;  ///< what is wrong with the arguments, if anything is: then the call is one
                  ///< in which this rank takes part for the others' sake
  };

  /// A call enters, with the settings of the graph. Waits for nobody but a GPU: what cannot be done yet is done later.
  /// `fault` is what the caller knows already to be wrong.
  Entered enter(Graph& graph, NeighborArguments&& arguments, std::optional<Error> fault,
                bool blocking);

  /// By which calls go now; null where there is none, or none is ready.
  [[nodiscard]] std::shared_ptr<AgreedPlan> plan_in_use();

 protected:
  /// A call as it enters.
  struct Entry {
    std::int64_t number;
    bool blocking;
    /// By which of so many channels it goes. No two blocking calls are under way at once. They keep to two channels, whose memory is
    /// in the caches; with one, a call would wait until all have read what the last has handed over.
    [[nodiscard]] std::size_t channel(std::size_t channels) const {
      const std::size_t used = blocking ? std::min<std::size_t>(2, channels) : channels;
      return static_cast<std::size_t>(number) % used;
    }
  };

  CallQueue(CallKind kind, const Graph& graph);
  /// Looks for what is wrong with arguments of this kind.
  virtual void check_kind(const NeighborArguments&) const {}
  /// What is begun once for many calls, whatever the call's arguments are. Again where there was no memory for it.
  virtual void prepare(Graph& graph, Entry entry) = 0;
  /// The call that enters, from now on the last of its turn; without arguments that of a rank at fault. May throw where
  /// there are arguments; then there is none.
  virtual std::shared_ptr<Call> make(const Graph& graph, Entry entry,
                                     NeighborArguments* arguments) = 0;

  [[nodiscard]] virtual std::shared_ptr<AgreedPlan> ready_plan() = 0;

  /// Whether a call may depend on what other ranks do for it.
  [[nodiscard]] static bool may_relay(const Graph& graph, Entry entry);
  /// Warns that there is no plan for it, where a person has asked for one.
  void warn_of_strict(const Graph& graph);

  [[nodiscard]] std::shared_ptr<Call> direct_call(std::int64_t number,
                                                  NeighborArguments* arguments);
  [[nodiscard]] std::shared_ptr<Call> planned_call(const std::shared_ptr<PlanTurn>& turn,
                                                   std::int64_t number,
                                                   std::optional<Blocks>&& blocks);
  [[nodiscard]] int straight_tag(std::int64_t number) const;
  /// The last one that may receive with that tag; null where none does.
  [[nodiscard]] std::shared_ptr<const Call> holder_of_tag(std::int64_t number) const;
  void keep_tag(std::int64_t number, const std::shared_ptr<Call>& call);

  const CallKind kind_;
  const std::shared_ptr<const DirectRoute> route_;
  const std::int64_t plan_after_;  ///< the number of the first call that may wait for a plan
  /// How many calls before one that goes by something new that is begun.
  [[nodiscard]] static std::int64_t lead(std::int64_t number) {
    return std::min<std::int64_t>(4, number / 2);
  }

 private:
  /// Unless it is refused already, with these arguments.
  void take_turn(Graph& graph, bool blocking, NeighborArguments& arguments, Entered& entered);

  Mutex mutex_;  ///< also of what derived ones have
  std::int64_t entered_ VICINAL_GUARDED_BY(mutex_) = 0;
  bool warned_ = false;
  std::array<std::weak_ptr<const Call>, GraphTags::turns> direct_;  ///< the last of each turn
};

/// Calls of blocks of one size (alltoall, allgather). They go by a plan for blocks of any size, negotiated in the background: begun by
/// the first call, and used by blocking ones at once; nonblocking ones post one message per edge until call `plan_after_`,
/// later ones wait in a queue where the plan, or its channel, is not ready yet. Where the graph waits for repetition, it is
/// begun `lead()` calls before that number, and blocking calls do as nonblocking ones.
class BlockQueue final : public CallQueue {
 public:
  BlockQueue(CallKind kind, const Graph& graph) : CallQueue(kind, graph) {}

 private:
  void check_kind(const NeighborArguments& arguments) const override;
  void prepare(Graph& graph, Entry entry) override;
  std::shared_ptr<Call> make(const Graph& graph, Entry entry,
                             NeighborArguments* arguments) override;
  [[nodiscard]] bool goes_by_plan(const Graph& graph, Entry entry) const;
  std::shared_ptr<AgreedPlan> ready_plan() override;
  [[nodiscard]] std::shared_ptr<PlanTurn>& turn_of(Entry entry) {
    return planned_[entry.channel(planned_.size())];
  }

  std::vector<std::shared_ptr<PlanTurn>> planned_;
};

/// Calls with counts (alltoallv, alltoallw, allgatherv). They post one message per edge at once, until one has entered that
/// waits for a plan: `lead()` calls before the number for which it is known to all that a review (review.hpp) takes effect, that
/// begins.
class CountQueue final : public CallQueue {
 public:
  CountQueue(CallKind kind, const Graph& graph)
      : CallQueue(kind, graph), next_effective_(plan_after_) {}

 private:
  static constexpr std::int64_t longest_period = 1024;

  /// What holds from a call on.
  struct Era {
    std::int64_t first;
    std::shared_ptr<Review> review;
  };

  void prepare(Graph& graph, Entry entry) override;
  std::shared_ptr<Call> make(const Graph& graph, Entry entry,
                             NeighborArguments* arguments) override;
  [[nodiscard]] bool goes_by_review(const Graph& graph, Entry entry) const;
  std::shared_ptr<AgreedPlan> ready_plan() override;
  void begin_review(Graph& graph);

  int channels_ = 1;
  std::int64_t next_effective_;
  std::deque<Era> eras_;
  SizeRecord sizes_;
  std::array<std::weak_ptr<const Call>, most_in_flight> by_channel_;  ///< the last of each
};

}  // namespace vicinal

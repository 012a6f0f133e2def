// The calls of one kind on a graph, blocking and nonblocking, in order.
//
// A call takes its number when it enters, even if its arguments are invalid. Ranks must agree on
// its tag, and on its plan and channel, if it uses a plan. Kind, number and form (blocking or not)
// alone decide these. So a rank with invalid arguments can still participate, and no fault puts
// ranks out of step.
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
#include "collectives/edge_call.hpp"
#include "collectives/edge_data.hpp"
#include "collectives/planned_call.hpp"
#include "collectives/request.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Forms of a call: in the blocking form, the caller waits for its end. The form is the same on all
/// ranks.
enum class Form : std::uint8_t { blocking, nonblocking };

/// A call in a queue. `call` is null on a rank that does not participate.
struct EnteredCall {
  std::shared_ptr<Call> call;
  /// error in the arguments, or null; with an error, `call` only participates so that other ranks
  /// can complete
  std::exception_ptr refused = nullptr;

  /// Returns the single-use request of a nonblocking call. Throws the fault of a refused call.
  [[nodiscard]] std::unique_ptr<Request> request(const std::shared_ptr<Graph>& graph) const;
  /// Waits for a blocking call. Throws the fault of a refused call, once other ranks no longer need
  /// this rank.
  void finish() const;
};

/// Begins a neighborhood collective, with the settings of the graph. Waits for a GPU only: work
/// that is not possible yet is done later. `fault`: an error that the caller has already detected
/// in the arguments; `equal_blocks` and `one_block` must be right all the same. A fault affects
/// this call alone: ranks whose data depend on this rank's learn of it, and later calls work.
EnteredCall enter_call(Graph& graph, NeighborArguments&& arguments, std::optional<Error> fault,
                       Form form);

class CallQueue {
 public:
  static std::unique_ptr<CallQueue> of(CallKind kind, const Graph& graph);
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  virtual ~CallQueue() = default;

  /// As enter_call(), for arguments of this kind.
  EnteredCall enter(Graph& graph, NeighborArguments&& arguments, std::optional<Error> fault,
                    Form form);

  /// Plan that calls use now; null if there is none, or none is ready.
  [[nodiscard]] std::shared_ptr<AgreedPlan> plan_in_use();

 protected:
  /// A call that enters.
  struct Entry {
    std::int64_t number;
    bool blocking;
    /// Returns the channel of the call, out of `channels`. No two blocking calls are in progress at
    /// once. They alternate between two channels, whose memory is in the caches. With one, a call
    /// would wait until all ranks have read the data of the last.
    [[nodiscard]] std::size_t channel(std::size_t channels) const {
      const std::size_t used = blocking ? std::min<std::size_t>(2, channels) : channels;
      return static_cast<std::size_t>(number) % used;
    }
  };

  CallQueue(CallKind kind, const Graph& graph);
  /// Throws if arguments are invalid for this kind.
  virtual void check_kind(const NeighborArguments&) const {}
  /// Begins work that serves many calls, whatever the arguments of this one.
  virtual void prepare(Graph& graph, Entry entry) = 0;
  /// Makes the call that enters, which is then the last one of its channel or tag. Without
  /// arguments, it is the call of a rank that has failed. May throw if there are arguments, and has
  /// then made no call.
  virtual std::shared_ptr<Call> make(const Graph& graph, Entry entry,
                                     NeighborArguments* arguments) = 0;

  [[nodiscard]] virtual std::shared_ptr<AgreedPlan> ready_plan() = 0;

  /// Returns whether a call may depend on progress of other ranks.
  [[nodiscard]] static bool may_relay(const Graph& graph, Entry entry);
  /// Warns that the call has no plan, if the user has asked for one.
  void warn_of_strict(const Graph& graph);

  [[nodiscard]] std::shared_ptr<Call> direct_call(std::int64_t number,
                                                  NeighborArguments* arguments);
  [[nodiscard]] std::shared_ptr<Call> planned_call(const std::shared_ptr<PlanChannel>& channel,
                                                   std::int64_t number,
                                                   std::optional<Blocks>&& blocks);
  [[nodiscard]] int direct_tag(std::int64_t number) const;
  /// Returns the last call that may still receive with this call's direct tag, or null.
  [[nodiscard]] std::shared_ptr<const Call> holder_of_tag(std::int64_t number) const;
  void keep_tag(std::int64_t number, const std::shared_ptr<Call>& call);

  const CallKind kind_;
  const std::shared_ptr<const EdgeRoute> route_;
  const std::int64_t plan_after_;  ///< number of the first call that may wait for a plan
  /// Returns how many calls before call `number` work begins that takes effect with it.
  [[nodiscard]] static std::int64_t lead(std::int64_t number) {
    return std::min<std::int64_t>(4, number / 2);
  }

 private:
  Mutex mutex_;  ///< also guards members of derived classes
  std::int64_t entered_ VICINAL_GUARDED_BY(mutex_) = 0;
  bool warned_ = false;
  /// last call with each direct tag
  std::array<std::weak_ptr<const Call>, GraphTags::tags_per_kind> direct_;
};

/// Calls of blocks of one size (alltoall, allgather). They use a plan for blocks of any size. The
/// first call begins to negotiate it in the background. Blocking calls use it at once. Nonblocking
/// calls post one message per edge until call `plan_after_`; later ones queue until the plan and
/// its channel are ready. If the graph waits for repetition, planning begins `lead()` calls before
/// call `plan_after_`, and blocking calls behave as nonblocking ones.
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
  [[nodiscard]] std::shared_ptr<PlanChannel>& channel_of(Entry entry) {
    return planned_[entry.channel(planned_.size())];
  }

  std::vector<std::shared_ptr<PlanChannel>> planned_;
};

/// Calls with counts (alltoallv, alltoallw, allgatherv). They post one message per edge at once,
/// until a replan (replan.hpp) takes effect. It begins `lead()` calls earlier, and all ranks know
/// the number of the call from which it holds.
class CountQueue final : public CallQueue {
 public:
  CountQueue(CallKind kind, const Graph& graph)
      : CallQueue(kind, graph), next_effective_(plan_after_) {}

 private:
  static constexpr std::int64_t longest_period = 1024;

  /// The replan that holds from call `first` on.
  struct Era {
    std::int64_t first;
    std::shared_ptr<Replan> replan;
  };

  void prepare(Graph& graph, Entry entry) override;
  std::shared_ptr<Call> make(const Graph& graph, Entry entry,
                             NeighborArguments* arguments) override;
  [[nodiscard]] bool goes_by_replan(const Graph& graph, Entry entry) const;
  std::shared_ptr<AgreedPlan> ready_plan() override;
  void begin_replan(Graph& graph);

  int channels_ = 1;
  std::int64_t next_effective_;
  std::deque<Era> eras_;
  SizeRecord sizes_;
  std::array<std::weak_ptr<const Call>, most_in_flight> by_channel_;  ///< last call of each channel
};

}  // namespace vicinal

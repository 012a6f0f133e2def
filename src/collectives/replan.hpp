// Decides whether calls with counts of a graph use a plan, and which. The ranks of a component
// decide together in the background. The decision holds from a call on whose number all know
// beforehand.
//
// Counts may change on one edge without other ranks knowing it. So a plan for such calls reserves a
// number of bytes, the capacity, for each edge. It is the largest recent size, and a little more
// where sizes changed. A piece that exceeds it becomes an overflow message (edge_call.hpp).
//
// A replan adds up over the ranks how often pieces exceeded their capacity, and how much of the
// room was needed. All ranks derive the same ruling from the sums. To plan anew, senders tell
// receivers the new capacities, and all ranks plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "choose/joining.hpp"
#include "collectives/capacity_plan.hpp"
#include "collectives/edge_data.hpp"
#include "execute/planning.hpp"

namespace vicinal {

/// Records the sizes of the data on a rank's edges since the last replan. Not thread-safe.
class SizeRecord {
 public:
  /// Records a call. `capacities`: of the plan that it uses; null if it is sent directly, or if
  /// that is not known yet.
  void note(const EdgeData& sent, const std::vector<std::int64_t>* capacities);

  /// The figures that a replan adds up.
  struct Figures {
    std::int64_t pieces = 0;  ///< number of pieces of all calls
    /// pieces beyond their capacity; without a plan, pieces larger than any before
    std::int64_t too_large = 0;
    std::int64_t needed = 0;   ///< sum of the largest pieces of all edges, in bytes
    std::int64_t room = 0;     ///< sum of the capacities, in bytes
    std::int64_t gaining = 0;  ///< ranks for which a plan may do more than messages
  };
  [[nodiscard]] Figures figures() const { return figures_; }
  /// Returns the capacities for the next plan, by piece: the largest size, and a quarter more where
  /// sizes changed.
  [[nodiscard]] std::vector<std::int64_t> capacities(std::size_t pieces) const;
  /// Size of the largest piece in bytes.
  [[nodiscard]] std::int64_t largest() const;
  /// Forgets the record; later calls count for the next replan.
  void forget();

 private:
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<Range> ranges_;  ///< by piece; empty before the first call
  Figures figures_;
};

enum class Ruling : std::uint8_t { keep, plan, straight };

/// The method of calls so far. From this, and from the figures of all ranks, ruling_on() derives
/// the ruling.
enum class CallMethod : std::uint8_t {
  unknown,
  straight,
  measured_straight,
  planned,
  planned_anew
};
Ruling ruling_on(const SizeRecord::Figures& all, CallMethod so_far);

class Replan final : public Activity {
 public:
  struct Task {
    PlanningTask planning;     ///< its pattern is made once the capacities are known
    mpi::ConversationKey key;  ///< used for nothing else
    std::int64_t first = 0;    ///< number of the first call for which it holds
    bool may_contest = false;  ///< whether all calls from then on may use a plan
    bool one_block = false;
    SizeRecord sizes;
    std::shared_ptr<Replan> before;  ///< the replan before; null for the first
  };

  /// Begins a replan. Never waits.
  static std::shared_ptr<Replan> begin(Task task);
  explicit Replan(Task task);
  Replan(const Replan&) = delete;
  Replan& operator=(const Replan&) = delete;
  ~Replan() override { leave_dump(); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;
  /// Returns whether the replan is over; progresses it. From then on, the next three functions need
  /// no lock.
  bool test();
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// Plan that calls use from then on; null if they are sent directly. Throws the fault that kept
  /// ranks from a decision.
  [[nodiscard]] const std::shared_ptr<CapacityPlan>& plan() const;
  /// Returns whether the decision is to send calls directly.
  [[nodiscard]] bool has_no_plan() const { return !fault_ && !plan_; }
  /// Frees plans that are no longer used, once the replan is over. Called without a lock, since it
  /// may progress other activities, and by one thread at a time.
  void let_go() { discarded_ = {}; }
  /// Writes whom it waits for, as the end of a sentence.
  void name_awaited(std::ostream& out);

 private:
  enum class Stage : std::uint8_t { waiting, adding_up, planning, weighing };

  bool advance_stage();
  vicinal::Task<Done> add_up();
  vicinal::Task<Done> weigh();
  void decide();
  void begin_planning();
  void end_planning();
  void end_weighing();
  void do_without(const Error& fault);
  void go_straight();
  void discard_plan() noexcept;
  [[nodiscard]] std::size_t out_pieces() const;
  [[nodiscard]] bool is_served_by_messages() const;
  [[nodiscard]] Pattern pattern() const;
  void leave_with(std::exception_ptr fault, int origin) noexcept;
  void write_awaited(std::ostream& out) const;

  Task task_;
  const std::shared_ptr<mpi::Communicator> communicator_;
  const Neighborhood neighborhood_;
  Stage stage_ = Stage::waiting;
  Conversation conversation_;
  mpi::Driver driver_;
  std::optional<vicinal::Task<Done>> talk_;
  Ruling ruling_ = Ruling::keep;
  bool is_measured_ = false;  ///< whether one message per edge was measured to be faster
  bool is_worth_it_ = false;  ///< whether the new plan helps any rank
  CallMethod method_ = CallMethod::unknown;
  std::vector<std::int64_t> in_;  ///< capacities that senders have told, by edge
  std::shared_ptr<Planning> planning_;
  std::optional<PlanningTask> contested_;  ///< task of the contest, if the plan is to have one
  std::shared_ptr<CapacityPlan> plan_;
  /// plan of the replan before, and a new plan that is not used
  std::pair<std::shared_ptr<CapacityPlan>, std::shared_ptr<CapacityPlan>> discarded_;
  std::exception_ptr fault_;
  std::atomic<bool> over_ = false;
};

}  // namespace vicinal

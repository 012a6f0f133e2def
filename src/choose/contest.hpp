// Plans that are measured in use. Executions of a request use several plans in turn, and later ones
// the fastest. A contest sends nothing but the user's own data, and control messages in the
// background.
//
// An exchange that is executed only a few times pays nothing. The start of execution
// `planning_begins` shows a loop, and begins to plan the contenders in the background. They compete
// in heats; after each heat, plans far behind are out.
//
// All ranks must use the same plan for an execution; otherwise they deadlock. Ranks may be at
// different executions, as far apart as their data let them, and learn of a decision at different
// times. So:
//
//   1  Executions are numbered by their starts, or by their owner, equally on all ranks. Failed
//      ones count, too.
//   2  Executions n < `opens` use the first plan. By then, all ranks together find which other
//      plans there are.
//   3  Within a heat the plan follows from n. A rank that has finished a heat reports its times,
//      once. The decision depends only on the reports of all ranks, and is the same on all of them.
//   4  From the end of a heat until its decision holds, executions use the plan that was ahead
//      before. Later ones follow from the decision. If it is not known yet, the start is postponed
//      until it is, whenever the process makes progress; start() itself never waits.
//
// So the plan of an execution follows from its number and decisions, and never from when a rank
// does something. No start is postponed forever. No more executions are in flight at once than lie
// between a heat and its decision. So a rank that starts an execution after the decision has
// completed the heat, and has reported. A rank that is behind will start the heat's executions,
// too, since an execution completes only if all ranks start it. A rank that frees its request
// during a heat reports the times it has. A rank that fails tells the other ranks, and all give the
// exchange up.
//
// The time of an execution is the time that its caller spends in start, test and wait. A time slice
// counts by its slowest rank's mean, a plan by the median of its slices. The slowest rank of a
// single execution would say little: on shared cores, another rank is late each time, and catches
// up in the next.
//
// MPI's own collective may compete with the plans of blocking calls. Their owner first calls
// await_plan(), which waits for a decision, and calls MPI for executions that use no plan.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "choose/contenders.hpp"
#include "choose/joining.hpp"
#include "execute/agreed_plan.hpp"
#include "execute/planning.hpp"

namespace vicinal {

class Executions;

/// Competitors of an exchange's plan.
enum class Against : std::uint8_t {
  plans,
  mpi_too,  ///< also the MPI library's own collective, called by the owner
};

/// A glance costs little, and detects plans that take several times as long.
constexpr std::int64_t rounds_of_glance = 1;
constexpr std::int64_t rounds_of_middle_heat = 2;
constexpr std::int64_t rounds_of_last_heat = 4;
constexpr std::size_t most_in_last_heat = 2;

/// Assigns the executions of a heat to its plans.
struct Heat {
  std::vector<std::size_t> plans;  ///< the competing plans, the one that is ahead first
  std::int64_t begin = 0;          ///< number of its first execution
  int in_flight = 1;               ///< most executions at once
  std::int64_t rounds = 1;

  /// Number of executions in a time slice; each plan has one slice per round. The first executions
  /// do not count: they bind buffers, and the plan before is still in progress. The last does not
  /// count either: on shared cores, ranks that execute the next plan slow down a rank that is late.
  [[nodiscard]] std::int64_t slice_length() const { return in_flight + counted() + 1; }
  [[nodiscard]] std::int64_t counted() const {
    if (rounds == rounds_of_glance) return 1;
    return std::max(rounds == rounds_of_last_heat ? 6 : 3, in_flight - 1);
  }
  [[nodiscard]] std::int64_t end() const {
    return begin + rounds * slice_length() * static_cast<std::int64_t>(plans.size());
  }
  /// First execution for which the decision holds; it is expected to arrive between end() and this
  /// one.
  [[nodiscard]] std::int64_t decision() const { return end() + 2 * mpi::channels_per_plan; }
  /// Returns the plan of an execution before decision().
  [[nodiscard]] std::size_t plan(std::int64_t number) const {
    if (number >= end()) return plans.front();
    return plan_of_slice(slice_of(number));
  }
  [[nodiscard]] std::size_t slices() const {
    return static_cast<std::size_t>(rounds) * plans.size();
  }
  [[nodiscard]] std::size_t slice_of(std::int64_t number) const {
    return static_cast<std::size_t>((number - begin) / slice_length());
  }
  [[nodiscard]] std::size_t plan_of_slice(std::size_t slice) const {
    return plans[slice % plans.size()];
  }
  [[nodiscard]] bool counts(std::int64_t number) const {
    const std::int64_t place = (number - begin) % slice_length();
    return place >= in_flight && place < slice_length() - 1;
  }
};

/// Returns the mean time of this rank's counted executions, for each time slice; `untimed` if one
/// of them has no time. `times`: by execution of the heat.
Numbers means_of_slices(const Heat& heat, const Numbers& times);

/// Returns `untimed` if there is no time.
std::int64_t median_of(Numbers times);

/// The beginning of a contest.
struct Opening {
  std::int64_t planning_begins = 8;  ///< with the start of this execution
  int in_flight = 1;                 ///< most executions at once
  /// First execution that may use a contender. The contenders are planned before.
  [[nodiscard]] std::int64_t opens() const { return planning_begins + 2 * mpi::channels_per_plan; }
};

/// A contest of an exchange, forward only. Sums in reverse must have the same order in each
/// execution, which several plans would not give. Functions not marked thread-safe require the
/// lock.
class Contest final : public Activity, public std::enable_shared_from_this<Contest> {
 public:
  /// `first`: the plan of the first executions, by the task's planner. `wisdom_key`: for
  /// remembering the times; "" if this rank does not remember them.
  Contest(PlanningTask task, std::shared_ptr<AgreedPlan> first, std::string wisdom_key,
          Against against = Against::plans);
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;
  ~Contest() override { leave_dump(); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;

  /// Starts an execution and returns its number.
  std::int64_t next();
  /// Starts the execution to which its owner gives this number.
  void start(std::int64_t number);
  /// Returns the plan of an execution; nothing if it is undecided. Throws if a fault has lost the
  /// decision.
  [[nodiscard]] std::optional<std::size_t> plan_for(std::int64_t number) const;
  /// Starts the execution as start(number) does, waits for its decision, and returns its plan. Call
  /// it without the lock.
  [[nodiscard]] std::size_t await_plan(std::int64_t number);
  [[nodiscard]] bool is_mpis_own(std::size_t plan) const { return names_[plan] == mpis_own; }
  /// Records the nanoseconds that an execution has taken; `untimed` if it has failed.
  void note(std::int64_t number, std::int64_t nanoseconds);
  [[nodiscard]] bool is_measured(std::int64_t number) const {
    return !heats_.empty() && number >= heats_.back().begin && number < heats_.back().end();
  }
  /// Returns whether this execution and all later ones use one plan, for good.
  [[nodiscard]] bool is_settled(std::int64_t number) const {
    return number >= settled_.load(std::memory_order_acquire);
  }

  void enter(Executions& executions);
  /// Removes executions that start nothing more here.
  void leave(Executions& executions) noexcept;

  /// Progresses the contest. Thread-safe, as the next three; call them without the lock.
  void test();
  /// Returns the fastest plan; null if it is unknown yet, or if it is MPI's own.
  [[nodiscard]] std::shared_ptr<AgreedPlan> winner();
  /// Returns whether the winner is known, and all executions that next() numbers from now on use
  /// it.
  [[nodiscard]] bool has_settled_next();
  /// Returns the contenders, their times and the winner; "" if it is unknown yet, or if nothing was
  /// timed.
  [[nodiscard]] std::string outcome();
  void name_awaited(std::ostream& out);

  /// Once nobody executes and the contest is over, it keeps the winner alone.
  [[nodiscard]] const std::shared_ptr<AgreedPlan>& plan(std::size_t place) const {
    return plans_.empty() ? winner_ : plans_[place];
  }

 private:
  enum class Stage : std::uint8_t {
    waiting,
    foreseeing,
    planning,
    comparing,
    racing,
    judging,
    over
  };
  static constexpr int unknown = -1;
  static constexpr int lost = -2;

  void begin_foreseeing();
  void begin_planning(const Numbers& forecast);
  [[nodiscard]] std::shared_ptr<Planning> begin_planning_of(std::size_t place) const;
  void begin_comparing();
  void open(const Numbers& figures);
  void begin_heat(std::vector<std::size_t> plans, std::int64_t begin, std::int64_t rounds);
  void end_heat();
  void judge(const Numbers& means);
  void settle(std::size_t best, std::int64_t from);
  void lose(std::exception_ptr fault, int origin) noexcept;
  void begin_postponed() noexcept;
  void begin_allreduce(Numbers mine, Joining::Join join);
  [[nodiscard]] bool has_allreduced();
  bool advance_stage();

  const std::shared_ptr<mpi::Communicator> communicator_;
  const mpi::ConversationKey key_;
  const RankTree tree_;
  const std::set<int> dependents_;
  const Opening opening_;
  const std::string wisdom_key_;
  const Against against_;
  const Choice choice_;
  std::optional<PlanningTask> task_;  ///< until the contest is over
  Stage stage_ = Stage::waiting;
  std::uint64_t decision_key_ = 0;  ///< for decisions.hpp; set once a loop shows
  /// All ranks know the fastest plan from an earlier contest.
  bool is_known_ = false;
  std::vector<std::string_view> names_;               ///< of planners, by plan
  std::vector<std::shared_ptr<AgreedPlan>> plans_;    ///< null for MPI's own
  std::vector<std::shared_ptr<Planning>> plannings_;  ///< all but the first; null for MPI's own
  std::vector<Heat> heats_;                           ///< the current or last one at the end
  std::vector<Executions*> members_;
  std::int64_t started_ = 0;  ///< executions numbered by next()
  std::int64_t noted_ = 0;
  Numbers times_;     ///< of the heat, by execution
  Numbers best_;      ///< medians of the last heat, by plan
  Numbers left_out_;  ///< medians of plans that an earlier heat left out
  Conversation conversation_;
  mpi::Driver driver_;
  FaultRecord faults_;
  std::optional<Joining> joining_;
  std::optional<Task<Done>> allreduce_;
  std::atomic<int> decision_ = unknown;
  std::shared_ptr<AgreedPlan> winner_;
  std::atomic<std::int64_t> settled_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr fault_;  ///< why the decision is lost
};

/// The plan of a request, or a contest of several plans for forward executions. Reverse executions
/// use the first plan.
struct Chosen {
  std::shared_ptr<AgreedPlan> plan;
  std::shared_ptr<Contest> contest = nullptr;  ///< null if there is only one plan
  /// Returns the plan that executions use now, except during heats.
  [[nodiscard]] std::shared_ptr<AgreedPlan> in_use() const {
    const auto winner = contest ? contest->winner() : nullptr;
    return winner ? winner : plan;
  }
};

/// Returns the choice for a plan that all ranks have. If `contested` is set, the plan is the first
/// contender of a contest.
Chosen chosen_of(std::shared_ptr<AgreedPlan> plan, const std::optional<PlanningTask>& contested,
                 Against against = Against::plans);

}  // namespace vicinal

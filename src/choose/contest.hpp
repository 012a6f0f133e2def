// Plans that are measured in use: executions of a request go by several plans in turn, and the later ones by the quickest of
// them. Nothing is exchanged for it but the user's own data and control messages in the background.
//
// An exchange that is executed a few times pays for nothing: only the start of execution `planning_begins` shows a loop, and
// has contenders planned in the background. They compete in heats. After each, those that are far behind are out.
//
// By which plan an execution goes must be the same on all ranks, or they would wait for each other for ever. Ranks may be at
// different executions, as far apart as their data let them, and hear of a verdict at different times. So:
//
//   1  Executions are numbered by their starts, or as their owner numbers them, the same on all ranks, those at fault included.
//   2  Execution n < `opens` goes by the first plan. Which plans there are beside it by then is found by all ranks together.
//   3  Within a heat the plan follows from n. A rank that is done with a heat reports its times, once. The verdict is made of
//      the reports of all ranks, and of nothing else, and is the same on all of them.
//   4  Between the end of a heat and the next heat, or the end, executions go by the plan that was ahead before. Later ones
//      follow from the verdict. Where that is not there yet, the start is put off: it takes place as soon as it is, whenever
//      the process progresses; start() itself never waits.
//
// So the plan of an execution follows from its number and verdicts, and never from when a rank does something. No start is put
// off for ever: whoever starts an execution behind a heat has waited for all of the heat (no more are in flight at
// once than lie between), so it has reported; and whoever has not even begun those will, since an execution is complete where
// all ranks start it. A rank that frees its request before the end of a heat reports what it has, and one that is lost to a
// fault tells the others, who give the exchange up as they would give up a plan.
//
// A time is what an execution has held its caller up for: in start, test and wait. Of each turn the slowest rank's mean
// counts, of each plan the median of its turns. The slowest rank of each single execution would say little: where ranks share cores another one
// is late in each, and makes up for it in the next.
//
// Of blocking calls MPI's own may compete with the plans. Their owner asks await_plan() first, which waits for a verdict, and has
// MPI carry out those that go by none.
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

/// With what an exchange's plan competes.
enum class Against : std::uint8_t {
  plans,
  mpi_too,  ///< the MPI library's own collective, which the owner calls
};

/// A glance costs little, and tells of plans that take several times as long.
constexpr std::int64_t rounds_of_glance = 1;
constexpr std::int64_t rounds_of_middle_heat = 2;
constexpr std::int64_t rounds_of_last_heat = 4;
constexpr std::size_t most_in_last_heat = 2;

/// Which executions of a heat go by which of its plans.
struct Heat {
  std::vector<std::size_t> plans;  ///< those that compete, the one that is ahead first
  std::int64_t begin = 0;          ///< number of its first execution
  int in_flight = 1;               ///< at once, at most
  std::int64_t rounds = 1;

  /// Each plan has its turn once a round, and so many executions in a turn. The first of them do not count: buffers are
  /// bound in them, and the plan before is still under way. Nor does the last: where ranks share cores, a rank that is
  /// late in it is held up by those that execute the next plan.
  [[nodiscard]] std::int64_t turn() const { return in_flight + counted() + 1; }
  [[nodiscard]] std::int64_t counted() const {
    if (rounds == rounds_of_glance) return 1;
    return std::max(rounds == rounds_of_last_heat ? 6 : 3, in_flight - 1);
  }
  [[nodiscard]] std::int64_t end() const {
    return begin + rounds * turn() * static_cast<std::int64_t>(plans.size());
  }
  /// From here on the verdict holds. In between it is expected to arrive.
  [[nodiscard]] std::int64_t verdict() const { return end() + 2 * mpi::channels_per_plan; }
  /// Before the verdict holds.
  [[nodiscard]] std::size_t plan(std::int64_t number) const {
    if (number >= end()) return plans.front();
    return plan_of_turn(turn_of(number));
  }
  [[nodiscard]] std::size_t turns() const {
    return static_cast<std::size_t>(rounds) * plans.size();
  }
  [[nodiscard]] std::size_t turn_of(std::int64_t number) const {
    return static_cast<std::size_t>((number - begin) / turn());
  }
  [[nodiscard]] std::size_t plan_of_turn(std::size_t turn) const {
    return plans[turn % plans.size()];
  }
  [[nodiscard]] bool counts(std::int64_t number) const {
    const std::int64_t place = (number - begin) % turn();
    return place >= in_flight && place < turn() - 1;
  }
};

/// Of each turn the mean of what its executions have taken a rank, by number of the heat; `untimed` where one that counts has no time.
Numbers means_of_turns(const Heat& heat, const Numbers& times);

/// When a contest begins.
struct Opening {
  std::int64_t planning_begins = 8;  ///< with the start of this execution
  int in_flight = 1;                 ///< executions at once, at most
  /// Contenders are planned in between. The first execution that may go by one of them.
  [[nodiscard]] std::int64_t opens() const { return planning_begins + 2 * mpi::channels_per_plan; }
};

/// Of an exchange, forward: what comes back is added up in an order that is the same in each execution, which it would
/// not be if these went by several plans. What is not said to be for any thread is called with the claim held.
class Contest final : public Activity, public std::enable_shared_from_this<Contest> {
 public:
  /// `first`: the plan of the first executions, by the planner of the task. `wisdom_key`: with which times are remembered; "" where
  /// they are not, by this rank.
  Contest(PlanningTask task, std::shared_ptr<AgreedPlan> first, std::string wisdom_key,
          Against against = Against::plans);
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;
  ~Contest() override { leave_dump(); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;

  /// The number of an execution that is started.
  std::int64_t next();
  /// The execution that its owner gives this number is started.
  void start(std::int64_t number);
  /// By which plan it goes; nothing where that is to be seen. Throws where the verdict is lost to a fault.
  [[nodiscard]] std::optional<std::size_t> plan_for(std::int64_t number) const;
  /// The same, for owners who know the number: the execution is started. Waits for the verdict that it goes by. Without the claim.
  [[nodiscard]] std::size_t await_plan(std::int64_t number);
  [[nodiscard]] bool is_mpis_own(std::size_t plan) const { return names_[plan] == mpis_own; }
  /// What that execution has taken, in nanoseconds, `untimed` where it has failed.
  void note(std::int64_t number, std::int64_t nanoseconds);
  [[nodiscard]] bool is_measured(std::int64_t number) const {
    return !heats_.empty() && number >= heats_.back().begin && number < heats_.back().end();
  }
  /// Whether it and all later ones go by one plan, for good.
  [[nodiscard]] bool is_settled(std::int64_t number) const {
    return number >= settled_.load(std::memory_order_acquire);
  }

  void enter(Executions& executions);
  /// They have nothing more to start here.
  void leave(Executions& executions) noexcept;

  /// From any thread, without the claim: progresses it.
  void test();
  /// The same: the plan that was the quickest; null before that is known, and where that is MPI's own.
  [[nodiscard]] std::shared_ptr<AgreedPlan> winner();
  /// The same: what was tried, what each took, and what is taken; "" before that is known, and where nothing was timed.
  [[nodiscard]] std::string outcome();
  void name_awaited(std::ostream& out);

  [[nodiscard]] const std::shared_ptr<AgreedPlan>& plan(std::size_t place) const {
    return plans_[place];
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
  void begin_what_was_put_off() noexcept;
  void consult_about(Numbers mine, Joining::Join join);
  [[nodiscard]] bool has_consulted();
  bool advance_stage();

  const std::shared_ptr<mpi::Communicator> communicator_;
  const mpi::ConversationKey key_;
  const RankTree tree_;
  const std::set<int> dependents_;
  const Opening opening_;
  const std::string wisdom_key_;
  const Against against_;
  std::optional<PlanningTask> task_;  ///< until it is over
  Stage stage_ = Stage::waiting;
  std::uint64_t verdict_key_ = 0;  ///< of verdicts.hpp, from when a loop shows
  bool is_known_ = false;          ///< which is the quickest, to all ranks, from a contest before
  std::vector<std::string_view> names_;               ///< of planners, by plan
  std::vector<std::shared_ptr<AgreedPlan>> plans_;    ///< null for MPI's own
  std::vector<std::shared_ptr<Planning>> plannings_;  ///< of all but the first; the same
  std::vector<Heat> heats_;  ///< the one that is on, or was the last, comes last
  std::vector<Executions*> members_;
  std::int64_t started_ = 0;  ///< those that the contest numbers
  std::int64_t noted_ = 0;
  Numbers times_;     ///< of the heat, by number
  Numbers best_;      ///< medians of the last heat, by plan
  Numbers left_out_;  ///< medians of those that an earlier heat left out
  Conversation conversation_;
  mpi::Driver driver_;
  FaultRecord faults_;
  std::optional<Joining> joining_;
  std::optional<Task<Done>> consulting_;
  std::atomic<int> verdict_ = unknown;
  std::shared_ptr<AgreedPlan> winner_;
  std::atomic<std::int64_t> settled_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr fault_;  ///< for which it is lost
};

/// By what a request goes: a plan, or, forward, a contest of several; in reverse the first of them then.
struct Chosen {
  std::shared_ptr<AgreedPlan> plan;
  std::shared_ptr<Contest> contest = nullptr;  ///< null where it is one plan
  /// By which plan executions go now, as far as no heat is on.
  [[nodiscard]] std::shared_ptr<AgreedPlan> in_use() const {
    const auto winner = contest ? contest->winner() : nullptr;
    return winner ? winner : plan;
  }
};

/// By a plan that all ranks have, and, where that is the first of a task's contenders, by their contest. Waits for memory, since the
/// other ranks have a contest, too.
Chosen chosen_of(std::shared_ptr<AgreedPlan> plan, const std::optional<PlanningTask>& contested,
                 Against against = Against::plans);

}  // namespace vicinal

// Plans that are measured while a program runs: the first executions of a request go by several plans in turn, the later
// ones by the quickest of them. Nothing is exchanged for it but the user's own data, and two letters per rank.
//
// Which plan an execution goes by must be the same on all ranks, or they would wait for each other for ever. Ranks may
// be at different executions, as far apart as their data let them, and hear of the verdict at different times. So:
//
//   1  Executions are numbered by their starts, whose order is the same on all ranks, those at fault included.
//   2  Execution n < `measured` goes by a plan that follows from n, and so do those up to `settled`, by the first.
//   3  A rank that is done with all n < `measured` reports their times, once. The verdict is made of the reports of all
//      ranks, and of nothing else, and is the same on all of them.
//   4  Execution n >= `settled` goes by the verdict. Where that is not there yet, the start is put off: it takes place as
//      soon as it is, whenever the process progresses; start() itself never waits.
//
// By 2 and 4 the plan of an execution follows from its number and the verdict, and never from when a rank does
// something. What is put off is not put off for ever: whoever starts execution `settled` has waited for all measured ones
// (no more are in flight at once than `settled` - `measured`), so it has reported; and whoever has not even begun
// those will, since an execution is complete where all ranks start it. A rank that frees its request before it is done with
// them reports what it has, and one that is lost to a fault tells the others, who give the exchange up as they would give
// up a plan.
//
// A time is what an execution has held its caller up for: in start, test and wait. Of each execution the slowest rank's
// counts, of each plan the median.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <iosfwd>
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

/// Which executions go by which of some plans.
struct Schedule {
  std::size_t plans = 1;
  int in_flight = 1;  ///< at once, at most

  /// Each plan has its turn so often, and so many executions in a turn, the first of which do not count: buffers are
  /// bound in them, and the plan before is still under way.
  static constexpr std::int64_t rounds = 3;
  [[nodiscard]] constexpr std::int64_t turn() const { return in_flight + std::max(3, in_flight); }
  [[nodiscard]] constexpr std::int64_t measured() const {
    return rounds * turn() * static_cast<std::int64_t>(plans);
  }
  /// From here on the verdict holds. In between it is expected to arrive.
  [[nodiscard]] constexpr std::int64_t settled() const {
    return measured() + 2 * mpi::channels_per_plan;
  }
  /// Before the verdict holds.
  [[nodiscard]] constexpr std::size_t plan(std::int64_t number) const {
    if (number >= measured()) return 0;
    return static_cast<std::size_t>(number / turn()) % plans;
  }
  [[nodiscard]] constexpr bool counts(std::int64_t number) const {
    return number % turn() >= in_flight;
  }
};

/// What is in a contest, and where its outcome is written.
struct Lineup {
  std::vector<std::shared_ptr<AgreedPlan>> plans;
  std::vector<std::string_view> names;  ///< of their planners
  std::string
      wisdom_key;  ///< with which the times are remembered; "" where they are not, by this rank
};

/// Of an exchange, forward: what comes back is added up in an order that is the same in each execution, which it would
/// not be if these went by several plans. What is not said to be for any thread is called with the claim held.
class Contest final : public Activity, public std::enable_shared_from_this<Contest> {
 public:
  /// `key`: of a conversation of its own.
  Contest(const PlanningTask& task, mpi::ConversationKey key, Lineup lineup);
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;
  ~Contest() override { leave_dump(); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;

  /// An execution is started: its number, and the plan that it goes by, nothing where that is to be seen. Throws where
  /// the verdict is lost to a fault.
  struct Turn {
    std::int64_t number = 0;
    std::optional<std::size_t> plan;
  };
  Turn next();
  /// What that execution has taken, in nanoseconds, `untimed` where it has failed.
  void note(std::int64_t number, std::int64_t nanoseconds);
  [[nodiscard]] bool is_measured(std::int64_t number) const {
    return number < schedule_.measured();
  }

  void enter(Executions& executions);
  /// They have nothing more to start here.
  void leave(Executions& executions) noexcept;

  /// From any thread, without the claim: progresses it.
  void test();
  /// The same: the plan by which all further executions go, if that is known, and none before may be started any more.
  [[nodiscard]] std::optional<std::size_t> outcome() const;
  void name_awaited(std::ostream& out);

  [[nodiscard]] const std::vector<std::shared_ptr<AgreedPlan>>& plans() const {
    return lineup_.plans;
  }

 private:
  static constexpr int unknown = -1;
  static constexpr int lost = -2;

  void report();
  void settle(Numbers times);
  void lose(std::exception_ptr fault, int origin) noexcept;
  void begin_what_was_put_off() noexcept;

  const std::shared_ptr<mpi::Communicator> communicator_;
  const mpi::ConversationKey plan_key_;
  const mpi::ConversationKey key_;
  const RankTree tree_;
  const std::set<int> dependents_;
  const Bias bias_;
  const std::string wisdom_;
  Lineup lineup_;
  const Schedule schedule_;
  std::vector<Executions*> members_;
  std::atomic<std::int64_t> started_ = 0;
  std::int64_t noted_ = 0;
  Numbers times_;  ///< by number
  Conversation conversation_;
  mpi::Driver driver_;
  FaultRecord faults_;
  std::optional<Joining> joining_;
  std::optional<Task<Done>> consulting_;
  std::atomic<int> verdict_ = unknown;
  std::exception_ptr fault_;  ///< for which it is lost
};

/// By what a request goes: a plan, or, forward, a contest of several; in reverse the first of them then.
struct Chosen {
  std::shared_ptr<AgreedPlan> plan;
  std::shared_ptr<Contest> contest = nullptr;  ///< null where it is one plan
};

}  // namespace vicinal

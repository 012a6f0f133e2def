// The course of a choice.
#include "choose/choose.hpp"

#include <exception>
#include <fstream>
#include <thread>
#include <utility>

#include "choose/contenders.hpp"
#include "choose/outcome.hpp"
#include "choose/summary.hpp"
#include "choose/trial.hpp"
#include "choose/wisdom.hpp"
#include "execute/progress_thread.hpp"
#include "mpi/library.hpp"

namespace vicinal {

namespace {

using Names = std::vector<std::string_view>;

/// "Intel(R) Xeon(R) ...", or "" where the system does not say.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

/// What of the machine and the library plays a part in times.
std::string surroundings(const mpi::Communicator& communicator) {
  return std::string("vicinal ") + VICINAL_VERSION_STRING + ", " + mpi::library_version() + ", " +
         std::to_string(std::thread::hardware_concurrency()) + " cores " + processor() +
         (has_progress_thread() ? ", progress thread" : "") +
         (communicator.arena_fault().empty() ? "; " : ", not all memory shared; ");
}

/// What the lowest rank finds in the file, for all.
struct Recalled {
  static constexpr std::string_view name = "wisdom";
  Numbers
      times;  ///< by contender, `untimed` where it was none; nothing where the file knows no such pattern
};
void fields(auto&& take, Is<Recalled> auto& it) { take(it.times); }

struct Summed {
  static constexpr std::string_view name = "summary of a pattern";
  PatternSummary all;
};
void fields(auto&& take, Is<Summed> auto& it) { take(it.all); }

class Recalling final : public Consultation<Summed, Recalled> {
 public:
  Recalling(PatternSummary mine, const PlanningTask& task, const Names& names)
      : summed_{std::move(mine)}, task_(task), names_(names) {}
  void hear(int, Summed report) override { summed_.all = joined(summed_.all, report.all); }
  Summed report() override { return summed_; }
  void decide() override {
    key_ = surroundings(*task_.communicator) +
           key_text(summed_.all, *task_.neighborhood.machine, task_.options);
    const auto known = recall(task_.options.wisdom, key_);
    if (!known) return;
    for (const std::string_view name : names_) {
      const auto time = known->find(name);
      recalled_.times.push_back(time == known->end() ? untimed : time->second);
    }
  }
  void learn(Recalled decision) override { recalled_ = std::move(decision); }
  Recalled instruct(const RankTree::Child&) override { return recalled_; }

  [[nodiscard]] const Numbers& times() const { return recalled_.times; }
  /// Of the pattern, on the lowest rank.
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  Summed summed_;
  const PlanningTask& task_;
  const Names& names_;
  Recalled recalled_;
  std::string key_;
};

/// A plan that this rank has, or why it has none.
struct Planned {
  std::shared_ptr<AgreedPlan> plan;
  std::exception_ptr fault;
};

class Choosing {
 public:
  explicit Choosing(const PlanningTask& task)
      : task_(task),
        names_(contenders(task.options)),
        council_(*task_.communicator, task_.key, task_.neighborhood) {}

  Chosen choose() {
    compare();
    std::string key;
    if (!task_.options.wisdom.empty()) {
      const std::int64_t bytes = task_.options.element_bytes;
      Recalling recalling(summary(task_.neighborhood, task_.pattern, bytes), task_, names_);
      council_.consult(recalling);
      if (!recalling.times().empty()) return {plan_known(recalling.times())};
      key = recalling.key();
    }
    if (task_.options.choice == Choice::measure) return {plan_fastest(key)};
    const auto first = plan(0);
    if (task_.options.choice == Choice::estimate) return {first};
    return {first, std::make_shared<Contest>(task_, first, council_.speaks() ? key : "")};
  }

 private:
  void compare() {
    AgreedSite site(task_.communicator, task_.channels);
    Conversation unused;
    council_.compare(*task_.planner,
                     {unused, site, task_.neighborhood, task_.pattern, task_.options, task_.fault});
  }

  [[nodiscard]] std::shared_ptr<Planning> begin(std::size_t contender) const {
    PlanningTask task = task_;
    task.planner = &find_planner(names_[contender]);
    task.key = contender_key(task_.key, contender);
    return Planning::begin(std::move(task));
  }

  /// By one alone; throws where that cannot be had.
  [[nodiscard]] std::shared_ptr<AgreedPlan> plan(std::size_t contender) const {
    const auto planning = begin(contender);
    planning->wait();
    return planning->plan();
  }

  [[nodiscard]] static Planned outcome(Planning& planning) {
    planning.wait();
    try {
      return {planning.plan(), nullptr};
    } catch (...) {
      return {nullptr, std::current_exception()};
    }
  }

  std::shared_ptr<AgreedPlan> plan_known(const Numbers& times) {
    const std::size_t best = winner(names_, times, task_.options.bias);
    log_outcome(task_.key, "is known from the file of wisdom", names_, times, best);
    if (best == 0) return plan(0);
    Planned known = outcome(*begin(best));
    const Numbers lacking = council_.largest({known.plan == nullptr ? 1 : 0});
    return lacking.front() == 0 ? std::move(known.plan) : plan(0);
  }

  std::shared_ptr<AgreedPlan> plan_fastest(const std::string& key) {
    std::vector<Planned> planned = plan_all();
    const std::vector<std::size_t> taken = worth_having(planned);
    if (taken.empty()) report_failure(planned);
    std::vector<std::shared_ptr<AgreedPlan>> plans;
    Names names;
    for (const std::size_t place : taken) {
      plans.push_back(std::move(planned[place].plan));
      names.push_back(names_[place]);
    }
    planned.clear();
    if (taken.size() == 1) return std::move(plans.front());
    const Numbers times = time_plans(council_, plans, task_.options.element_bytes);
    const std::size_t best = winner(names, times, task_.options.bias);
    log_outcome(task_.key, "was measured", names, times, best);
    if (council_.speaks() && !key.empty()) {
      remember_outcome(task_.options.wisdom, key, names, times);
    }
    return std::move(plans[best]);
  }

  std::vector<Planned> plan_all() const {
    std::vector<std::shared_ptr<Planning>> plannings;
    for (std::size_t i = 0; i < names_.size(); ++i) plannings.push_back(begin(i));
    std::vector<Planned> planned;
    for (const auto& planning : plannings) planned.push_back(outcome(*planning));
    return planned;
  }

  /// Those that all ranks have, and that differ.
  std::vector<std::size_t> worth_having(const std::vector<Planned>& planned) {
    std::vector<std::optional<std::uint64_t>> fingerprints;
    for (const Planned& each : planned) {
      auto& mine = fingerprints.emplace_back();
      if (each.plan != nullptr) mine = fingerprint(each.plan->plans());
    }
    return worth_timing(council_.sums(figures_of(fingerprints)));
  }

  /// What `automatic` has failed with here, or that it has elsewhere.
  [[noreturn]] void report_failure(const std::vector<Planned>& planned) {
    const Planned& first = planned.front();
    const Numbers lacking = council_.largest({first.fault ? council_.rank() : -1});
    if (first.fault) std::rethrow_exception(first.fault);
    throw mpi::FaultElsewhere(static_cast<int>(lacking.front()), "the exchange");
  }

  const PlanningTask& task_;
  const Names names_;
  Council council_;
};

}  // namespace

namespace {

bool is_left_to_automatic(const PlanningTask& task) {
  return task.planner->name == "automatic" && task.neighborhood.takes_part() &&
         !task.options.partitioned;
}

}  // namespace

bool has_choice(const PlanningTask& task) {
  return is_left_to_automatic(task) &&
         (task.options.choice == Choice::measure || !task.options.wisdom.empty());
}

bool is_contested(const PlanningTask& task) {
  return is_left_to_automatic(task) && task.options.choice == Choice::adaptive &&
         task.neighborhood.machine->regions() > 1;
}

Chosen choose_plan(const PlanningTask& task) {
  const auto leave = [&](int origin) {
    mpi::give_notice(*task.communicator, task.key, origin,
                     [&] { return task.neighborhood.dependents(); });
  };
  try {
    return Choosing(task).choose();
  } catch (const SettledFault&) {
    throw;  // all know
  } catch (const mpi::FaultElsewhere& error) {
    leave(error.origin());
    throw;
  } catch (...) {
    leave(task.communicator->rank());
    throw;
  }
}

}  // namespace vicinal

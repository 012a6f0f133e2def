// The steps of a choice.
#include "choose/choose.hpp"

#include <exception>
#include <fstream>
#include <thread>
#include <utility>

#include "choose/agreement.hpp"
#include "choose/contenders.hpp"
#include "choose/outcome.hpp"
#include "choose/rehearsal.hpp"
#include "choose/summary.hpp"
#include "choose/wisdom.hpp"
#include "mpi/environment.hpp"
#include "progress/progress_thread.hpp"

namespace vicinal {

namespace {

using Names = std::vector<std::string_view>;

/// Returns "Intel(R) Xeon(R) ...", or "" if the system does not tell.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

/// Returns the properties of machine and library that affect times.
std::string surroundings(const mpi::Communicator& communicator) {
  return std::string("vicinal ") + VICINAL_VERSION_STRING + ", " + mpi::library_version() + ", " +
         std::to_string(std::thread::hardware_concurrency()) + " cores " + processor() +
         (has_progress_thread() ? ", progress thread" : "") +
         (communicator.arena_fault().empty() ? "; " : ", not all memory shared; ");
}

/// Contents of the file, as the lowest rank finds them for all ranks.
struct Recalled {
  static constexpr std::string_view name = "wisdom";
  /// By contender, `untimed` if it was none. Empty if the file has no such pattern.
  Numbers times;
};
void fields(auto&& take, Is<Recalled> auto& it) { take(it.times); }

struct Summed {
  static constexpr std::string_view name = "summary of a pattern";
  PatternSummary all;
};
void fields(auto&& take, Is<Summed> auto& it) { take(it.all); }

class Recalling final : public TreeAllreduce<Summed, Recalled> {
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
  /// Key of the pattern, on the lowest rank.
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  Summed summed_;
  const PlanningTask& task_;
  const Names& names_;
  Recalled recalled_;
  std::string key_;
};

/// A plan of this rank, or the reason why it has none.
struct Planned {
  std::shared_ptr<AgreedPlan> plan;
  std::exception_ptr fault;
};

class Choosing {
 public:
  explicit Choosing(const PlanningTask& task)
      : task_(task),
        names_(contenders(task.options)),
        agreement_(*task_.communicator, task_.key, task_.neighborhood) {}

  Chosen choose() {
    compare();
    std::string key;
    if (!task_.options.wisdom.empty()) {
      const std::int64_t bytes = task_.options.element_bytes;
      Recalling recalling(summary(task_.neighborhood, task_.pattern, bytes), task_, names_);
      agreement_.tree_allreduce(recalling);
      if (!recalling.times().empty()) return {plan_known(recalling.times())};
      key = recalling.key();
    }
    const auto first = plan(0);
    const Choice choice = task_.options.choice;
    if (choice == Choice::estimate || task_.neighborhood.machine->regions() == 1) return {first};
    PlanningTask contested = task_;
    if (choice == Choice::measure) contested.options.plan_after = 0;
    const auto contest =
        std::make_shared<Contest>(std::move(contested), first, agreement_.speaks() ? key : "");
    if (choice == Choice::measure) {
      rehearse({first, contest}, task_.pattern, task_.options.element_bytes);
    }
    return {first, contest};
  }

 private:
  void compare() {
    AgreedSite site(task_.communicator, task_.channels);
    Conversation unused;
    agreement_.compare(*task_.planner, {unused, site, task_.neighborhood, task_.pattern,
                                        task_.options, task_.fault});
  }

  [[nodiscard]] std::shared_ptr<Planning> begin(std::size_t contender) const {
    PlanningTask task = task_;
    task.planner = &find_planner(names_[contender]);
    task.key = contender_key(task_.key, contender);
    return Planning::begin(std::move(task));
  }

  /// Plans with one contender only; throws if that fails.
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
    const Numbers lacking = agreement_.largest({known.plan == nullptr ? 1 : 0});
    return lacking.front() == 0 ? std::move(known.plan) : plan(0);
  }

  const PlanningTask& task_;
  const Names names_;
  RankAgreement agreement_;
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
  try {
    return Choosing(task).choose();
  } catch (...) {
    const Error error = current_fault();
    if (error.is_on_all_ranks()) throw;
    const int origin = error.origin() >= 0 ? error.origin() : task.communicator->rank();
    mpi::give_notice(*task.communicator, task.key, origin,
                     [&] { return task.neighborhood.dependents(); });
    throw;
  }
}

}  // namespace vicinal

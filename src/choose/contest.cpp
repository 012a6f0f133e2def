// The stages of a contest: planning, heats, decisions.
#include "choose/contest.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "choose/decisions.hpp"
#include "choose/executions.hpp"
#include "choose/outcome.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

namespace {

/// A plan is out if it takes more than this many times as long as the fastest.
constexpr double far_behind = 2;
constexpr double far_behind_at_a_glance = 3;
/// A lead below this fraction changes nothing.
constexpr double noise = 0.02;

const char* how_found(Choice choice) {
  return choice == Choice::measure ? "was measured" : "was measured in use";
}

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

std::int64_t median_of(Numbers times) {
  std::erase(times, untimed);
  if (times.empty()) return untimed;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

Contest::Contest(PlanningTask task, std::shared_ptr<AgreedPlan> first, std::string wisdom_key,
                 Against against)
    : communicator_(task.communicator),
      key_(contender_key(task.key, most_contenders)),
      tree_(task.neighborhood.tree),
      dependents_(task.neighborhood.dependents()),
      opening_{task.options.plan_after, task.channels},
      wisdom_key_(std::move(wisdom_key)),
      against_(against),
      choice_(task.options.choice),
      task_(std::move(task)),
      names_{task_->planner->name},
      plans_{std::move(first)},
      driver_(*communicator_, key_, conversation_),
      faults_(tree_.rank, "figures", "choosing a planner") {
  conversation_.set_purpose("choosing a planner by executions");
  enter_dump();
}

std::int64_t Contest::next() {
  const std::int64_t number = started_++;
  start(number);
  return number;
}

void Contest::start(std::int64_t number) {
  if (number >= opening_.planning_begins && stage_ == Stage::waiting) begin_foreseeing();
}

std::optional<std::size_t> Contest::plan_for(std::int64_t number) const {
  if (number >= settled_.load(std::memory_order_relaxed)) {
    return static_cast<std::size_t>(decision_.load(std::memory_order_relaxed));
  }
  if (number < opening_.opens()) return 0;
  for (const Heat& heat : heats_) {
    if (number < heat.decision()) return heat.plan(number);
  }
  if (decision_.load(std::memory_order_relaxed) == lost) std::rethrow_exception(fault_);
  return std::nullopt;
}

std::size_t Contest::await_plan(std::int64_t number) {
  std::optional<std::size_t> plan;
  const auto is_known = [&] {
    const ActivityLock lock(*this);
    start(number);
    advance();
    plan = plan_for(number);
    return plan.has_value();
  };
  mpi::poll_until(is_known, [this](std::ostream& out) { name_awaited(out); });
  return *plan;
}

/// Finds the largest forecasts, and whether all ranks remember one decision (maximum = minimum).
void Contest::begin_foreseeing() {
  const Forecast& mine = plans_.front()->plans().forecast;
  decision_key_ = decision_key(*task_);
  const std::int64_t known = choice_ == Choice::measure ? 0 : recall_decision(decision_key_);
  begin_allreduce({nanoseconds(mine.by_plan), nanoseconds(mine.by_message), known, -known},
                  Joining::larger);
  stage_ = Stage::foreseeing;
  activate(shared_from_this());
}

/// The task's planner is the first contender, and already has its plan.
void Contest::begin_planning(const Numbers& forecast) {
  const Forecast all{static_cast<double>(forecast[0]), static_cast<double>(forecast[1])};
  auto contenders = contenders_in_use(task_->options, *task_->neighborhood.machine, all);
  if (against_ == Against::mpi_too) contenders.push_back(mpis_own);
  if (forecast[2] == -forecast[3]) {
    const auto known = std::ranges::find(contenders, forecast[2], number_of);
    is_known_ = known != contenders.end();
    if (is_known_) contenders = {known == contenders.begin() ? 1U : 2U, *known};
  }
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    names_.push_back(contenders[i]);
    plannings_.push_back(begin_planning_of(i));
  }
  stage_ = Stage::planning;
}

std::shared_ptr<Planning> Contest::begin_planning_of(std::size_t place) const {
  if (is_mpis_own(place)) return nullptr;
  PlanningTask task = *task_;
  task.planner = &find_planner(names_[place]);
  task.key = contender_key(task_->key, place);
  task.options.with_reverse = false;
  return Planning::begin(std::move(task));
}

bool Contest::advance() noexcept {
  try {
    while (advance_stage()) {
    }
  } catch (...) {
    const int origin = current_fault().origin();
    lose(std::current_exception(), origin >= 0 ? origin : tree_.rank);
  }
  return stage_ == Stage::waiting || stage_ == Stage::racing || stage_ == Stage::over;
}

bool Contest::advance_stage() {
  switch (stage_) {
    case Stage::foreseeing:
      if (!has_allreduced()) return false;
      begin_planning(joining_->take());
      return true;
    case Stage::planning:
      if (!std::ranges::all_of(plannings_, [](const auto& it) { return !it || it->test(); }))
        return false;
      begin_comparing();
      return true;
    case Stage::comparing:
      if (!has_allreduced()) return false;
      open(joining_->take());
      return true;
    case Stage::judging:
      if (!has_allreduced()) return false;
      judge(joining_->take());
      return true;
    default: return false;
  }
}

void Contest::begin_comparing() {
  for (const auto& planning : plannings_) {
    try {
      plans_.push_back(planning ? planning->plan() : nullptr);
    } catch (const std::exception&) {
      plans_.push_back(nullptr);  // its planner does not serve this exchange, or has failed
    }
  }
  std::vector<std::optional<std::uint64_t>> fingerprints;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    auto& mine = fingerprints.emplace_back();
    if (plans_[i] != nullptr) mine = fingerprint(plans_[i]->plans().forward);
    if (is_mpis_own(i)) mine = 1;
  }
  plannings_.clear();
  stage_ = Stage::comparing;
  begin_allreduce(figures_of(fingerprints), Joining::sum);
}

void Contest::open(const Numbers& figures) {
  std::vector<std::size_t> taken = worth_timing(figures);
  for (std::size_t i = 1; i < plans_.size(); ++i) {
    if (std::ranges::find(taken, i) == taken.end()) plans_[i] = nullptr;
  }
  best_.assign(plans_.size(), untimed);
  left_out_ = best_;
  if (taken.size() < 2) {
    if (plans_.size() > 1) remember_decision(decision_key_, names_.front());
    return settle(0, opening_.opens());
  }
  if (is_known_) return settle(taken.back(), opening_.opens());
  begin_heat(std::move(taken), opening_.opens(), rounds_of_glance);
}

void Contest::begin_heat(std::vector<std::size_t> plans, std::int64_t begin, std::int64_t rounds) {
  heats_.push_back(Heat{std::move(plans), begin, opening_.in_flight, rounds});
  times_.assign(static_cast<std::size_t>(heats_.back().end() - begin), untimed);
  noted_ = 0;
  stage_ = Stage::racing;
  begin_postponed();
  if (members_.empty() && stage_ == Stage::racing) end_heat();
}

void Contest::note(std::int64_t number, std::int64_t nanoseconds) {
  if (stage_ != Stage::racing || !is_measured(number)) return;
  const Heat& heat = heats_.back();
  times_[static_cast<std::size_t>(number - heat.begin)] = nanoseconds;
  if (++noted_ == heat.end() - heat.begin) end_heat();
}

void Contest::end_heat() {
  stage_ = Stage::judging;
  begin_allreduce(means_of_slices(heats_.back(), times_), Joining::larger);
  activate(shared_from_this());
}

Numbers means_of_slices(const Heat& heat, const Numbers& times) {
  Numbers means(heat.slices(), 0);
  for (std::int64_t number = heat.begin; number < heat.end(); ++number) {
    if (!heat.counts(number)) continue;
    const std::int64_t time = times[static_cast<std::size_t>(number - heat.begin)];
    std::int64_t& mean = means[heat.slice_of(number)];
    mean = mean == untimed || time == untimed ? untimed : mean + time / heat.counted();
  }
  return means;
}

void Contest::begin_allreduce(Numbers mine, Joining::Join join) {
  joining_.emplace(std::move(mine), join);
  allreduce_.emplace(tree_allreduce(conversation_, tree_, faults_, *joining_));
}

bool Contest::has_allreduced() {
  if (!driver_.advance(*allreduce_)) return false;
  allreduce_->result();
  faults_.settle();
  allreduce_.reset();
  return true;
}

void Contest::judge(const Numbers& means) {
  const Heat heat = heats_.back();
  const std::vector<std::size_t>& plans = heat.plans;
  std::vector<Numbers> of_plan(plans_.size());
  for (std::size_t slice = 0; slice < means.size(); ++slice) {
    of_plan[heat.plan_of_slice(slice)].push_back(means[slice]);
  }
  std::vector<std::pair<double, std::size_t>> ranking;
  for (std::size_t place = 0; place < plans.size(); ++place) {
    Numbers& each = of_plan[plans[place]];
    // A plan that still fails in its last time slice is out, however fast it was.
    const std::int64_t median = each.back() != untimed ? median_of(std::move(each)) : untimed;
    best_[plans[place]] = median;
    const double bias = task_->options.bias.of(names_[plans[place]]);
    const double doubt = place == 0 ? 1 - noise : 1;
    if (median != untimed) {
      ranking.emplace_back(static_cast<double>(median) * bias * doubt, plans[place]);
    }
  }
  std::ranges::sort(ranking);
  if (ranking.empty()) ranking.emplace_back(0, plans.front());
  const bool glance = heat.rounds == rounds_of_glance;
  const double too_long = ranking.front().first * (glance ? far_behind_at_a_glance : far_behind);
  std::vector<std::size_t> close;
  for (const auto& [time, plan] : ranking) {
    if (time <= too_long) close.push_back(plan);
  }
  if (!glance) close.resize(std::min(close.size(), most_in_last_heat));
  const std::int64_t from = heat.decision();
  if (close.size() == 1 || heat.rounds == rounds_of_last_heat) return settle(close.front(), from);
  for (const std::size_t plan : plans) {
    const bool goes_on = std::ranges::find(close, plan) != close.end();
    if (!goes_on) left_out_[plan] = std::exchange(best_[plan], untimed);
  }
  begin_heat(std::move(close), from, glance ? rounds_of_middle_heat : rounds_of_last_heat);
}

void Contest::settle(std::size_t best, std::int64_t from) {
  stage_ = Stage::over;
  const auto is_timed = [](std::int64_t time) { return time != untimed; };
  if (std::ranges::any_of(best_, is_timed)) {
    if (tree_.parent < 0)
      log_outcome(task_->key, how_found(choice_), names_, best_, best, left_out_);
    // If the requests were freed during a heat, a plan has no time.
    const auto time_of = [this](std::size_t plan) { return best_[plan]; };
    if (std::ranges::all_of(heats_.back().plans, is_timed, time_of))
      remember_decision(decision_key_, names_[best]);
    if (!wisdom_key_.empty()) {
      remember_outcome(task_->options.wisdom, wisdom_key_, names_, best_);
    }
  }
  if (is_known_ && tree_.parent < 0)
    log_outcome(task_->key, "was measured before", names_, best_, best);
  task_.reset();
  winner_ = plans_[best];
  decision_.store(static_cast<int>(best), std::memory_order_relaxed);
  settled_.store(from, std::memory_order_release);
  begin_postponed();
  if (members_.empty()) plans_.clear();
}

/// Other ranks may have a decision that this rank does not know, so no plan can be used any more.
void Contest::lose(std::exception_ptr fault, int origin) noexcept {
  stage_ = Stage::over;
  fault_ = std::move(fault);
  decision_.store(lost, std::memory_order_release);
  mpi::give_notice(*communicator_, key_, origin, dependents_);
  for (const auto& plan : plans_) {
    if (plan != nullptr) abandon_plan(plan, origin);
  }
  allreduce_.reset();
  plannings_.clear();
  begin_postponed();
}

void Contest::begin_postponed() noexcept {
  for (Executions* const member : members_) {
    if (decision_.load(std::memory_order_relaxed) == lost) {
      member->give_up(fault_);
    } else {
      member->begin_postponed();
    }
  }
}

void Contest::enter(Executions& executions) { members_.push_back(&executions); }

void Contest::leave(Executions& executions) noexcept {
  std::erase(members_, &executions);
  if (!members_.empty()) return;
  try {
    if (stage_ == Stage::racing && mpi::is_alive()) end_heat();
  } catch (...) {
    lose(std::current_exception(), tree_.rank);
  }
  if (stage_ == Stage::over || stage_ == Stage::waiting) plans_.clear();
}

void Contest::test() {
  const ActivityLock lock(*this);
  advance();
}

std::shared_ptr<AgreedPlan> Contest::winner() {
  const ActivityLock lock(*this);
  return winner_;
}

bool Contest::has_settled_next() {
  const ActivityLock lock(*this);
  return is_settled(started_);
}

std::string Contest::outcome() {
  const ActivityLock lock(*this);
  const int taken = decision_.load(std::memory_order_relaxed);
  const bool is_measured =
      std::ranges::any_of(best_, [](std::int64_t it) { return it != untimed; });
  if (taken < 0 || !is_measured) return {};
  return outcome_text(how_found(choice_), names_, best_, static_cast<std::size_t>(taken),
                      left_out_);
}

void Contest::name_awaited(std::ostream& out) {
  out << "the ranks' decision on the quickest plan";
  const ReportLock lock(*this);
  if (!lock) return;
  if (stage_ == Stage::planning) {
    const auto in_progress = [](const auto& it) { return it && !it->over(); };
    const auto next = std::ranges::find_if(plannings_, in_progress);
    if (next == plannings_.end()) return;
    out << ", which waits for ";
    (*next)->name_awaited(out);
  } else if (allreduce_) {
    out << ", which waits for ";
    driver_.describe(out);
  }
}

void Contest::describe(std::ostream& out) const {
  if (!allreduce_) return;
  out << "vicinal: rank " << tree_.rank << " waits for ";
  driver_.describe(out);
  out << "\n";
}

Chosen chosen_of(std::shared_ptr<AgreedPlan> plan, const std::optional<PlanningTask>& contested,
                 Against against) {
  Chosen chosen{std::move(plan)};
  if (contested) {
    chosen.contest = std::make_shared<Contest>(*contested, chosen.plan, "", against);
  }
  return chosen;
}

}  // namespace vicinal

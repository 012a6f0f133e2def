// Counts calls by their block sizes, and plans those that repeat.
#include "collectives/gather_loops.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "base/log.hpp"
#include "choose/choose.hpp"

namespace vicinal {

/// Calls with a plan for particular block sizes.
class SizedQueue final : public CallQueue {
 public:
  SizedQueue(const Graph& graph, std::shared_ptr<KeptPlan> kept)
      : CallQueue(CallKind::allgather, graph),
        own_(static_cast<std::size_t>(graph.neighborhood().rank)),
        kept_(std::move(kept)),
        contest_(kept_->chosen().contest) {
    for (int channel = 0; channel < graph.settings().in_flight; ++channel) {
      plan_channels_.push_back(
          std::make_shared<PlanChannel>(PlanChannel{kept_, channel, nullptr, {}}));
    }
  }

  /// Contest between MPI's own allgather and plans; null if there is none, or it is over.
  [[nodiscard]] const std::shared_ptr<Contest>& contest() const { return contest_; }
  /// Number of the next call in the contest.
  [[nodiscard]] std::int64_t next() const { return calls_; }
  /// Counts the next call as one that MPI carries out.
  void leave_next() { ++calls_; }
  /// Ends the contest, and frees the plans that lost; if MPI's own allgather has won, all but the
  /// first.
  void settle() {
    if (contest_->winner() == nullptr) {
      for (const auto& channel : plan_channels_) channel->executions.reset();
      is_left_ = true;
    }
    contest_.reset();
  }
  /// Returns whether MPI's own allgather has won.
  [[nodiscard]] bool is_left() const { return is_left_; }

 private:
  void check_kind(const NeighborArguments& arguments) const override {
    const std::int64_t given = arguments.send.piece(0).bytes();
    const std::int64_t expected = arguments.receive.piece(own_).bytes();
    require(given == expected, Fault::count, "this rank gives a block of ", given,
            " bytes, and expects ", expected, " of itself; all ranks must expect what is given");
  }
  void prepare(Graph& /*graph*/, Entry /*entry*/) override { ++calls_; }
  std::shared_ptr<Call> make(const Graph& /*graph*/, Entry entry,
                             NeighborArguments* arguments) override {
    std::optional<Blocks> blocks;
    if (arguments != nullptr) {
      blocks.emplace(Blocks{Side(std::move(arguments->send)),
                            Side::gapless(std::move(arguments->receive)), 1});
    }
    return planned_call(plan_channels_[entry.channel(plan_channels_.size())], calls_ - 1,
                        std::move(blocks));
  }
  std::shared_ptr<AgreedPlan> ready_plan() override { return kept_->chosen().in_use(); }

  const std::size_t own_;
  const std::shared_ptr<KeptPlan> kept_;
  std::shared_ptr<Contest> contest_;
  std::int64_t calls_ = 0;  ///< number of calls that have entered, or that MPI has carried out
  bool is_left_ = false;
  std::vector<std::shared_ptr<PlanChannel>> plan_channels_;
};

namespace {

/// Makes a pattern in bytes. The blocks lie one after the other, in the order of ranks.
Pattern pattern_of(const Neighborhood& neighborhood, const std::vector<std::int64_t>& bytes) {
  Pattern pattern;
  pattern.identity = true;
  const Index own = bytes[static_cast<std::size_t>(neighborhood.rank)];
  for (const int rank : neighborhood.destinations) pattern.out.push_back({rank, {{0, 0, own}}});
  Index place = 0;
  for (const int rank : neighborhood.sources) {
    const Index count = bytes[static_cast<std::size_t>(rank)];
    InEdge& in = pattern.in.emplace_back();
    in.rank = rank;
    in.count = count;
    if (count > 0) in.slots.push_back({0, place, count});
    place += count;
  }
  return pattern;
}

std::string name_of(const BlockSizes& sizes) {
  if (sizes.size() == 1) return "blocks of " + std::to_string(sizes.front()) + " bytes";
  const auto all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  return "blocks of " + std::to_string(all) + " bytes in all";
}

}  // namespace

GatherLoops::Path GatherLoops::enter(const BlockSizes& sizes, Form form) {
  // Destroyed after the lock is released, since that may progress activities.
  std::list<Loop> forgotten;
  const Lock lock(mutex_);
  Loop& loop = find(sizes, forgotten);
  // Counts the call only when nothing can fail any more: a rank that fails to allocate may call
  // again.
  if (loop.calls + 1 == graph_->settings().options.plan_after) {
    loop.price = price_of(sizes);
    loop.stage = pays(loop.price) ? Stage::due : Stage::left;
  }
  ++loop.calls;
  if (form == Form::nonblocking) {
    loop.some_nonblocking = true;
    return {loop.is_contested ? nullptr : loop.queue};
  }
  for (Loop& each : loops_) {
    if (each.stage == Stage::due) plan(each);
  }
  return path_of_next(loop);
}

/// Waits if a decision is due.
GatherLoops::Path GatherLoops::path_of_next(Loop& loop) const {
  SizedQueue* const queue = loop.queue.get();
  if (queue == nullptr || queue->is_left()) return {};
  const auto contest = queue->contest();
  if (!contest) return {loop.queue};
  const std::int64_t number = queue->next();
  const bool is_left = contest->is_mpis_own(contest->await_plan(number));
  if (contest->is_settled(number)) {
    loop.measured = contest->outcome();
    queue->settle();
    return {is_left ? nullptr : loop.queue};
  }
  if (is_left) queue->leave_next();
  return {is_left ? nullptr : loop.queue, contest, number};
}

GatherLoops::Loop& GatherLoops::find(const BlockSizes& sizes, std::list<Loop>& forgotten) {
  const auto known = std::find_if(loops_.begin(), loops_.end(),
                                  [&](const Loop& loop) { return loop.sizes == sizes; });
  if (known != loops_.end()) {
    loops_.splice(loops_.begin(), loops_, known);
    return loops_.front();
  }
  if (loops_.size() == most_kept) {
    forgotten.splice(forgotten.begin(), loops_, std::prev(loops_.end()));
  }
  Loop& loop = loops_.emplace_front();
  loop.sizes = sizes;
  return loop;
}

void GatherLoops::plan(Loop& loop) const {
  try {
    PlanOptions options = graph_->settings().options;
    options.element_bytes = 1;
    options.unit = "bytes";
    options.one_block = true;
    const Planner& planner = graph_->planner(graph_->settings(), options);
    PlanningTask task = graph_->task(pattern_of(graph_->neighborhood(), by_rank(loop.sizes)),
                                     planner, options, std::nullopt, graph_->settings().in_flight);
    loop.is_contested = !loop.some_nonblocking && is_contested(task);
    const auto kept = std::make_shared<KeptPlan>(
        loop.is_contested ? std::optional<PlanningTask>(task) : std::nullopt, Against::mpi_too);
    kept->planning = Planning::begin(std::move(task));
    kept->planning->wait();
    // Throws on all ranks if there is no plan.
    loop.queue = std::make_shared<SizedQueue>(*graph_, kept);
    loop.stage = Stage::planned;
  } catch (const std::exception& fault) {
    loop.stage = Stage::left;
    log_line(LogLevel::warn, [&](std::ostream& line) {
      line << "allgathers of " << name_of(loop.sizes)
           << " are left to MPI, since there is no plan for them: " << fault.what();
    });
  }
}

std::vector<std::int64_t> GatherLoops::by_rank(const BlockSizes& sizes) const {
  if (sizes.size() > 1) return sizes;
  return std::vector<std::int64_t>(static_cast<std::size_t>(graph_->communicator().size()),
                                   sizes.front());
}

GatherPrice GatherLoops::price_of(const BlockSizes& sizes) const {
  return price_of_gather(*graph_->neighborhood().machine, graph_->settings().options,
                         by_rank(sizes));
}

bool GatherLoops::pays(const GatherPrice& price) const {
  // A planner that the user has named is used in any case.
  const std::string& named = graph_->settings().allgather;
  return named == "automatic" ? price.pays() : named != "direct";
}

bool GatherLoops::pays(const BlockSizes& sizes) const { return pays(price_of(sizes)); }

std::vector<GatherLoops::PlanInUse> GatherLoops::plans() {
  const Lock lock(mutex_);
  std::vector<PlanInUse> all;
  for (const Loop& loop : loops_) {
    if (!loop.queue) continue;
    all.push_back({name_of(loop.sizes), loop.queue->plan_in_use(), loop.price, loop.measured});
  }
  return all;
}

}  // namespace vicinal

// Counting calls by their sizes, and planning what has come often.
#include "collectives/gather_loops.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "base/log.hpp"

namespace vicinal {
namespace {

/// Calls whose plan is for blocks of these sizes.
class SizedQueue final : public CallQueue {
 public:
  SizedQueue(const Graph& graph, const std::shared_ptr<Planning>& planning)
      : CallQueue(CallKind::allgather, graph),
        own_(static_cast<std::size_t>(graph.neighborhood().rank)) {
    const auto kept = std::make_shared<KeptPlan>(std::nullopt);
    kept->planning = planning;
    for (int channel = 0; channel < graph.settings().in_flight; ++channel) {
      turns_.push_back(std::make_shared<PlanTurn>(PlanTurn{kept, channel, nullptr, {}}));
    }
  }

 private:
  void check_kind(const NeighborArguments& arguments) const override {
    const std::int64_t given = arguments.send.piece(0).bytes();
    const std::int64_t expected = arguments.receive.piece(own_).bytes();
    require(given == expected, Fault::count, "this rank gives a block of ", given,
            " bytes, and expects ", expected, " of itself; all ranks must expect what is given");
  }
  void prepare(Graph& /*graph*/, Entry /*entry*/) override {}
  std::shared_ptr<Call> make(const Graph& /*graph*/, Entry entry,
                             NeighborArguments* arguments) override {
    std::optional<Blocks> blocks;
    if (arguments != nullptr) {
      blocks.emplace(Blocks{Side(std::move(arguments->send)),
                            Side::gapless(std::move(arguments->receive)), 1});
    }
    return planned_call(turn_of(entry), entry.number, std::move(blocks));
  }
  std::shared_ptr<AgreedPlan> ready_plan() override {
    return turns_.front()->kept->chosen().in_use();
  }
  [[nodiscard]] const std::shared_ptr<PlanTurn>& turn_of(Entry entry) const {
    return turns_[static_cast<std::size_t>(entry.number) % turns_.size()];
  }

  const std::size_t own_;
  std::vector<std::shared_ptr<PlanTurn>> turns_;
};

/// In bytes: the blocks lie one after the other, in the order of ranks.
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

GatherLoops::Way GatherLoops::enter(const BlockSizes& sizes, Form form) {
  std::list<Loop> forgotten;  // destroyed after the lock: that may progress other things
  const Lock lock(mutex_);
  Loop& loop = find(sizes, forgotten);
  // Counted once nothing can fail any more: a rank without memory calls again.
  if (loop.calls + 1 == graph_->settings().options.plan_after) {
    loop.price = price_of(sizes);
    loop.stage = pays(loop.price) ? Stage::due : Stage::left;
  }
  ++loop.calls;
  if (form == Form::blocking) {
    for (Loop& each : loops_) {
      if (each.stage == Stage::due) plan(each);
    }
  }
  if (form == Form::nonblocking || !loop.queue || !loop.trial) return {loop.queue, nullptr};
  const GatherTrial::Call call = loop.trial->next(graph_->communicator());
  return {call.way == GatherTrial::Way::plan ? loop.queue : nullptr,
          call.number ? loop.trial : nullptr, call.number.value_or(0)};
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
    const auto planning =
        Planning::begin(graph_->task(pattern_of(graph_->neighborhood(), by_rank(loop.sizes)),
                                     planner, options, std::nullopt, graph_->settings().in_flight));
    planning->wait();
    static_cast<void>(planning->plan());  // throws where there is none: on all ranks
    loop.queue = std::make_shared<SizedQueue>(*graph_, planning);
    if (graph_->settings().allgather == "automatic") loop.trial = std::make_shared<GatherTrial>();
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
  // What a person has named is taken.
  const std::string& named = graph_->settings().allgather;
  return named == "automatic" ? price.pays() : named != "direct";
}

bool GatherLoops::pays(const BlockSizes& sizes) const { return pays(price_of(sizes)); }

std::vector<GatherLoops::PlanInUse> GatherLoops::plans() {
  const Lock lock(mutex_);
  std::vector<PlanInUse> all;
  for (const Loop& loop : loops_) {
    if (!loop.queue) continue;
    all.push_back({name_of(loop.sizes), loop.queue->plan_in_use(), loop.price,
                   loop.trial ? loop.trial->outcome() : std::string()});
  }
  return all;
}

}  // namespace vicinal

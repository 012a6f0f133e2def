// Creates graphs, and plans for them. Creation is collective, and a fault travels with the control
// messages of all ranks. A rank that cannot send those sends a fault notice to every other rank. A
// rank that has completed creation by then learns of it when it next plans on the graph.
#include "collectives/graph.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "base/guarded.hpp"
#include "base/log.hpp"
#include "choose/choose.hpp"
#include "collectives/adjacency.hpp"
#include "collectives/call_queue.hpp"
#include "discovery/findings.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/drive.hpp"
#include "mpi/topology.hpp"
#include "progress/progress_thread.hpp"

namespace vicinal {

namespace {

void check_neighbours(std::span<const int> ranks, int size, const char* what) {
  for (const int rank : ranks) {
    require(rank >= 0 && rank < size, Fault::rank, "a ", what, " is rank ", rank,
            ", but the communicator has ranks 0 to ", size - 1);
  }
}

/// Returns the ranks at the other ends of the edges.
std::vector<int> peers(const Ends& ends) {
  std::vector<int> ranks;
  ranks.reserve(ends.entry_of.size());
  for (const int entry : ends.entry_of)
    ranks.push_back(ends.ranks[static_cast<std::size_t>(entry)]);
  return ranks;
}

}  // namespace

Ends::Ends(std::vector<int> all) : ranks(std::move(all)), entry_of(ranks.size()) {
  std::iota(entry_of.begin(), entry_of.end(), 0);
}

Graph::Graph(std::shared_ptr<mpi::Communicator> communicator, Ends sources, Ends destinations,
             Settings settings, std::optional<Error> fault)
    : settings_(std::move(settings)),
      sources_(std::move(sources)),
      destinations_(std::move(destinations)),
      communicator_(std::move(communicator)),
      id_(next_graph_number(*communicator_)) {
  const mpi::NamedCall call(*communicator_, "the creation of a graph", {{id_, 0}, true});
  neighborhood_.rank = communicator_->rank();
  negotiate(std::move(fault));
}

void Graph::negotiate(std::optional<Error> fault) {
  try {
    std::vector<int> from = peers(sources_), to = peers(destinations_);
    std::shared_ptr<const Machine> machine;
    try {
      if (fault) throw *fault;
      prepare_process();
      check_neighbours(from, communicator_->size(), "source");
      check_neighbours(to, communicator_->size(), "destination");
      machine = communicator_->machine(settings_.regions);
      warn_of_shared_memory(settings_);
      tags_ = std::make_shared<const GraphTags>(communicator_, id_);
    } catch (...) {
      fault = current_fault();
      machine = communicator_->machine("node");
    }
    Conversation conversation;
    auto task = make_neighborhood(
        conversation, machine, communicator_->rank(), std::move(from), std::move(to),
        {fingerprint(settings_, communicator_->default_regions()),
         [this] { return given_settings(settings_, communicator_->default_regions()); },
         std::move(fault), settings_.options.idle_ranks_lead, communicator_->machine("node")});
    neighborhood_ = mpi::drive(*communicator_, {id_, 0}, conversation, task);
  } catch (const std::exception& exception) {
    const Error error = as_error(exception);
    if (error.is_on_all_ranks() || error.origin() >= 0) throw;  // all ranks learn of it
    // All ranks wait for this rank, which cannot continue: notify every rank.
    const auto others = [&] {
      std::set<int> ranks;
      for (int rank = 0; rank < communicator_->size(); ++rank) ranks.insert(rank);
      ranks.erase(communicator_->rank());
      return ranks;
    };
    mpi::give_notice(*communicator_, {id_, 0}, communicator_->rank(), others);
    throw;
  }
}

Graph::Graph(const Graph& original, std::int64_t number)
    : settings_(original.settings_),
      complete_(original.complete_),
      waits_for_repetition_(original.waits_for_repetition_),
      sources_(original.sources_),
      destinations_(original.destinations_),
      communicator_(original.communicator_),
      id_(number),
      neighborhood_(original.neighborhood_),
      tags_(std::make_shared<const GraphTags>(communicator_, number)) {}

Graph::~Graph() = default;

std::shared_ptr<Graph> Graph::clone(std::int64_t number) const {
  return std::shared_ptr<Graph>(new Graph(*this, number));
}

std::shared_ptr<Graph> Graph::from_topology(MPI_Comm user, Settings settings,
                                            std::optional<Error> fault) {
  auto communicator = mpi::Communicator::of(user);
  Ends sources, destinations;
  attempt(fault, [&] {
    mpi::Topology topology = mpi::topology_of(user);
    sources = {std::move(topology.sources.ranks), std::move(topology.sources.order)};
    destinations = {std::move(topology.destinations.ranks), std::move(topology.destinations.order)};
  });
  return make(std::move(communicator), std::move(sources), std::move(destinations),
              std::move(settings), std::move(fault));
}

std::shared_ptr<Graph> Graph::from_one_side(MPI_Comm user, std::vector<int> known, bool are_sources,
                                            Settings settings, std::optional<Error> fault) {
  auto communicator = mpi::Communicator::of(user);
  const mpi::NamedCall call(*communicator, "the creation of a graph");
  const int self = communicator->rank();
  std::vector<NamedEdge> edges;
  attempt(fault, [&] {
    check_neighbours(known, communicator->size(), are_sources ? "source" : "destination");
    for (const int rank : known)
      edges.push_back(are_sources ? NamedEdge{rank, self} : NamedEdge{self, rank});
  });
  Adjacency all = adjacency_of(*communicator, edges, settings, std::move(fault));
  (are_sources ? all.sources : all.destinations) = std::move(known);  // in the user's order
  return make(std::move(communicator), Ends(std::move(all.sources)),
              Ends(std::move(all.destinations)), std::move(settings), std::nullopt);
}

std::shared_ptr<Graph> Graph::complete(std::shared_ptr<mpi::Communicator> communicator,
                                       Settings settings, std::optional<Error> fault) {
  std::vector<int> all(static_cast<std::size_t>(communicator->size()));
  std::iota(all.begin(), all.end(), 0);
  const Ends ends(std::move(all));
  auto graph = make(std::move(communicator), ends, ends, std::move(settings), std::move(fault));
  graph->complete_ = true;
  return graph;
}

PlanningTask Graph::task(const Pattern& pattern, const Planner& planner, const PlanOptions& options,
                         std::optional<Error> fault, int channels) {
  PlanningTask task{communicator_, {},      &planner, neighborhood_,
                    pattern,       options, channels, std::move(fault)};
  task.options.complete = complete_;
  task.key = next_key();
  return task;
}

template <class Begin>
auto Graph::begin_or_tell(Begin begin) {
  mpi::check_usable();
  const mpi::ConversationKey key{id_, plans_ + 1};
  try {
    return begin();
  } catch (...) {
    plans_ = key.sequence;
    mpi::give_notice(*communicator_, key, communicator_->rank(),
                     [&] { return neighborhood_.dependents(); });
    throw;
  }
}

std::shared_ptr<AgreedPlan> Graph::plan(const Pattern& pattern, const Planner& planner,
                                        const PlanOptions& options, std::optional<Error> fault,
                                        int channels) {
  const auto planning = begin_or_tell([&] {
    PlanningTask wanted = task(pattern, planner, options, std::move(fault), channels);
    wanted.all_or_none = false;
    return Planning::begin(std::move(wanted));
  });
  planning->wait();
  return planning->plan();
}

const Planner& Graph::planner(const Settings& settings, PlanOptions& options, Named named) const {
  options.complete = complete_;
  const bool among_all = complete_ && options.one_block;
  const Planner& asked_for = find_planner(among_all ? settings.allgather : settings.strategy);
  std::string why_not = shortcoming(asked_for, options);
  if (why_not.empty() || named == Named::for_this) return asked_for;
  warn_of_strategy(settings, options.one_block,
                   "it " + why_not + "; what it cannot serve goes by 'automatic'");
  options.asked_for = asked_for.name;
  options.not_taken_since = "it " + std::move(why_not);
  return find_planner("automatic");
}

void Graph::refuse_plan(const Error& fault) {
  const auto planning = begin_or_tell(
      [&] { return Planning::begin(task({}, find_planner("direct"), {}, fault, 1)); });
  planning->wait();
  static_cast<void>(planning->plan());
  throw fault;  // for a rank that plans alone
}

Chosen Graph::plan_persistent(const Pattern& pattern, const Settings& settings, PlanOptions options,
                              std::optional<Error> fault, Named named, int channels) {
  const mpi::NamedCall call(*communicator_, "the planning of a persistent exchange",
                            {{id_, plans_ + 1}, true});
  if (may_relay(settings)) {
    std::optional<PlanningTask> wanted;
    const auto planning = begin_or_tell([&] {
      const Planner& taken = planner(settings, options, named);
      wanted = task(pattern, taken, options, std::move(fault), channels);
      if (has_choice(*wanted)) return std::shared_ptr<Planning>();
      wanted->all_or_none = false;
      if (is_contested(*wanted)) return Planning::begin(*wanted);
      return Planning::begin(*std::exchange(wanted, std::nullopt));
    });
    if (!planning) return choose_plan(*wanted);
    planning->wait();
    return chosen_of(planning->plan(), wanted);
  }
  const auto planning = begin_or_tell([&] {
    const Planner& asked_for =
        find_planner(complete_ && options.one_block ? settings.allgather : settings.strategy);
    const Planner& direct = find_planner("direct");
    if (&asked_for != &direct) {
      options.asked_for = asked_for.name;
      options.not_taken_since = "vicinal_progress is 'strict' and no progress thread runs";
      warn_of_strategy(settings, options.one_block, strict_goes_direct);
    }
    if (options.choice != Choice::estimate) {
      warn_of(settings, "vicinal_choice", name(options.choice), strict_goes_direct);
    }
    PlanningTask wanted = task(pattern, direct, options, std::move(fault), channels);
    wanted.all_or_none = false;
    return Planning::begin(std::move(wanted));
  });
  planning->wait();
  return {planning->plan()};
}

void Graph::warn_of_strategy(const Settings& settings, bool one_block,
                             std::string_view what) const {
  const bool among_all = complete_ && one_block;
  const char* key = among_all ? "vicinal_allgather" : "vicinal_strategy";
  const std::string& asked_for = among_all ? settings.allgather : settings.strategy;
  if (asked_for != "automatic" && asked_for != "direct") warn_of(settings, key, asked_for, what);
}

void Graph::warn_of(const Settings& settings, std::string_view key, std::string_view value,
                    std::string_view what) const {
  const bool speaks = neighborhood_.takes_part() && neighborhood_.tree.parent < 0;
  if (settings.given.contains(key) && speaks) warn_once(key, " is '", value, "', but ", what);
}

void Graph::warn_of_shared_memory(const Settings& settings) const {
  if (!settings.given.contains("vicinal_local") || !settings.options.shared_memory) return;
  communicator_->warn_of_shared_memory("vicinal_local is 'shared'");
}

CallQueue& Graph::calls(CallKind kind) {
  mpi::check_usable();
  std::atomic<CallQueue*>& ready = calls_[static_cast<std::size_t>(kind)];
  if (CallQueue* const queue = ready.load(std::memory_order_acquire)) return *queue;
  const Lock lock(mutex_);
  auto& queue = made_[static_cast<std::size_t>(kind)];
  if (!queue) queue = CallQueue::of(kind, *this);
  ready.store(queue.get(), std::memory_order_release);
  return *queue;
}

std::shared_ptr<AgreedPlan> Graph::plan_in_use(CallKind kind) {
  CallQueue* const queue = calls_[static_cast<std::size_t>(kind)].load(std::memory_order_acquire);
  return queue != nullptr ? queue->plan_in_use() : nullptr;
}

bool Graph::may_relay(const Settings& settings) const {
  return !settings.options.strict_progress || has_progress_thread();
}

}  // namespace vicinal

// How a call gets its number, and what follows from it.
#include "collectives/call_queue.hpp"

#include <exception>
#include <utility>

#include "base/guarded.hpp"
#include "collectives/graph.hpp"

namespace vicinal {

namespace {

/// What stands for the blocks of all calls when costs are estimated: it must not depend on any one call.
constexpr std::int64_t typical_block_bytes = 1024;

/// An element of the pattern is a block, whose place is the edge's entry in the user's arrays.
Pattern pattern_in_blocks(const Graph& graph, bool one_block) {
  const Neighborhood& neighborhood = graph.neighborhood();
  Pattern pattern;
  pattern.identity = one_block;
  for (std::size_t edge = 0; edge < neighborhood.destinations.size(); ++edge) {
    const Index block = one_block ? 0 : graph.destinations().entry_of[edge];
    pattern.out.push_back({neighborhood.destinations[edge], {{block, block, 1}}});
  }
  for (std::size_t edge = 0; edge < neighborhood.sources.size(); ++edge) {
    const Index block = graph.sources().entry_of[edge];
    pattern.in.push_back({neighborhood.sources[edge], 1, {{0, block, 1}}});
  }
  return pattern;
}

/// The size of all blocks.
std::int64_t block_bytes(const NeighborArguments& arguments) {
  const std::vector<EdgePiece>& send = arguments.send.pieces;
  const std::vector<EdgePiece>& receive = arguments.receive.pieces;
  if (send.empty()) return receive.front().bytes();
  const std::int64_t sent = send.front().bytes();
  const std::int64_t expected = receive.empty() ? sent : receive.front().bytes();
  require(sent == expected, Fault::count, "this rank sends ", sent,
          " bytes along each edge, and expects ", expected, "; all blocks must be of one size");
  return sent;
}

}  // namespace

CallQueue::CallQueue(CallKind kind, const Graph& graph)
    : kind_(kind),
      route_(std::make_shared<const DirectRoute>(
          DirectRoute{graph.shared_communicator(), graph.tags(), graph.neighborhood().sources,
                      graph.neighborhood().destinations})) {
  if (kind == CallKind::edges) {
    graph.warn_of_strategy(graph.settings(), false,
                           "blocking and nonblocking calls with counts go one message per edge; "
                           "their persistent forms are planned");
  }
}

bool CallQueue::goes_by_plan(const Graph& graph, std::int64_t number, bool blocking) const {
  if (kind_ == CallKind::edges) return false;
  return blocking || (number >= first_queued && graph.may_relay(graph.settings()));
}

CallQueue::Entered CallQueue::enter(Graph& graph, NeighborArguments arguments,
                                    std::optional<Error> fault, bool blocking) {
  const Lock lock(mutex_);
  const std::int64_t number = entered_++;
  if (kind_ != CallKind::edges && planned_.empty()) begin_planning(graph);
  const bool planned = goes_by_plan(graph, number, blocking);
  const bool strict = !planned && !blocking && number >= first_queued && kind_ != CallKind::edges;
  if (strict && !std::exchange(warned_, true)) {
    graph.warn_of_strategy(graph.settings(), kind_ == CallKind::allgather, strict_goes_direct);
  }
  const auto make = [&](NeighborArguments* given) VICINAL_REQUIRES(mutex_) {
    return planned ? planned_call(graph, number, given) : direct_call(number, given);
  };
  Entered entered;
  auto& [call, refused] = entered;
  try {
    if (fault) throw Error(*fault);
    check(arguments.send, "send");
    check(arguments.receive, "receive");
    if (kind_ != CallKind::edges) block_bytes(arguments);
    call = make(&arguments);
  } catch (...) {
    refused = std::current_exception();
    call = make(nullptr);
  }
  if (planned) {
    planned_[static_cast<std::size_t>(number) % planned_.size()]->last = call;
  } else {
    direct_[static_cast<std::size_t>(number) % direct_.size()] = call;
  }
  Call::enter(call);
  if (refused && !call->over()) activate_to_the_end(call);
  return entered;
}

void CallQueue::begin_planning(Graph& graph) {
  const Settings& settings = graph.settings();
  const bool one_block = kind_ == CallKind::allgather;
  PlanOptions options = settings.options;
  options.element_bytes = typical_block_bytes;
  options.unit = "blocks";
  options.one_block = one_block;
  const Planner& planner = graph.planner(settings, options);
  std::vector<std::shared_ptr<PlanTurn>> turns;
  for (int channel = 0; channel < settings.in_flight; ++channel) {
    turns.push_back(std::make_shared<PlanTurn>(PlanTurn{nullptr, channel, nullptr, {}}));
  }
  const auto planning = graph.begin_planning(pattern_in_blocks(graph, one_block), planner, options,
                                             std::nullopt, settings.in_flight);
  for (const auto& turn : turns) turn->planning = planning;
  planned_ = std::move(turns);
}

std::shared_ptr<Call> CallQueue::direct_call(std::int64_t number, NeighborArguments* arguments) {
  const int turn = static_cast<int>(number % GraphTags::turns);
  const int tag = route_->tags->tag(static_cast<int>(kind_), turn);
  auto last = direct_[static_cast<std::size_t>(turn)].lock();
  if (last && !last->holds_up()) last.reset();
  std::optional<DirectCall::Data> data;
  if (arguments != nullptr) data.emplace(std::move(arguments->send), std::move(arguments->receive));
  return std::make_shared<DirectCall>(route_, tag, std::move(data), std::move(last));
}

std::shared_ptr<Call> CallQueue::planned_call(const Graph& graph, std::int64_t number,
                                              NeighborArguments* arguments) {
  const auto& turn = planned_[static_cast<std::size_t>(number) % planned_.size()];
  std::optional<Blocks> blocks;
  if (arguments != nullptr) {
    const std::int64_t bytes = block_bytes(*arguments);
    blocks.emplace(Blocks{Side(std::move(arguments->send), bytes, graph.destinations()),
                          Side(std::move(arguments->receive), bytes, graph.sources()), bytes});
  }
  return std::make_shared<PlannedCall>(graph.shared_communicator(), turn, std::move(blocks));
}

}  // namespace vicinal

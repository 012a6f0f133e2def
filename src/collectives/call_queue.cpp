// Numbers calls, and decides by the number how each is carried out.
#include "collectives/call_queue.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/guarded.hpp"
#include "choose/choose.hpp"
#include "collectives/graph.hpp"

namespace vicinal {

namespace {

/// Block size for estimates of cost. It must not depend on any one call.
constexpr std::int64_t typical_block_bytes = 1024;

/// Makes a pattern whose elements are blocks. The place of a block is the edge's entry in the
/// user's arrays.
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

/// Returns the size of all blocks: the size sent, if receives may announce more than arrives.
std::int64_t block_bytes(const NeighborArguments& arguments) {
  const std::vector<EdgePiece>& send = arguments.send.pieces;
  const std::vector<EdgePiece>& receive = arguments.receive.pieces;
  if (send.empty()) {
    return receive.empty() ? arguments.idle_block_bytes : receive.front().bytes();
  }
  const std::int64_t sent = send.front().bytes();
  const std::int64_t expected = receive.empty() ? sent : receive.front().bytes();
  const bool fits = arguments.receive.at_most ? sent <= expected : sent == expected;
  require(fits, Fault::count, "this rank sends ", sent, " bytes along each edge, and expects ",
          expected, "; all blocks must be of one size");
  return sent;
}

/// Makes each piece announce `bytes` bytes.
void shorten(EdgeData& receive, std::int64_t bytes) {
  for (EdgePiece& piece : receive.pieces) {
    if (piece.bytes() == bytes) continue;
    require(bytes % piece.type.size == 0, Fault::count, "this rank sends ", bytes,
            " bytes along each edge, which are no whole number of the elements of ",
            piece.type.size, " bytes that it receives");
    piece.count = bytes / piece.type.size;
    note_room_left();
  }
}

std::optional<CallData> data_of(NeighborArguments* arguments, const EdgeRoute& route) {
  if (arguments == nullptr) return std::nullopt;
  return std::optional<CallData>(std::in_place, std::move(arguments->send),
                                 std::move(arguments->receive), *route.communicator);
}

}  // namespace

CallQueue::CallQueue(CallKind kind, const Graph& graph)
    : kind_(kind),
      route_(std::make_shared<const EdgeRoute>(EdgeRoute{graph.shared_communicator(), graph.tags(),
                                                         graph.neighborhood().sources,
                                                         graph.neighborhood().destinations})),
      plan_after_(graph.settings().options.plan_after) {}

std::unique_ptr<CallQueue> CallQueue::of(CallKind kind, const Graph& graph) {
  if (kind == CallKind::alltoallv || kind == CallKind::allgatherv) {
    return std::make_unique<CountQueue>(kind, graph);
  }
  return std::make_unique<BlockQueue>(kind, graph);
}

EnteredCall enter_call(Graph& graph, NeighborArguments&& arguments, std::optional<Error> fault,
                       Form form) {
  if (!graph.neighborhood().takes_part()) {
    if (fault) throw Error(*fault);
    return {};
  }
  const bool gathers = arguments.send.one_block, equal = arguments.equal_blocks;
  const CallKind kind = gathers ? (equal ? CallKind::allgather : CallKind::allgatherv)
                                : (equal ? CallKind::alltoall : CallKind::alltoallv);
  return graph.calls(kind).enter(graph, std::move(arguments), std::move(fault), form);
}

std::unique_ptr<Request> EnteredCall::request(const std::shared_ptr<Graph>& graph) const {
  if (refused) std::rethrow_exception(refused);
  return std::make_unique<CallRequest>(graph, call);
}

void EnteredCall::finish() const {
  if (!call) return;
  // Also for a refused call: other ranks may need this rank until its end, and the program may make
  // no progress afterwards.
  call->finish();
  if (refused) std::rethrow_exception(refused);
  if (call->fault()) std::rethrow_exception(call->fault());
}

EnteredCall CallQueue::enter(Graph& graph, NeighborArguments&& arguments,
                             std::optional<Error> fault, Form form) {
  const bool blocking = form == Form::blocking;
  EnteredCall entered;
  auto& [call, refused] = entered;
  try {
    if (fault) throw Error(*fault);
    check(arguments.send, "send");
    check(arguments.receive, "receive");
    check_kind(arguments);
    if (arguments.send.in_place) {
      arguments.send = copied(std::move(arguments.send), *route_->communicator);
    }
  } catch (...) {
    refused = std::current_exception();
  }
  {
    const Lock lock(mutex_);
    const Entry entry{entered_++, blocking};
    prepare(graph, entry);
    try {
      if (!refused) call = make(graph, entry, &arguments);
    } catch (...) {
      refused = std::current_exception();
    }
    if (refused) call = make(graph, entry, nullptr);
    Call::enter(call, blocking ? Call::Driver::caller : Call::Driver::everybody);
    if (refused && !call->over()) activate_to_the_end(call);
  }
  if (!blocking) call->await_data();
  return entered;
}

std::shared_ptr<AgreedPlan> CallQueue::plan_in_use() {
  const Lock lock(mutex_);
  try {
    return ready_plan();
  } catch (const std::exception&) {
    return nullptr;  // the plan could not be made
  }
}

bool CallQueue::may_relay(const Graph& graph, Entry entry) {
  return entry.blocking || graph.may_relay(graph.settings());
}

void CallQueue::warn_of_strict(const Graph& graph) {
  if (std::exchange(warned_, true)) return;
  const bool one_block = kind_ == CallKind::allgather || kind_ == CallKind::allgatherv;
  graph.warn_of_strategy(graph.settings(), one_block, strict_goes_direct);
}

int CallQueue::direct_tag(std::int64_t number) const {
  return route_->tags->tag(static_cast<int>(kind_),
                           static_cast<int>(number % GraphTags::tags_per_kind));
}

std::shared_ptr<const Call> CallQueue::holder_of_tag(std::int64_t number) const {
  auto last = direct_[static_cast<std::size_t>(number) % direct_.size()].lock();
  if (last && !last->holds_up()) last.reset();
  return last;
}

void CallQueue::keep_tag(std::int64_t number, const std::shared_ptr<Call>& call) {
  direct_[static_cast<std::size_t>(number) % direct_.size()] = call;
}

std::shared_ptr<Call> CallQueue::direct_call(std::int64_t number, NeighborArguments* arguments) {
  const auto call = std::make_shared<EdgeCall>(
      route_, EdgeCall::Tags{direct_tag(number)}, data_of(arguments, *route_),
      EdgeCall::After{nullptr, holder_of_tag(number)}, EdgeCall::ByPlan{});
  keep_tag(number, call);
  return call;
}

std::shared_ptr<Call> CallQueue::planned_call(const std::shared_ptr<PlanChannel>& channel,
                                              std::int64_t number, std::optional<Blocks>&& blocks) {
  const auto call =
      std::make_shared<PlannedCall>(route_->communicator, channel, number, std::move(blocks));
  channel->last = call;
  return call;
}

void BlockQueue::check_kind(const NeighborArguments& arguments) const { block_bytes(arguments); }

bool BlockQueue::goes_by_plan(const Graph& graph, Entry entry) const {
  const bool at_once = entry.blocking && !graph.waits_for_repetition();
  return at_once || (entry.number >= plan_after_ && may_relay(graph, entry));
}

void BlockQueue::prepare(Graph& graph, Entry entry) {
  if (entry.number >= plan_after_ && !goes_by_plan(graph, entry)) warn_of_strict(graph);
  const bool is_due =
      !graph.waits_for_repetition() || entry.number >= plan_after_ - lead(plan_after_);
  if (!planned_.empty() || !is_due) return;
  const Settings& settings = graph.settings();
  const bool one_block = kind_ == CallKind::allgather;
  PlanOptions options = settings.options;
  options.element_bytes = typical_block_bytes;
  options.any_size = true;
  options.unit = "blocks";
  options.one_block = one_block;
  const Planner& planner = graph.planner(settings, options);
  std::vector<std::shared_ptr<PlanChannel>> channels;
  for (int channel = 0; channel < settings.in_flight; ++channel) {
    channels.push_back(std::make_shared<PlanChannel>(PlanChannel{nullptr, channel, nullptr, {}}));
  }
  PlanningTask task = graph.task(pattern_in_blocks(graph, one_block), planner, options,
                                 std::nullopt, settings.in_flight);
  const bool may_contest = graph.may_relay(settings) && is_contested(task);
  const auto kept =
      std::make_shared<KeptPlan>(may_contest ? std::optional<PlanningTask>(task) : std::nullopt);
  kept->planning = Planning::begin(std::move(task));
  for (const auto& channel : channels) channel->kept = kept;
  planned_ = std::move(channels);
}

std::shared_ptr<Call> BlockQueue::make(const Graph& graph, Entry entry,
                                       NeighborArguments* arguments) {
  if (!goes_by_plan(graph, entry)) return direct_call(entry.number, arguments);
  std::optional<Blocks> blocks;
  if (arguments != nullptr) {
    const std::int64_t bytes = block_bytes(*arguments);
    shorten(arguments->receive, bytes);
    blocks.emplace(Blocks{Side(std::move(arguments->send), bytes, graph.destinations()),
                          Side(std::move(arguments->receive), bytes, graph.sources()), bytes});
  }
  return planned_call(channel_of(entry), entry.number - plan_after_, std::move(blocks));
}

std::shared_ptr<AgreedPlan> BlockQueue::ready_plan() {
  if (planned_.empty() || !planned_.front()->kept->planning->test()) return nullptr;
  return planned_.front()->kept->chosen().in_use();
}

std::shared_ptr<AgreedPlan> CountQueue::ready_plan() {
  if (eras_.empty() || !eras_.front().replan->over() || !eras_.front().replan->plan())
    return nullptr;
  return eras_.front().replan->plan()->chosen.in_use();
}

bool CountQueue::goes_by_replan(const Graph& graph, Entry entry) const {
  return may_relay(graph, entry) && !eras_.empty() && entry.number >= eras_.front().first;
}

void CountQueue::prepare(Graph& graph, Entry entry) {
  while (eras_.size() > 1 && entry.number >= eras_[1].first) eras_.pop_front();
  if (!eras_.empty() && eras_.front().replan->over()) eras_.front().replan->let_go();
  if (entry.number != next_effective_ - lead(next_effective_)) return;
  if (may_relay(graph, entry)) {
    begin_replan(graph);
  } else {
    warn_of_strict(graph);
  }
  next_effective_ += std::min(next_effective_, longest_period);
}

void CountQueue::begin_replan(Graph& graph) {
  const Settings& settings = graph.settings();
  PlanOptions options = settings.options;
  options.element_bytes = 8;
  options.unit = "words";
  options.one_block = kind_ == CallKind::allgatherv;
  const Planner& planner = graph.planner(settings, options);
  if (planner.name == "direct") return;
  const mpi::ConversationKey key = graph.next_key();
  channels_ = settings.in_flight;
  const std::shared_ptr<Replan> last = eras_.empty() ? nullptr : eras_.back().replan;
  eras_.push_back({next_effective_, nullptr});
  try {
    eras_.back().replan = Replan::begin({graph.task({}, planner, options, std::nullopt, channels_),
                                         key, next_effective_, graph.may_relay(settings),
                                         options.one_block, sizes_, last});
  } catch (...) {
    eras_.pop_back();
    throw;
  }
  sizes_.forget();
}

std::shared_ptr<Call> CountQueue::make(const Graph& graph, Entry entry,
                                       NeighborArguments* arguments) {
  const bool replanned = goes_by_replan(graph, entry);
  const std::shared_ptr<Replan> replan = replanned ? eras_.front().replan : nullptr;
  const bool known = replanned && replan->over();
  if (arguments != nullptr) {
    const CapacityPlan* const plan = known ? replan->plan().get() : nullptr;
    sizes_.note(arguments->send, plan != nullptr ? &plan->out.capacities : nullptr);
  }
  // A nonblocking call keeps its replan even if that has made no plan. Only with a replan does the
  // call progress before the user waits for it.
  const bool at_once = entry.blocking || arguments == nullptr;
  if (!replanned || (at_once && known && replan->has_no_plan())) {
    return direct_call(entry.number, arguments);
  }
  const auto channel = static_cast<int>(entry.channel(static_cast<std::size_t>(channels_)));
  const int overflow_kind = static_cast<int>(call_kinds) + static_cast<int>(kind_);
  const EdgeCall::Tags tags{direct_tag(entry.number), route_->tags->tag(overflow_kind, channel)};
  auto& last = by_channel_[static_cast<std::size_t>(channel)];
  const auto call =
      std::make_shared<EdgeCall>(route_, tags, data_of(arguments, *route_),
                                 EdgeCall::After{last.lock(), holder_of_tag(entry.number)},
                                 EdgeCall::ByPlan{replan, entry.number, channel});
  last = call;
  keep_tag(entry.number, call);
  return call;
}

}  // namespace vicinal

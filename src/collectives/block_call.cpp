// Plans in blocks, and their executions in turn.
#include "collectives/block_call.hpp"

#include <array>
#include <utility>

#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"
#include "pattern/allgather_pattern.hpp"

namespace vicinal {

namespace {

/// Strategies differ in what they make of small and of large blocks, and little else: the plans of
/// one class are alike. By class: the largest block, and the one that stands for it when costs are
/// estimated, which must not depend on which call comes first.
struct SizeClass {
  std::int64_t largest;
  std::int64_t typical;
};
constexpr std::array<SizeClass, 3> size_classes{
    {{1 << 10, 1 << 8}, {1 << 16, 1 << 13}, {INT64_MAX, 1 << 18}}};

int class_of(std::int64_t block_bytes) {
  int number = 0;
  while (block_bytes > size_classes[static_cast<std::size_t>(number)].largest) ++number;
  return number;
}

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

}  // namespace

std::shared_ptr<KeptPlan> block_plan(Graph& graph, bool one_block, std::int64_t block_bytes) {
  const int size_class = class_of(block_bytes);
  auto& kept =
      graph.kept({one_block ? KeptPlan::Use::allgather : KeptPlan::Use::alltoall, size_class});
  if (!kept) {
    const Settings& settings = graph.settings();
    PlanOptions options = settings.options;
    options.element_bytes = size_classes[static_cast<std::size_t>(size_class)].typical;
    options.unit = "blocks";
    options.one_block = one_block;
    graph.keep(kept, pattern_in_blocks(graph, one_block), graph.planner(settings, one_block),
               options, settings.in_flight);
  }
  kept->require_sound();
  return kept;
}

std::shared_ptr<KeptPlan> sizes_plan(Graph& graph, const EdgeData& receive) {
  std::vector<Index> bytes;
  for (const EdgePiece& piece : receive.pieces) bytes.push_back(piece.bytes());
  auto& kept = graph.kept_by_sizes(bytes);
  if (!kept) {
    const Settings& settings = graph.settings();
    PlanOptions options = settings.options;
    options.element_bytes = 1;
    options.unit = "bytes";
    options.one_block = true;
    const Pattern pattern = allgather_pattern(graph.neighborhood().rank, bytes);
    graph.keep(kept, pattern, graph.planner(settings, true), options, settings.in_flight);
  }
  kept->require_sound();
  return kept;
}

BlockCall::BlockCall(std::shared_ptr<Graph> graph, std::shared_ptr<KeptPlan> plan, Side send,
                     Side receive, std::int64_t element_bytes)
    : graph_(std::move(graph)),
      plan_(std::move(plan)),
      send_(std::move(send)),
      receive_(std::move(receive)),
      turn_(plan_->next_turn()) {
  send_.pack(graph_->communicator().handle());
  Binding binding;
  binding.source = send_.data();
  binding.target = receive_.data();
  binding.element_bytes = element_bytes;
  mpi::poll_until([&] {
    const std::lock_guard lock(turn_.mutex);
    if (turn_.holder != nullptr && !turn_.holder->advance()) return false;
    plan_->require_sound();
    turn_.execution.start(binding);
    turn_.holder = this;
    return true;
  });
}

BlockCall::~BlockCall() {
  if (!in_flight_) return;
  try {
    if (mpi::is_alive()) wait();
  } catch (const Error&) {
    // Whoever let go of the call without waiting does not want to hear of it.
  }
  const std::lock_guard lock(turn_.mutex);
  if (turn_.holder == this) turn_.holder = nullptr;
}

void BlockCall::start() {
  fail(Fault::request, "the request of a nonblocking call was started; it has begun with the call");
}

bool BlockCall::advance() {
  try {
    if (!turn_.execution.test()) return false;
    receive_.unpack(graph_->communicator().handle());
  } catch (const Error& error) {
    error_ = error;
    plan_->spoil(error);
  }
  turn_.holder = nullptr;
  return true;
}

bool BlockCall::test() {
  if (!in_flight_) return true;
  const std::lock_guard lock(turn_.mutex);
  if (turn_.holder == this && !advance()) return false;
  in_flight_ = false;
  if (error_) throw Error(*error_);
  return true;
}

void BlockCall::wait() {
  mpi::poll_until([&] { return test(); });
}

}  // namespace vicinal

// Converts the arguments of a neighborhood collective into a pattern in bytes.
#include "collectives/persistent_request.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "memory/kind.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"
#include "progress/activity.hpp"

namespace vicinal {

namespace {

using Items = std::optional<std::vector<Index>>;

/// Numbers identities from 0, in their order: only their equality matters. So identities of bytes
/// cannot overflow, however large the identities of elements are.
Items numbered(const Items& items) {
  if (!items) return std::nullopt;
  std::vector<Index> known(*items);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<Index> numbers;
  numbers.reserve(items->size());
  for (const Index item : *items) {
    numbers.push_back(std::lower_bound(known.begin(), known.end(), item) - known.begin());
  }
  return numbers;
}

/// Returns the elements of a piece as items of `bytes` bytes. The piece begins at element `first`
/// of `items`.
std::vector<ItemRun> identified(const std::vector<Index>& items, std::size_t first,
                                const EdgePiece& piece, Index place) {
  const Index bytes = piece.type.size;
  std::vector<ItemRun> runs;
  for (Index i = 0; i < piece.count; ++i) {
    const std::size_t element = first + static_cast<std::size_t>(i);
    require(element < items.size(), Fault::count, "identities were given for ", items.size(),
            " elements, but the send counts announce more; give one for each element");
    const ItemRun run{items[element] * bytes, place + i * bytes, bytes};
    if (!runs.empty()) {
      ItemRun& last = runs.back();
      if (last.identity + last.count == run.identity &&
          last.position + last.count == run.position) {
        last.count += bytes;
        continue;
      }
    }
    runs.push_back(run);
  }
  return runs;
}

Pattern make_pattern(const Neighborhood& neighborhood, const Side& send, bool one_block,
                     const Items& given, const Side& receive) {
  const Items items = numbered(given);
  Pattern pattern;
  pattern.identity = one_block || items.has_value();
  std::size_t element = 0;
  for (std::size_t edge = 0; edge < neighborhood.destinations.size(); ++edge) {
    const EdgePiece& piece = send.piece(edge);
    const Index place = send.place(edge);
    OutEdge& out = pattern.out.emplace_back();
    out.rank = neighborhood.destinations[edge];
    if (items) {
      out.items = identified(*items, element, piece, place);
      element += static_cast<std::size_t>(piece.count);
    } else {
      out.items.push_back({place, place, piece.bytes()});
    }
  }
  for (std::size_t edge = 0; edge < neighborhood.sources.size(); ++edge) {
    InEdge& in = pattern.in.emplace_back();
    in.rank = neighborhood.sources[edge];
    in.count = receive.piece(edge).bytes();
    if (in.count > 0) in.slots.push_back({0, receive.place(edge), in.count});
  }
  check(pattern, neighborhood.machine->size());
  return pattern;
}

void divide(Pattern& pattern, const Partitions& partitions) {
  for (std::size_t edge = 0; edge < pattern.out.size(); ++edge) {
    pattern.out[edge].partitions = partitions.sent().of_edge(edge);
  }
  for (std::size_t edge = 0; edge < pattern.in.size(); ++edge) {
    pattern.in[edge].partitions = partitions.received().of_edge(edge);
  }
}

}  // namespace

PersistentRequest::PersistentRequest(std::shared_ptr<Graph> graph)
    : ExecutionRequest(graph->shared_communicator(), Ownership::persistent),
      graph_(std::move(graph)) {}

void PersistentRequest::plan_for(NeighborArguments arguments, Settings settings,
                                 std::optional<Error> fault) {
  PlanOptions options = std::move(settings.options);
  options.element_bytes = 1;
  options.unit = "bytes";
  options.one_block = arguments.send.one_block;
  options.partitioned = arguments.partitions.has_value();
  Pattern pattern;
  try {
    if (fault) throw Error(*fault);
    check(arguments.send, "send");
    check(arguments.receive, "receive");
    std::optional<PartitionList> sent, received;
    if (options.partitioned) {
      sent.emplace("send", std::move(arguments.partitions->send), arguments.send,
                   graph_->destinations());
      received.emplace("receive", std::move(arguments.partitions->receive), arguments.receive,
                       graph_->sources());
    }
    send_ = Side(std::move(arguments.send), options.partitioned);
    receive_ = Side(std::move(arguments.receive));
    options.on_device =
        kind_out_of_reach(send_.data()) != nullptr || kind_out_of_reach(receive_.data()) != nullptr;
    pattern =
        make_pattern(graph_->neighborhood(), send_, options.one_block, arguments.items, receive_);
    if (options.partitioned) {
      partitions_ = std::make_shared<Partitions>(*std::move(sent), *std::move(received), send_,
                                                 receive_, communicator().handle());
      divide(pattern, *partitions_);
    }
  } catch (...) {
    fault = current_fault();
  }
  const bool graphs_own = settings.strategy == graph_->settings().strategy;
  const Named named = graphs_own ? Named::for_all : Named::for_this;
  execute(graph_->plan_persistent(pattern, settings, std::move(options), std::move(fault), named),
          false, 0);
}

void PersistentRequest::begin() {
  if (partitions_) {
    partitions_->reset();
  } else {
    try {
      send_.pack(communicator().handle());
    } catch (...) {
      executions().start_after_failure();
      throw;
    }
  }
  Binding binding;
  binding.source = send_.data();
  binding.target = receive_.data();
  if (partitions_) binding.events = partitions_;
  executions().start(binding);
}

void PersistentRequest::describe_missing(std::ostream& out) const {
  if (partitions_) partitions_->describe_missing(out);
}

void PersistentRequest::mark_ready(int neighbor, int first, int last) {
  if (!partitions_) return Request::mark_ready(neighbor, first, last);
  require(in_flight(), Fault::request, "partition ", first, " to neighbor ", neighbor,
          " was marked ready, but the request is not in flight; start it first");
  partitions_->mark(neighbor, first, last);
  if (mpi::thread_may_call()) executions().take_events();
}

bool PersistentRequest::has_arrived(int neighbor, int partition) {
  if (!partitions_) return Request::has_arrived(neighbor, partition);
  if (partitions_->has_arrived(neighbor, partition) || !in_flight()) return true;
  progress();
  if (partitions_->has_arrived(neighbor, partition)) return true;
  executions().check();
  mpi::Backoff::yield_core();
  return false;
}

void PersistentRequest::take() {
  // Partitions are unpacked as they arrive.
  if (!partitions_) receive_.unpack(communicator().handle());
}

}  // namespace vicinal

// The arguments of an all-to-all as a pattern in bytes.
#include "collectives/neighbor_alltoallv.hpp"

#include <algorithm>

namespace vicinal {

std::byte* NeighborAlltoallv::Side::data() { return packed ? bytes.data() : user + base; }

NeighborAlltoallv::Side NeighborAlltoallv::describe_side(const EdgeData& data, const char* what) {
  Side side;
  side.type = mpi::describe(data.type);
  side.packed = !side.type.contiguous;
  // The receive side is written through this pointer; the send side never is.
  side.user = static_cast<std::byte*>(const_cast<void*>(data.buffer));
  std::int64_t bytes = 0, lowest = 0;
  bool first = true;
  for (std::size_t edge = 0; edge < data.counts.size(); ++edge) {
    const Index count = data.counts[edge];
    require(count >= 0, Fault::count, "the ", what, " count of edge ", edge, " is ", count,
            "; counts must not be negative");
    const std::int64_t offset = data.displacements[edge] * side.type.extent;
    side.pieces.push_back({offset, side.packed ? bytes : offset, count});
    bytes += count * side.type.size;
    if (count == 0) continue;
    lowest = first ? offset : std::min(lowest, offset);
    first = false;
  }
  if (side.packed) {
    side.bytes.resize(static_cast<std::size_t>(bytes));
  } else {
    require(bytes == 0 || side.user != nullptr, Fault::buffer, "the ", what,
            " buffer is null, but its counts announce ", bytes, " bytes");
    side.base = lowest;
    for (Piece& piece : side.pieces) piece.packed_offset -= piece.count > 0 ? lowest : piece.packed_offset;
  }
  return side;
}

Pattern NeighborAlltoallv::make_pattern(const Graph& graph, const Side& send,
                                        const std::optional<std::vector<Index>>& items,
                                        const Side& receive) {
  const Neighborhood& neighborhood = graph.neighborhood();
  Pattern pattern;
  pattern.identity = items.has_value();
  const Index size = send.type.size;
  std::size_t element = 0;
  for (std::size_t edge = 0; edge < send.pieces.size(); ++edge) {
    const Piece& piece = send.pieces[edge];
    OutEdge& out = pattern.out.emplace_back();
    out.rank = neighborhood.destinations[edge];
    if (!items) {
      out.items.push_back({piece.packed_offset, piece.packed_offset, piece.count * size});
      continue;
    }
    for (Index i = 0; i < piece.count; ++i, ++element) {
      require(element < items->size(), Fault::count, "identities were given for ", items->size(),
              " elements, but the send counts announce more; give one for each element");
      const ItemRun run{(*items)[element] * size, piece.packed_offset + i * size, size};
      if (!out.items.empty()) {
        ItemRun& last = out.items.back();
        if (last.identity + last.count == run.identity && last.position + last.count == run.position) {
          last.count += size;
          continue;
        }
      }
      out.items.push_back(run);
    }
  }
  for (std::size_t edge = 0; edge < receive.pieces.size(); ++edge) {
    const Piece& piece = receive.pieces[edge];
    const Index bytes = piece.count * receive.type.size;
    InEdge& in = pattern.in.emplace_back();
    in.rank = neighborhood.sources[edge];
    in.count = bytes;
    if (bytes > 0) in.slots.push_back({0, piece.packed_offset, bytes});
  }
  check(pattern, neighborhood.machine->size());
  return pattern;
}

NeighborAlltoallv::NeighborAlltoallv(std::shared_ptr<Graph> graph, const EdgeData& send,
                                     std::optional<std::vector<Index>> items,
                                     const EdgeData& receive, const Settings& settings,
                                     std::optional<Error> fault)
    : graph_(std::move(graph)) {
  Pattern pattern;
  try {
    if (fault) throw *fault;
    send_ = describe_side(send, "send");
    receive_ = describe_side(receive, "receive");
    pattern = make_pattern(*graph_, send_, items, receive_);
  } catch (const Error& error) {
    fault = error;
  }
  PlanOptions options = settings.options;
  options.element_bytes = 1;
  options.unit = "bytes";
  auto plan = graph_->plan(pattern, find_planner(settings.strategy), options, std::move(fault));
  execution_ = std::make_unique<Execution>(std::move(plan), false, 0);
}

void NeighborAlltoallv::start() {
  if (send_.packed && !execution_->in_flight()) {
    for (const Piece& piece : send_.pieces) {
      mpi::pack(send_.type, send_.user + piece.user_offset, piece.count,
                send_.bytes.data() + piece.packed_offset, graph_->communicator().handle());
    }
  }
  Binding binding;
  binding.source = send_.data();
  binding.target = receive_.data();
  execution_->start(binding);
}

void NeighborAlltoallv::unpack() {
  if (!receive_.packed) return;
  for (const Piece& piece : receive_.pieces) {
    mpi::unpack(receive_.type, receive_.bytes.data() + piece.packed_offset,
            receive_.user + piece.user_offset, piece.count, graph_->communicator().handle());
  }
}

bool NeighborAlltoallv::test() {
  if (!execution_->in_flight()) return true;
  if (!execution_->test()) return false;
  unpack();
  return true;
}

void NeighborAlltoallv::wait() {
  if (!execution_->in_flight()) return;
  execution_->wait();
  unpack();
}

}  // namespace vicinal

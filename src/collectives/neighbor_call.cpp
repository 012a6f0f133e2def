// Which way a call takes.
#include "collectives/neighbor_call.hpp"

#include "collectives/block_call.hpp"
#include "collectives/direct_call.hpp"
#include "collectives/neighbor_exchange.hpp"

namespace vicinal {

namespace {

/// Of a rank that has nothing to do: complete from the beginning.
class NoCall final : public Request {
 public:
  explicit NoCall(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}
  void start() override {
    fail(Fault::request,
         "the request of a nonblocking call was started; it has begun with the call");
  }
  bool test() override {
    in_flight_ = false;
    return true;
  }
  void wait() override { in_flight_ = false; }
  [[nodiscard]] bool in_flight() const override { return in_flight_; }
  [[nodiscard]] Ownership ownership() const override { return Ownership::single_use; }
  [[nodiscard]] MPI_Comm user() const override { return graph_->user(); }

 private:
  std::shared_ptr<Graph> graph_;
  bool in_flight_ = true;  ///< as far as the user has been told
};

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

std::unique_ptr<Request> begin_in_blocks(const std::shared_ptr<Graph>& graph,
                                         NeighborArguments arguments) {
  const bool one_block = arguments.send.one_block;
  check(arguments.send, "send");
  check(arguments.receive, "receive");
  const std::int64_t bytes = block_bytes(arguments);
  if (bytes == 0) return std::make_unique<NoCall>(graph);
  Side send(std::move(arguments.send), bytes, graph->destinations());
  Side receive(std::move(arguments.receive), bytes, graph->sources());
  return std::make_unique<BlockCall>(graph, block_plan(*graph, one_block, bytes), std::move(send),
                                     std::move(receive), bytes);
}

std::unique_ptr<Request> begin_by_sizes(const std::shared_ptr<Graph>& graph,
                                        NeighborArguments arguments) {
  check(arguments.send, "send");
  check(arguments.receive, "receive");
  const auto own = static_cast<std::size_t>(graph->neighborhood().rank);
  const std::int64_t sent = arguments.send.piece(0).bytes();
  const std::int64_t expected = arguments.receive.piece(own).bytes();
  require(sent == expected, Fault::count, "this rank sends ", sent,
          " bytes, but its own receive count says ", expected,
          "; both describe the same block, so give the same size");
  std::int64_t all = 0;
  for (const EdgePiece& piece : arguments.receive.pieces) all += piece.bytes();
  if (all == 0) return std::make_unique<NoCall>(graph);
  auto plan = sizes_plan(*graph, arguments.receive);
  Side receive = Side::end_to_end(std::move(arguments.receive));
  return std::make_unique<BlockCall>(graph, std::move(plan), Side(std::move(arguments.send)),
                                     std::move(receive), 1);
}

std::unique_ptr<Request> begin_directly(const std::shared_ptr<Graph>& graph,
                                        const NeighborArguments& arguments) {
  check(arguments.send, "send");
  check(arguments.receive, "receive");
  return std::make_unique<DirectCall>(graph, tag_plan(*graph), arguments.send, arguments.receive);
}

}  // namespace

std::unique_ptr<Request> begin_neighbor_call(const std::shared_ptr<Graph>& graph,
                                             NeighborArguments arguments,
                                             std::optional<Error> fault) {
  const Neighborhood& neighborhood = graph->neighborhood();
  if (neighborhood.sources.empty() && neighborhood.destinations.empty()) {
    if (fault) throw Error(*fault);
    return std::make_unique<NoCall>(graph);
  }
  const std::string& strategy = graph->settings().strategy;
  const bool by_sizes = graph->is_complete() && arguments.send.one_block;
  if (!by_sizes && !arguments.equal_blocks && strategy != "automatic" && strategy != "direct") {
    auto planned = std::make_unique<NeighborExchange>(
        graph, std::move(arguments), graph->settings(), std::move(fault), Ownership::single_use);
    planned->begin();
    return planned;
  }
  graph->require_sound();
  try {
    if (fault) throw Error(*fault);
    if (arguments.equal_blocks) return begin_in_blocks(graph, std::move(arguments));
    if (by_sizes) return begin_by_sizes(graph, std::move(arguments));
    return begin_directly(graph, arguments);
  } catch (const Error& error) {
    graph->give_up(error);
  }
}

}  // namespace vicinal

// Measures the cost that start and wait of a direct plan add to its persistent messages. The cost
// is processor time per message, because waiting for the other rank is not the library's cost. The
// messages are also run by hand: with MPI_Waitall, and with tests and yields, as in the library,
// which never blocks inside MPI. The runs by hand are repeated: the difference between the two is
// the noise.
//
// ranks: 2
// also on ranks: 8
#include <vicinal/vicinal.h>

#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "api/shared.hpp"
#include "collectives/persistent_request.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace {

using bench::World;

constexpr int values_per_message = 8;

/// The messages of a plan, written by hand.
class ByHand {
 public:
  ByHand(const World& world, const vicinal::Plan& plan) {
    for (const vicinal::OperationKind kind :
         {vicinal::OperationKind::receive, vicinal::OperationKind::send}) {
      for (const vicinal::Operation& operation : plan.operations) {
        if (operation.kind != kind) continue;
        const auto bytes = static_cast<int>(operation.count);
        buffers_.emplace_back(static_cast<std::size_t>(bytes));
        MPI_Request& request = requests_.emplace_back();
        const auto init = kind == vicinal::OperationKind::send ? send_init : receive_init;
        init(buffers_.back().data(), bytes, operation.peer, world.handle(), &request);
      }
    }
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;
  ~ByHand() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  [[nodiscard]] int messages() const { return static_cast<int>(requests_.size()); }
  void start() { MPI_Startall(messages(), requests_.data()); }
  void run_waiting() {
    start();
    MPI_Waitall(messages(), requests_.data(), MPI_STATUSES_IGNORE);
  }
  void run_testing() {
    start();
    World::wait_all(requests_);
  }

 private:
  static void send_init(std::byte* buffer, int bytes, int peer, MPI_Comm world,
                        MPI_Request* request) {
    MPI_Send_init(buffer, bytes, MPI_BYTE, peer, 1, world, request);
  }
  static void receive_init(std::byte* buffer, int bytes, int peer, MPI_Comm world,
                           MPI_Request* request) {
    MPI_Recv_init(buffer, bytes, MPI_BYTE, peer, 1, world, request);
  }

  std::list<std::vector<std::byte>> buffers_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  bench::Report report(world, "overhead", argc, argv);
  std::vector<int> neighbours;
  for (int other = 0; other < world.size(); ++other) {
    if (other != world.rank()) neighbours.push_back(other);
  }
  const auto degree = static_cast<int>(neighbours.size());
  std::vector<double> sent(neighbours.size() * values_per_message, 1 + world.rank());
  std::vector<double> received(sent.size());
  std::vector<int> counts(neighbours.size(), values_per_message), offsets;
  for (int i = 0; i < degree; ++i) offsets.push_back(i * values_per_message);

  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_request request = VICINAL_REQUEST_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_strategy", "direct");
  vicinal_graph_create_adjacent(world.handle(), degree, neighbours.data(), MPI_UNWEIGHTED, degree,
                                neighbours.data(), MPI_UNWEIGHTED, info, 0, &graph);
  vicinal_neighbor_alltoallv_init(sent.data(), counts.data(), offsets.data(), MPI_DOUBLE,
                                  received.data(), counts.data(), offsets.data(), MPI_DOUBLE, graph,
                                  MPI_INFO_NULL, &request);
  MPI_Info_free(&info);

  const auto* object = vicinal::c_api::find(request);
  ByHand hand(world, dynamic_cast<const vicinal::PersistentRequest&>(*object).plan().forward());
  const auto waiting = [&] { hand.run_waiting(); };
  const auto testing = [&] { hand.run_testing(); };
  const auto planned = [&] {
    vicinal_start(&request);
    vicinal_wait(&request);
  };
  bench::Sampling sampling{201, 0.004, bench::Clock::cpu};
  const auto results = bench::compete(world,
                                      {{"MPI_Startall, MPI_Waitall", waiting},
                                       {"MPI_Startall, MPI_Waitall (again)", waiting},
                                       {"MPI_Startall, MPI_Testall until done", testing},
                                       {"MPI_Startall, MPI_Testall (again)", testing},
                                       {"vicinal direct, start and wait", planned}},
                                      sampling);
  report.table("Processor time per exchange, " + std::to_string(hand.messages()) + " messages",
               results, 0);
  const auto per_message = [&](std::size_t a, std::size_t b, double part) {
    return difference(results[a], results[b], part) * 1e9 / hand.messages();
  };
  report.heading("Nanoseconds of processor time per message (median of differences within a turn)");
  report.verdict("MPI_Waitall against itself: noise", per_message(1, 0, 0.5));
  report.verdict("  lower quartile", per_message(1, 0, 0.25));
  report.verdict("  upper quartile", per_message(1, 0, 0.75));
  report.verdict("MPI_Testall against itself: noise", per_message(3, 2, 0.5));
  report.verdict("vicinal direct over MPI_Waitall", per_message(4, 0, 0.5), 20);
  report.verdict("  lower quartile", per_message(4, 0, 0.25));
  report.verdict("  upper quartile", per_message(4, 0, 0.75));
  report.verdict("vicinal direct over MPI_Testall", per_message(4, 2, 0.5), 20);

  vicinal_request_free(&request);
  vicinal_graph_free(&graph);
  return 0;
}

// Measures the cost of an exchange in partitions compared with an unpartitioned one. The cost is
// the processor time per partition of start, marking and wait. Two ranks send each other equally
// many bytes. The benchmark also measures as many persistent messages by hand. The unpartitioned
// exchange runs twice: the difference is the noise. (MPI's own partitions are left out: with MPICH
// 5.0.2, testing them fails.)
//
// ranks: 2
#include <vicinal/vicinal.h>

#include <cstddef>
#include <string>
#include <vector>

#include "measure.hpp"
#include "report.hpp"

namespace {

using bench::World;

constexpr int bytes = 1 << 16;

struct Buffers {
  std::vector<std::byte> sent = std::vector<std::byte>(bytes, std::byte{1});
  std::vector<std::byte> received = std::vector<std::byte>(bytes);
};

/// An exchange in this number of partitions; 0 means unpartitioned.
class Planned {
 public:
  Planned(vicinal_graph graph, int partitions) : partitions_(partitions) {
    const int count = bytes, offset = 0;
    if (partitions == 0) {
      vicinal_neighbor_alltoallv_init(data_.sent.data(), &count, &offset, MPI_BYTE,
                                      data_.received.data(), &count, &offset, MPI_BYTE, graph,
                                      MPI_INFO_NULL, &request_);
    } else {
      vicinal_neighbor_alltoallv_partitioned_init(
          data_.sent.data(), &count, &offset, &partitions, MPI_BYTE, data_.received.data(), &count,
          &offset, &partitions, MPI_BYTE, graph, MPI_INFO_NULL, &request_);
    }
  }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;
  ~Planned() { vicinal_request_free(&request_); }
  void run() {
    vicinal_start(&request_);
    for (int i = 0; i < partitions_; ++i) vicinal_pready(request_, 0, i);
    vicinal_wait(&request_);
  }

 private:
  Buffers data_;
  int partitions_;
  vicinal_request request_ = VICINAL_REQUEST_NULL;
};

/// As many persistent messages, each started when its part is ready.
class ByHand {
 public:
  ByHand(const World& world, int messages) : messages_(messages) {
    const int each = bytes / messages, other = 1 - world.rank();
    for (int i = 0; i < 2 * messages; ++i) {
      const int part = i % messages;
      const auto init = [&](auto call, std::vector<std::byte>& memory) {
        call(memory.data() + static_cast<std::size_t>(part * each), each, MPI_BYTE, other, part,
             world.handle(), &requests_.emplace_back());
      };
      if (i < messages) {
        init(MPI_Recv_init, data_.received);
      } else {
        init(MPI_Send_init, data_.sent);
      }
    }
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;
  ~ByHand() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  void run() {
    MPI_Startall(messages_, requests_.data());
    for (int i = 0; i < messages_; ++i) {
      MPI_Start(&requests_[static_cast<std::size_t>(messages_ + i)]);
    }
    World::wait_all(requests_);
  }

 private:
  Buffers data_;
  int messages_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  world.insist(world.size() == 2, "this benchmark is for 2 ranks");
  bench::Report report(world, "partitions", argc, argv);
  const int other = 1 - world.rank();
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_strategy", "direct");
  vicinal_graph_create_adjacent(world.handle(), 1, &other, MPI_UNWEIGHTED, 1, &other,
                                MPI_UNWEIGHTED, info, 0, &graph);
  MPI_Info_free(&info);
  bench::Sampling sampling{101, 0.004, bench::Clock::cpu};
  for (const int partitions : {1, 16, 128}) {
    Planned whole(graph, 0), parts(graph, partitions);
    ByHand hand(world, partitions);
    std::vector<bench::Contestant> contestants{
        {"vicinal, as a whole", [&] { whole.run(); }},
        {"vicinal, as a whole (again)", [&] { whole.run(); }},
        {"persistent messages by hand", [&] { hand.run(); }},
        {"vicinal, in partitions", [&] { parts.run(); }}};
    const auto results = bench::compete(world, contestants, sampling);
    report.table("Processor time per exchange of 64 KiB, " + std::to_string(partitions) +
                     (partitions > 1 ? " partitions" : " partition"),
                 results, 0);
    report.heading("Nanoseconds of processor time per partition (median within a turn)");
    const auto per_partition = [&](std::size_t a, std::size_t b) {
      return difference(results[a], results[b]) * 1e9 / partitions;
    };
    report.verdict("as a whole against itself: noise", per_partition(1, 0));
    report.verdict("in partitions over as a whole", per_partition(3, 0));
    report.verdict("in partitions over messages by hand", per_partition(3, 2));
  }
  vicinal_graph_free(&graph);
  return 0;
}

// A partitioned exchange that checks itself.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "world.hpp"

namespace vicinal::testing {

/// An exchange in which rank r sends to r + shift for each shift. An edge carries 0, 12 or 24
/// elements. Sender and receiver choose their numbers of partitions independently.
class Partitioned {
 public:
  Partitioned(MPI_Comm comm, std::vector<int> shifts, const std::string& regions, int salt = 0)
      : rank_(rank_in(comm)), salt_(salt) {
    const int size = size_of(comm);
    for (const int shift : shifts) {
      sources_.push_back(around(rank_ - shift, size));
      destinations_.push_back(around(rank_ + shift, size));
    }
    graph_ = graph_of(comm, sources_, destinations_, regions);
    std::vector<int> out, in;
    for (std::size_t e = 0; e < shifts.size(); ++e) {
      out.push_back(count(rank_, destinations_[e], e));
      in.push_back(count(sources_[e], rank_, e));
      send_partitions.push_back(divisor(rank_, e));
      receive_partitions.push_back(divisor(rank_ + 1, e + 2));
    }
    send = Edges(out);
    receive = Edges(in);
  }
  int init(MPI_Info info, vicinal_request* request) {
    return vicinal_neighbor_alltoallv_partitioned_init(
        send.data.data(), send.counts.data(), send.displacements.data(), send_partitions.data(),
        MPI_INT64_T, receive.data.data(), receive.counts.data(), receive.displacements.data(),
        receive_partitions.data(), MPI_INT64_T, graph_, info, request);
  }
  /// Writes a partition and marks it ready.
  int make(vicinal_request request, int edge, int partition, int round) {
    const auto e = static_cast<std::size_t>(edge);
    const int each = send.counts[e] / send_partitions[e];
    for (int i = partition * each; i < (partition + 1) * each; ++i) {
      send.at(e, i) = value(rank_, destinations_[e], e, i, round);
    }
    return vicinal_pready(request, edge, partition);
  }
  /// Returns all partitions to send, as (edge, partition), in an order that depends on the round.
  [[nodiscard]] std::vector<std::pair<int, int>> order(int round) const {
    std::vector<std::pair<int, int>> all;
    for (std::size_t e = 0; e < send_partitions.size(); ++e) {
      for (int p = 0; p < send_partitions[e]; ++p) all.emplace_back(static_cast<int>(e), p);
    }
    std::shuffle(all.begin(), all.end(), std::mt19937(static_cast<unsigned>(round)));
    return all;
  }
  void make_all(vicinal_request request, int round) {
    for (const auto& [edge, partition] : order(round)) {
      SUCCEEDS(make(request, edge, partition, round));
    }
  }
  /// Makes all partitions in `threads` threads, while this thread waits for the request.
  void make_by_threads(vicinal_request request, int round, int threads) {
    const auto all = order(round);
    std::atomic<int> failed = 0;
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        for (std::size_t i = static_cast<std::size_t>(t); i < all.size();
             i += static_cast<std::size_t>(threads)) {
          if (make(request, all[i].first, all[i].second, round) != MPI_SUCCESS) ++failed;
        }
      });
    }
    SUCCEEDS(vicinal_wait(&request));
    for (std::thread& thread : team) thread.join();
    CHECK_EQUAL(failed.load(), 0);
  }
  void verify(int edge, int partition, int round) {
    const auto e = static_cast<std::size_t>(edge);
    const int each = receive.counts[e] / receive_partitions[e];
    for (int i = partition * each; i < (partition + 1) * each; ++i) {
      const std::int64_t expected = value(sources_[e], rank_, e, i, round);
      if (receive.at(e, i) == expected) continue;
      fail_check(__FILE__, __LINE__, "round ", round, ": element ", i, " of edge ", edge, " is ",
                 receive.at(e, i), ", not ", expected);
    }
  }
  void verify_all(int round) {
    for (std::size_t e = 0; e < receive_partitions.size(); ++e) {
      for (int p = 0; p < receive_partitions[e]; ++p) verify(static_cast<int>(e), p, round);
    }
  }
  /// Waits for each partition separately, in ascending order.
  void verify_as_they_arrive(vicinal_request request, int round) {
    for (std::size_t e = 0; e < receive_partitions.size(); ++e) {
      for (int p = 0; p < receive_partitions[e]; ++p) {
        for (int flag = 0; flag == 0;) {
          SUCCEEDS(vicinal_parrived(request, static_cast<int>(e), p, &flag));
        }
        verify(static_cast<int>(e), p, round);
      }
    }
  }
  [[nodiscard]] vicinal_graph graph() const { return graph_; }

  Edges send{{}}, receive{{}};
  std::vector<int> send_partitions, receive_partitions;

 private:
  [[nodiscard]] int divisor(int rank, std::size_t edge) const {
    constexpr std::array divisors{1, 2, 3, 4, 6, 12};
    return divisors[(static_cast<std::size_t>(rank + salt_) + edge) % divisors.size()];
  }
  [[nodiscard]] int count(int from, int to, std::size_t edge) const {
    return 12 * ((from * 3 + to + static_cast<int>(edge) + salt_) % 3);
  }
  [[nodiscard]] std::int64_t value(int from, int to, std::size_t edge, int i, int round) const {
    return ((((salt_ * 100LL + from) * 100 + to) * 10 + static_cast<int>(edge)) * 100 + i) * 10000 +
           round;
  }

  int rank_, salt_;
  std::vector<int> sources_, destinations_;
  GraphHandle graph_;
};

}  // namespace vicinal::testing

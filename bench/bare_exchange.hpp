// The exchange between regions with which benchmarks compare relays.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "measure.hpp"

namespace bench {

/// Sends one message of distinct values between each two regions, on otherwise idle ranks. No relay
/// is faster.
class BareExchange {
 public:
  /// `region_of`: by rank. `wanted`: the identities of one rank's values that another needs.
  template <class Wanted>
  BareExchange(const World& world, const std::vector<int>& region_of, const Wanted& wanted) {
    const int regions = *std::max_element(region_of.begin(), region_of.end()) + 1;
    std::vector<std::vector<int>> members(static_cast<std::size_t>(regions));
    for (int rank = 0; rank < world.size(); ++rank) {
      members[static_cast<std::size_t>(region_of[static_cast<std::size_t>(rank)])].push_back(rank);
    }
    for (std::size_t from = 0; from < members.size(); ++from) {
      for (std::size_t to = 0; to < members.size(); ++to) {
        if (from == to) continue;
        const int sender = members[from][to % members[from].size()];
        const int receiver = members[to][from % members[to].size()];
        if (sender != world.rank() && receiver != world.rank()) continue;
        std::set<std::pair<int, std::int64_t>> distinct;
        for (const int origin : members[from]) {
          for (const int reader : members[to]) {
            for (const std::int64_t item : wanted(origin, reader)) distinct.insert({origin, item});
          }
        }
        buffers_.push_back(std::make_unique<std::vector<double>>(distinct.size()));
        std::vector<double>& buffer = *buffers_.back();
        const int count = static_cast<int>(buffer.size());
        MPI_Request& request = requests_.emplace_back();
        if (sender == world.rank()) {
          MPI_Send_init(buffer.data(), count, MPI_DOUBLE, receiver, 1, world.handle(), &request);
        } else {
          MPI_Recv_init(buffer.data(), count, MPI_DOUBLE, sender, 1, world.handle(), &request);
        }
      }
    }
  }
  BareExchange(const BareExchange&) = delete;
  BareExchange& operator=(const BareExchange&) = delete;
  ~BareExchange() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  void run() {
    if (requests_.empty()) return;
    MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    World::wait_all(requests_);
  }

 private:
  std::vector<std::unique_ptr<std::vector<double>>> buffers_;
  std::vector<MPI_Request> requests_;
};

}  // namespace bench

// Measures discovery of neighbors. Each rank needs each of every other rank's 64 values with
// probability 0.05, and tells the owners which. The owners know neither which ranks ask nor for how
// much. The benchmark compares with current practice, counts by MPI_Alltoall and then messages. A
// second pattern, in which each rank asks at most two others, leaves nothing to aggregate.
//
// ranks: 8
// hosts: yes
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "discovery/exchange.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace {

using bench::Contestant;
using bench::World;
using vicinal::Method;

constexpr int values_per_rank = 64;
constexpr double probability = 0.05;

using Wanted = std::vector<std::int64_t>;

/// Returns the values of `owner` that `reader` needs; equal on all ranks.
Wanted many_partners(int owner, int reader, int) {
  std::mt19937 random(static_cast<unsigned>(owner * 4099 + reader));
  std::bernoulli_distribution needs(probability);
  Wanted items;
  for (std::int64_t item = 0; item < values_per_rank; ++item) {
    if (needs(random)) items.push_back(item);
  }
  return items;
}

Wanted two_partners(int owner, int reader, int size) {
  const int step = (owner - reader + size) % size;
  return step == 1 || step == size / 2 ? Wanted{1, 5, 8} : Wanted{};
}

/// The requests that one rank sends, and those that it should receive.
struct Pattern {
  std::vector<std::pair<int, Wanted>> asked, expected;

  template <class Rule>
  Pattern(const World& world, Rule rule) {
    for (int other = 0; other < world.size(); ++other) {
      if (other == world.rank()) continue;
      Wanted mine = rule(other, world.rank(), world.size());
      if (!mine.empty()) asked.emplace_back(other, std::move(mine));
      Wanted theirs = rule(world.rank(), other, world.size());
      if (!theirs.empty()) expected.emplace_back(other, std::move(theirs));
    }
  }
};

/// Exchanges counts by a collective, then messages of known sizes.
std::vector<std::pair<int, Wanted>> by_alltoall(const World& world, const Pattern& pattern) {
  std::vector<int> counts(static_cast<std::size_t>(world.size()));
  std::vector<int> theirs(counts.size());
  for (const auto& [owner, items] : pattern.asked) {
    counts[static_cast<std::size_t>(owner)] = static_cast<int>(items.size());
  }
  MPI_Alltoall(counts.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, world.handle());
  std::vector<std::pair<int, Wanted>> received;
  for (int rank = 0; rank < world.size(); ++rank) {
    const int count = theirs[static_cast<std::size_t>(rank)];
    if (count > 0) received.emplace_back(rank, static_cast<std::size_t>(count));
  }
  std::vector<MPI_Request> requests;
  for (auto& [reader, items] : received) {
    MPI_Irecv(items.data(), static_cast<int>(items.size()), MPI_INT64_T, reader, 7, world.handle(),
              &requests.emplace_back());
  }
  for (const auto& [owner, items] : pattern.asked) {
    MPI_Isend(items.data(), static_cast<int>(items.size()), MPI_INT64_T, owner, 7, world.handle(),
              &requests.emplace_back());
  }
  World::wait_all(requests);
  return received;
}

std::vector<vicinal::Parcel> parcels_of(const Pattern& pattern) {
  std::vector<vicinal::Parcel> parcels;
  for (const auto& [owner, items] : pattern.asked) {
    parcels.push_back({owner, std::as_bytes(std::span(items))});
  }
  return parcels;
}

std::vector<std::pair<int, Wanted>> items_of(const vicinal::Inbox& inbox) {
  std::vector<std::pair<int, Wanted>> items;
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    const auto bytes = inbox.message(i);
    items.emplace_back(inbox.ranks[i], bytes.size() / sizeof(std::int64_t));
    std::copy(bytes.begin(), bytes.end(),
              std::as_writable_bytes(std::span(items.back().second)).begin());
  }
  return items;
}

void compare(const World& world, bench::Report& report, const std::string& title,
             const Pattern& pattern, double aim) {
  const auto communicator = vicinal::mpi::Communicator::of(world.handle());
  std::vector<Contestant> contestants;
  const auto add_reference = [&](const std::string& name) {
    contestants.push_back({name, [&] {
                             world.insist(by_alltoall(world, pattern) == pattern.expected,
                                          "the reference delivers something else");
                           }});
  };
  add_reference("MPI_Alltoall of counts, then messages");
  add_reference("MPI_Alltoall of counts (again)");
  for (const Method method : {Method::personalized, Method::nonblocking, Method::locality,
                              Method::locality_personalized, Method::automatic}) {
    const std::string name = "vicinal " + std::string(vicinal::name(method));
    contestants.push_back(
        {name, [&world, &pattern, name, method, communicator] {
           const vicinal::Inbox inbox = exchange(*communicator, parcels_of(pattern), method);
           world.insist(items_of(inbox) == pattern.expected, name + " delivers something else");
         }});
  }
  const auto results = bench::compete(world, contestants, {});
  report.table(title, results, 0);
  report.heading("Figures");
  const std::string reference = " / MPI_Alltoall and messages";
  for (std::size_t i = 4; i < results.size(); ++i) {
    report.verdict(results[i].name + reference, ratio(results[i], results[0]), aim);
  }
}

/// Messages of one size can use one more method.
void compare_blocks(const World& world, bench::Report& report) {
  const auto communicator = vicinal::mpi::Communicator::of(world.handle());
  const std::int64_t word = world.rank();
  std::vector<vicinal::Parcel> parcels;
  for (const int step : {1, world.size() / 2}) {
    parcels.push_back({(world.rank() + step) % world.size(), std::as_bytes(std::span(&word, 1))});
  }
  std::vector<Contestant> contestants;
  for (const Method method : {Method::automatic, Method::one_sided}) {
    contestants.push_back({"vicinal " + std::string(vicinal::name(method)), [=, &world] {
                             const vicinal::Inbox inbox =
                                 exchange_blocks(*communicator, parcels, sizeof word, method);
                             world.insist(inbox.size() == 2, "a block is missing");
                           }});
  }
  bench::Sampling sampling;
  sampling.repetitions = 3;
  report.table("Two blocks of 8 bytes each", bench::compete(world, contestants, sampling), 0);
}

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  bench::Report report(world, "sparse_exchange", argc, argv);
  // All connections exist before any measurement.
  for (int i = 0; i < 3; ++i) {
    by_alltoall(world, Pattern(world, [](int, int, int) { return Wanted{1}; }));
  }
  compare(world, report, "Asking 95 % of the other ranks", Pattern(world, many_partners), 0.25);
  compare(world, report, "Asking two other ranks", Pattern(world, two_partners), 1);
  compare_blocks(world, report);
  return 0;
}

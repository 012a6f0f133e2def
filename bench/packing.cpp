// Measures the cost of handing data to a leader. Each of 4 ranks sends 100,000 scattered eight-byte
// values to the other region, and never leads its own data. In one halo ranks 0 and 2 send through
// leaders 1 and 3. In another, ranks 1 and 3 send through leaders 0 and 2. Both run at once.
// Relaying saves almost nothing here, so that its cost is visible. With one rank per region there
// is nothing to relay, and it must cost nothing.
//
// ranks: 4
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/halo.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace {

using bench::World;
using vicinal::Halo;
using vicinal::Index;

constexpr Index owned_count = 1 << 20;
constexpr Index sent_count = 100'000;
/// Distance between the positions that are sent: no two values are adjacent.
constexpr Index stride = 7;

vicinal::Settings settings(const std::string& regions, const std::string& strategy, int shift) {
  vicinal::Settings chosen;
  chosen.regions = regions;
  chosen.strategy = strategy;
  chosen.options.leader_shift = shift;
  return chosen;
}

/// Ranks `sender` and `sender` + 2 send half of their values to each rank of the other region.
std::vector<Index> needed(const World& world, int sender) {
  const int origin = world.rank() < 2 ? sender + 2 : sender;
  std::vector<Index> indices;
  for (Index i = 0; i < sent_count / 2; ++i) {
    indices.push_back(origin * owned_count + (2 * i + world.rank() % 2) * stride);
  }
  return indices;
}

/// Returns whether another rank leads the data that this rank sends.
bool contributes_to_another(const vicinal::Plan& plan) {
  bool hands_over = false;
  for (const vicinal::Operation& operation : plan.operations) {
    if (operation.phase == vicinal::Phase::gather &&
        operation.kind == vicinal::OperationKind::copy) {
      const auto to = static_cast<std::size_t>(operation.to);
      if (plan.buffers[to].space == vicinal::Space::shared)
        hands_over = plan.buffers[to].peer_index >= 0;
    }
  }
  return hands_over;
}

/// Both halos of one strategy, and their ghosts.
class Pair {
 public:
  Pair(const World& world, const std::string& regions, const std::string& strategy)
      : owned_(static_cast<std::size_t>(owned_count)) {
    const Index first = world.rank() * owned_count;
    for (Index i = 0; i < owned_count; ++i) {
      owned_[static_cast<std::size_t>(i)] = static_cast<double>(first + i);
    }
    const bool relayed = strategy == "aggregate" && regions == "blocks:2";
    for (int sender = 0; sender < 2; ++sender) {
      const std::vector<Index> indices = needed(world, sender);
      std::unique_ptr<Halo>& halo = halos_[static_cast<std::size_t>(sender)];
      double failed = 1;
      for (int shift = 0; shift < 2 && failed > 0; ++shift) {
        halo = std::make_unique<Halo>(world.handle(),
                                      Halo::Owned{std::pair{first, first + owned_count}}, indices,
                                      std::vector<int>{}, settings(regions, strategy, shift));
        const bool sends = world.rank() % 2 == sender;
        failed = world.largest(
            relayed && sends && !contributes_to_another(halo->plan().forward()) ? 1 : 0);
      }
      world.insist(failed == 0, "a contributor is its own leader");
      std::vector<double>& ghosts = ghosts_[static_cast<std::size_t>(sender)];
      ghosts.assign(indices.size(), -1);
      expected_[static_cast<std::size_t>(sender)].assign(indices.begin(), indices.end());
    }
    run();
    world.insist(ghosts_ == expected_, strategy + " delivers wrong values");
  }
  void run() {
    std::array<vicinal::Request*, 2> requests{};
    for (std::size_t i = 0; i < 2; ++i) {
      requests[i] = &halos_[i]->start(owned_.data(), ghosts_[i].data(), {});
    }
    for (vicinal::Request* request : requests) request->wait();
  }

 private:
  std::vector<double> owned_;
  std::array<std::unique_ptr<Halo>, 2> halos_;
  std::array<std::vector<double>, 2> ghosts_, expected_;
};

void compare(const World& world, bench::Report& report, const std::string& regions,
             const std::string& title, double target) {
  Pair direct(world, regions, "direct");
  Pair aggregate(world, regions, "aggregate");
  const auto results = bench::compete(world,
                                      {{"direct", [&] { direct.run(); }},
                                       {"direct (again)", [&] { direct.run(); }},
                                       {"aggregate", [&] { aggregate.run(); }}},
                                      {});
  report.table(title, results, 0);
  report.verdict("aggregate / direct", ratio(results[2], results[0]), target);
}

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  bench::Report report(world, "packing", argc, argv);
  world.insist(world.size() == 4, "this benchmark is for 4 ranks");
  compare(world, report, "blocks:2", "2 regions of 2 ranks", 2.5);
  compare(world, report, "blocks:1", "4 regions of 1 rank", 1.1);
  return 0;
}

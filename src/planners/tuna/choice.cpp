// The tree allreduce of volumes, and the decision at its root.
#include "planners/tuna/choice.hpp"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <sstream>

#include "negotiate/rank_tree.hpp"
#include "planners/tuna/estimate.hpp"

namespace vicinal::tuna {

namespace {

/// Factor by which storing and forwarding must be faster than the alternative of `automatic`.
/// Blocks are not all of one size, and relays see which ones are large.
constexpr double worth_its_while = 1.15;

/// The volume of ranks' blocks.
struct Volume {
  static constexpr std::string_view name = "volume of blocks";
  Index most = 0;    ///< elements that one rank sends to others, or receives from them
  Index all = 0;     ///< elements that all ranks send to others
  Index blocks = 0;  ///< nonempty ones
};
void fields(auto&& take, Is<Volume> auto& it) { take(it.most, it.all, it.blocks); }

Volume volume_of(const PlanRequest& request) {
  const int self = request.neighborhood.rank;
  Volume volume;
  Index sent = 0, received = 0;
  for (const OutEdge& edge : request.pattern.out) {
    if (edge.rank == self) continue;
    const Index count = item_count(edge);
    sent += count;
    if (count > 0) ++volume.blocks;
  }
  for (const InEdge& edge : request.pattern.in) {
    if (edge.rank != self) received += edge.count;
  }
  volume.most = std::max(sent, received);
  volume.all = sent;
  return volume;
}

std::string text_of(const Scheme& scheme, const Machine& machine) {
  std::ostringstream text;
  text << "radix " << std::min(scheme.radix, machine.size());
  if (!scheme.by_region) return std::move(text).str();
  text << " inside regions, ";
  if (scheme.between >= machine.regions()) {
    text << "straight between them";
  } else {
    text << scheme.between << " between them";
  }
  return std::move(text).str();
}

class Weighing final : public TreeAllreduce<Volume, Decision> {
 public:
  Weighing(const PlanRequest& request, Among among)
      : request_(request), among_(among), volume_(volume_of(request)) {}

  void hear(int, Volume report) override {
    volume_.most = std::max(volume_.most, report.most);
    volume_.all += report.all;
    volume_.blocks += report.blocks;
  }
  Volume report() override { return volume_; }
  void learn(Decision decision) override { decision_ = std::move(decision); }
  Decision instruct(const RankTree::Child&) override { return decision_; }

  void decide() override {
    const PlanOptions& options = request_.options;
    const Machine& machine = *request_.neighborhood.machine;
    const double others = std::max(1, machine.size() - 1);
    const double blocks = others * machine.size();
    const auto element_bytes = static_cast<double>(options.element_bytes);
    const Exchange exchange{machine,
                            options.profile,
                            static_cast<double>(volume_.most) / others * element_bytes,
                            static_cast<double>(volume_.all) / blocks * element_bytes,
                            static_cast<double>(volume_.blocks) / blocks,
                            options.shared_memory};
    reason_ << std::fixed << std::setprecision(1) << "by the profile, with blocks of "
            << exchange.block_bytes << " bytes, it takes";
    if (among_ == Among::planners) {
      weigh_planners(exchange);
    } else {
      const Estimate best = best_scheme(exchange, among_ == Among::regions, options.radix);
      decision_.forwards = true;
      decision_.scheme = best.scheme;
      reason_ << ' ' << best.seconds * 1e6 << " us with " << text_of(best.scheme, machine)
              << ", less than with others";
    }
    decision_.reason = std::move(reason_).str();
  }

  [[nodiscard]] Decision take() { return std::move(decision_); }

 private:
  void weigh_planners(const Exchange& exchange) {
    const Bias& bias = request_.options.bias;
    double least = std::numeric_limits<double>::infinity();
    for (const Relay& it : relays(exchange)) {
      reason_ << ' ' << it.planner << ' ' << it.seconds * 1e6 << " us,";
      least = std::min(least, it.seconds * bias.of(it.planner) / worth_its_while);
    }
    for (const bool by_region : {false, true}) {
      const Estimate it = best_scheme(exchange, by_region, request_.options.radix);
      const std::string_view planner = by_region ? "tuna-hierarchical" : "tuna";
      reason_ << (by_region ? " and " : " ") << planner << ' ' << it.seconds * 1e6 << " us ("
              << text_of(it.scheme, *request_.neighborhood.machine) << (by_region ? ")" : "),");
      const double cost = it.seconds * bias.of(planner);
      if (cost >= least) continue;
      least = cost;
      decision_.forwards = true;
      decision_.scheme = it.scheme;
    }
  }

  const PlanRequest& request_;
  Among among_;
  Volume volume_;
  std::ostringstream reason_;
  Decision decision_;
};

}  // namespace

Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Among among) {
  Weighing weighing(request, among);
  Task<Done> allreduce =
      tree_allreduce(request.conversation, request.neighborhood.tree, faults, weighing);
  co_await allreduce;
  co_return weighing.take();
}

}  // namespace vicinal::tuna

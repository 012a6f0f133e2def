// The tree allreduce of volumes, the decision at its root, and the supersteps. A block that is
// empty in both directions of an edge does not travel; no rank misses it. Stores are numbered as in
// Transfers: the source, the target, then the store of forwarded data.
#include "planners/tuna/negotiation.hpp"

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

namespace {

constexpr int passing_store = Plan::target + 1;

Phase phase_of(bool local) { return local ? Phase::local : Phase::non_local; }

}  // namespace

TunaNegotiation::TunaNegotiation(PlanRequest& request) : Ground(request) {
  find_links(false);
  hold_own();
}

void TunaNegotiation::hold_own() {
  for (const auto& [peer, link] : out_links_) {
    const auto back = in_links_.find(peer);
    const Index expected = back == in_links_.end() ? 0 : back->second.count;
    if (peer == rank_ || (link.count == 0 && expected == 0)) continue;
    held_.push_back({{rank_, peer, link.count, expected}, -1});
  }
}

Task<Plans> TunaNegotiation::run_fastest(Among among, std::string_view planner) {
  Scheme scheme;
  std::string reason;
  if (options_.radix > 0) {
    scheme = {among == Among::regions, options_.radix, std::max(2, machine_.regions())};
  } else if (takes_part()) {
    Task<Decision> deciding = decide(request_, faults_, among);
    Decision decision = co_await deciding;
    if (!faults_.good()) co_return finish(planner);  // all ranks know of the fault
    scheme = decision.scheme;
    reason = std::move(decision.reason);
  }
  Task<Plans> running = run(scheme, planner, std::move(reason));
  co_return co_await running;
}

Task<Plans> TunaNegotiation::run(Scheme scheme, std::string_view planner, std::string reason) {
  if (takes_part()) {
    const Route route(machine_, scheme);
    for (int superstep = 0; superstep < route.supersteps(); ++superstep) {
      co_await forward(route, superstep);
    }
    if (faults_.good()) compare_counts();
  }
  if (faults_.good()) write_transfers();
  co_return finish(planner, std::move(reason));
}

// --- one superstep -------------------------------------------------------------------------------

Task<Done> TunaNegotiation::forward(const Route& route, int superstep) {
  std::map<int, std::vector<Held>> leaving;
  std::vector<Held> staying;
  for (Held& it : held_) {
    const int next = route.next(superstep, rank_, it.block.destination);
    (next == rank_ ? staying : leaving[next]).push_back(it);
  }
  held_ = std::move(staying);
  Superstep& now = supersteps_.emplace_back();
  ControlMessages outbox;
  for (const int taker : route.takers(superstep, rank_)) {
    outbox.push_back(message_to(taker, hand_on(taker, std::move(leaving[taker]), now)));
  }
  Expected expected(route.givers(superstep, rank_), "forwarded blocks");
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<Forwarded>(inbox, [&](int giver, Forwarded message) {
    accept(giver, std::move(message), supersteps_.back());
  });
  co_return Done{};
}

Forwarded TunaNegotiation::hand_on(int taker, std::vector<Held> blocks, Superstep& now) {
  Forwarded message;
  Part own{Plan::source, {}}, passing{passing_store, {}};
  Index count = 0;
  for (const Held& it : blocks) {
    message.blocks.push_back(it.block);
    if (it.offset >= 0) {
      append_run(passing.runs, {it.offset, count, it.block.count});
    } else {
      for (const CopyRun& run : out_links_.at(it.block.destination).pack()) {
        append_run(own.runs, {run.source, count + run.target, run.count});
      }
    }
    count += it.block.count;
  }
  if (count > 0) {
    message.passage = new_passage(taker, count);
    Hop& hop = now.gives.emplace_back(Hop{taker, message.passage, {}});
    for (Part* const part : {&own, &passing}) {
      if (!part->runs.empty()) hop.pieces.push_back(std::move(*part));
    }
  }
  message.status = faults_.status();
  return message;
}

void TunaNegotiation::accept(int giver, Forwarded message, Superstep& now) {
  Part wanted{Plan::target, {}}, passing{passing_store, {}};
  Index count = 0;
  for (const Block& block : message.blocks) {
    if (block.destination == rank_) {
      arrived_[block.origin] = {block.count, block.expected};
      const auto link = in_links_.find(block.origin);
      if (link != in_links_.end() && link->second.count == block.count) {
        append_slots(wanted.runs, link->second, 0, block.count, count);
      }
    } else {
      held_.push_back({block, passing_});
      append_run(passing.runs, {count, passing_, block.count});
      passing_ += block.count;
    }
    count += block.count;
  }
  if (count == 0) return;
  Hop& hop = now.takes.emplace_back(Hop{giver, message.passage, {}});
  for (Part* const part : {&wanted, &passing}) {
    if (!part->runs.empty()) hop.pieces.push_back(std::move(*part));
  }
}

/// Compares counts. Both ends of each edge have learned the other end's count.
void TunaNegotiation::compare_counts() {
  const auto of = [&](int peer) {
    const auto found = arrived_.find(peer);
    return found == arrived_.end() ? std::pair<Index, Index>() : found->second;
  };
  for (const auto& [peer, link] : in_links_) {
    if (peer != rank_) faults_.compare(peer, rank_, of(peer).first, link.count);
  }
  for (const auto& [peer, link] : out_links_) {
    if (peer != rank_) faults_.compare(rank_, peer, link.count, of(peer).second);
  }
}

// --- the transfers, when it is known how much passes ---------------------------------------------

void TunaNegotiation::write_transfers() {
  require(held_.empty(), Fault::internal, "rank ", rank_, " still holds ", held_.size(),
          " blocks of others");
  const int store = transfers_.hold(passing_);
  require(store == passing_store, Fault::internal, "what passes is store ", store);
  transfers_.move(Phase::direct, Plan::source, Plan::target,
                  join_self(rank_, out_links_, in_links_, faults_));
  for (const Superstep& it : supersteps_) {
    for (const Hop& hop : it.gives) {
      const bool local = same_region(hop.peer);
      transfers_.give(phase_of(local), local, hop.peer, hop.passage, hop.pieces);
    }
    for (const Hop& hop : it.takes) {
      const bool local = same_region(hop.peer);
      transfers_.take(phase_of(local), local, hop.peer, hop.passage, hop.pieces);
    }
  }
}

}  // namespace vicinal::tuna

// The tree allreduce that collects plans and distributes the result.
#include "negotiate/proof.hpp"

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "negotiate/faults.hpp"
#include "negotiate/rank_tree.hpp"
#include "plan/checks.hpp"

namespace vicinal {

namespace {

/// Returns the empty plan of a rank of another component, which the verifier requires.
Plan idle_plan(int rank, const Plan& like) {
  Plan plan;
  plan.rank = rank;
  plan.size = like.size;
  plan.planner = like.planner;
  plan.reverse = like.reverse;
  plan.buffers = {Buffer{Space::source}, Buffer{Space::target}};
  return plan;
}

/// One rank's part of the proof.
struct PlansOfRank {
  Plan forward;
  std::optional<Plan> reverse;
  Pattern pattern;
};
void fields(auto&& take, Is<PlansOfRank> auto& it) { take(it.forward, it.reverse, it.pattern); }

struct PlansToProve {
  static constexpr std::string_view name = "plans to be proved";
  std::vector<PlansOfRank> plans;
};
void fields(auto&& take, Is<PlansToProve> auto& it) { take(it.plans); }

struct ProofVerdict {
  static constexpr std::string_view name = "verdict on plans";
  std::string text;  ///< the error in the plans; "" if none
};
void fields(auto&& take, Is<ProofVerdict> auto& it) { take(it.text); }

class Proof final : public TreeAllreduce<PlansToProve, ProofVerdict> {
 public:
  Proof(const Plans& plans, const Pattern& pattern) {
    all_.plans.push_back({plans.forward, plans.reverse, pattern});
  }

  void hear(int, PlansToProve report) override {
    std::move(report.plans.begin(), report.plans.end(), std::back_inserter(all_.plans));
  }
  PlansToProve report() override { return std::move(all_); }
  void decide() override {
    std::vector<Plan> forward, reverse;
    std::vector<Pattern> patterns;
    for (PlansOfRank& its : all_.plans) {
      patterns.resize(static_cast<std::size_t>(its.forward.size));
      patterns[static_cast<std::size_t>(its.forward.rank)] = std::move(its.pattern);
      if (its.reverse) place(reverse, std::move(*its.reverse));
      place(forward, std::move(its.forward));
    }
    try {
      verify(forward, patterns);
      if (!reverse.empty()) verify(reverse, patterns);
    } catch (const Error& error) {
      verdict_.text = error.what();
    }
  }
  void learn(ProofVerdict verdict) override { verdict_ = std::move(verdict); }
  ProofVerdict instruct(const RankTree::Child&) override { return verdict_; }

  [[nodiscard]] const std::string& verdict() const { return verdict_.text; }

 private:
  static void place(std::vector<Plan>& all, Plan plan) {
    for (int rank = static_cast<int>(all.size()); rank < plan.size; ++rank) {
      all.push_back(idle_plan(rank, plan));
    }
    all.at(static_cast<std::size_t>(plan.rank)) = std::move(plan);
  }

  PlansToProve all_;  ///< of this rank and the ranks below it
  ProofVerdict verdict_;
};

}  // namespace

Task<Done> prove(Conversation& talk, const Neighborhood& neighborhood, const Plans& plans,
                 const Pattern& pattern, std::optional<Error> fault) {
  talk.set_purpose("proving plans");
  FaultRecord faults(neighborhood.rank, "elements", "proving the plans");
  if (fault) faults.blame(*fault);
  Proof proof(plans, pattern);
  co_await tree_allreduce(talk, neighborhood.tree, faults, proof);
  faults.settle();
  if (!proof.verdict().empty()) {
    throw Error(Fault::internal,
                "the plans of these ranks would not deliver what was "
                "asked for, and are not used: " +
                    proof.verdict())
        .on_all_ranks();
  }
  co_return Done{};
}

}  // namespace vicinal

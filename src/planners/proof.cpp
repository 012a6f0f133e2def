// The consultation in which plans go up and the verdict comes down.
#include "planners/proof.hpp"

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "plan/checks.hpp"
#include "plan/records.hpp"
#include "planners/faults.hpp"
#include "planners/rank_tree.hpp"

namespace vicinal {

namespace {

/// A rank of another component, as the verifier wants to see it.
Plan idle_plan(int rank, const Plan& like) {
  Plan plan;
  plan.rank = rank;
  plan.size = like.size;
  plan.planner = like.planner;
  plan.reverse = like.reverse;
  plan.buffers = {Buffer{Space::source}, Buffer{Space::target}};
  return plan;
}

/// One rank's part of what is to be proved.
struct Claim {
  Plan forward;
  std::optional<Plan> reverse;
  Pattern pattern;
};
void fields(auto&& take, Is<Claim> auto& it) { take(it.forward, it.reverse, it.pattern); }

struct Claims {
  static constexpr std::string_view name = "plans to be proved";
  std::vector<Claim> claims;
};
void fields(auto&& take, Is<Claims> auto& it) { take(it.claims); }

struct ProofVerdict {
  static constexpr std::string_view name = "verdict on plans";
  std::string text;  ///< what is wrong with them; "" for nothing
};
void fields(auto&& take, Is<ProofVerdict> auto& it) { take(it.text); }

class Proof final : public Consultation<Claims, ProofVerdict> {
 public:
  Proof(const Plans& plans, const Pattern& pattern) {
    all_.claims.push_back({plans.forward, plans.reverse, pattern});
  }

  void hear(int, Claims report) override {
    std::move(report.claims.begin(), report.claims.end(), std::back_inserter(all_.claims));
  }
  Claims report() override { return std::move(all_); }
  void decide() override {
    std::vector<Plan> forward, reverse;
    std::vector<Pattern> patterns;
    for (Claim& claim : all_.claims) {
      patterns.resize(static_cast<std::size_t>(claim.forward.size));
      patterns[static_cast<std::size_t>(claim.forward.rank)] = std::move(claim.pattern);
      if (claim.reverse) place(reverse, std::move(*claim.reverse));
      place(forward, std::move(claim.forward));
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

  Claims all_;  ///< of this rank and those below it
  ProofVerdict verdict_;
};

}  // namespace

Task<Done> prove(Conversation& talk, const Neighborhood& neighborhood, const Plans& plans,
                 const Pattern& pattern, std::optional<Error> fault) {
  talk.set_purpose("proving plans");
  FaultRecord faults(neighborhood.rank, "elements", "proving the plans");
  if (fault) faults.blame(*fault);
  Proof proof(plans, pattern);
  co_await consult(talk, neighborhood.tree, faults, proof);
  faults.settle();
  if (!proof.verdict().empty()) {
    throw SettledFault(Error(Fault::internal,
                             "the plans of these ranks would not deliver what was "
                             "asked for, and are not used: " +
                                 proof.verdict()));
  }
  co_return Done{};
}

}  // namespace vicinal

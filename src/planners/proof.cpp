// The consultation in which plans go up and the verdict comes down.
#include "planners/proof.hpp"

#include <string>
#include <vector>

#include "base/given.hpp"
#include "plan/checks.hpp"
#include "plan/words.hpp"
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

class Proof final : public Consultation {
 public:
  Proof(int rank, const Plans& plans, const Pattern& pattern) : rank_(rank) {
    words_.push_back(plans.reverse ? 1 : 0);
    write_words(words_, plans.forward);
    if (plans.reverse) write_words(words_, *plans.reverse);
    write_words(words_, pattern);
  }

  void hear(int, std::span<const std::int64_t> report) override {
    words_.insert(words_.end(), report.begin(), report.end());
  }
  Words report() override { return std::move(words_); }
  void decide() override {
    read();
    try {
      verify(forward_, patterns_);
      if (!reverse_.empty()) verify(reverse_, patterns_);
    } catch (const Error& error) {
      verdict_ = error.what();
    }
  }
  void learn(std::span<const std::int64_t> words) override { verdict_ = to_text(words); }
  Words instruct(const RankTree::Child&) override { return to_words(std::string_view(verdict_)); }

  /// What is wrong with the plans; "" for nothing.
  [[nodiscard]] const std::string& verdict() const { return verdict_; }

 private:
  void read() {
    std::span<const std::int64_t> left(words_);
    while (!left.empty()) {
      const bool both = left.front() != 0;
      left = left.subspan(1);
      place(forward_, read_plan(left));
      if (both) place(reverse_, read_plan(left));
      const auto rank = static_cast<std::size_t>(last_);
      patterns_.resize(forward_.size());
      patterns_[rank] = read_pattern(left);
    }
    words_ = {};
  }
  void place(std::vector<Plan>& all, Plan plan) {
    require(plan.rank >= 0 && plan.rank < plan.size, Fault::internal, "the plan of rank ",
            plan.rank, " of ", plan.size, " is to be proved by rank ", rank_);
    for (int rank = static_cast<int>(all.size()); rank < plan.size; ++rank) {
      all.push_back(idle_plan(rank, plan));
    }
    last_ = plan.rank;
    all.at(static_cast<std::size_t>(plan.rank)) = std::move(plan);
  }

  int rank_;
  Words words_;  ///< of this rank and those below it
  std::vector<Plan> forward_;
  std::vector<Plan> reverse_;
  std::vector<Pattern> patterns_;
  int last_ = 0;  ///< the rank whose plan was read last
  std::string verdict_;
};

}  // namespace

Task<Done> prove(Conversation& talk, const Neighborhood& neighborhood, const Plans& plans,
                 const Pattern& pattern, std::optional<Error> fault) {
  talk.set_purpose("proving plans");
  FaultRecord faults(neighborhood.rank, "elements", "proving the plans");
  if (fault) faults.blame(*fault);
  Proof proof(neighborhood.rank, plans, pattern);
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

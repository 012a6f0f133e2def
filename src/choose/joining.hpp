// Numbers of all ranks, joined one by one: what a consultation comes to where all that matters is a sum or the most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planners/rank_tree.hpp"

namespace vicinal {

using Numbers = std::vector<std::int64_t>;

struct Figures {
  static constexpr std::string_view name = "figures";
  Numbers numbers;
};
void fields(auto&& take, Is<Figures> auto& it) { take(it.numbers); }

class Joining final : public Consultation<Figures, Figures> {
 public:
  using Join = std::int64_t (*)(std::int64_t, std::int64_t);
  /// All ranks have equally many.
  Joining(Numbers mine, Join join) : figures_{std::move(mine)}, join_(join) {}
  void hear(int child, Figures report) override {
    require(report.numbers.size() == figures_.numbers.size(), Fault::internal, "rank ", child,
            " has ", report.numbers.size(), " figures, not ", figures_.numbers.size());
    std::transform(report.numbers.begin(), report.numbers.end(), figures_.numbers.begin(),
                   figures_.numbers.begin(), join_);
  }
  Figures report() override { return figures_; }
  void decide() override {}
  void learn(Figures decision) override { figures_ = std::move(decision); }
  Figures instruct(const RankTree::Child&) override { return figures_; }

  /// Once all have consulted.
  [[nodiscard]] Numbers take() { return std::move(figures_.numbers); }

  /// Also of fingerprints: what is beyond 64 bits is left out.
  static std::int64_t sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static std::int64_t larger(std::int64_t a, std::int64_t b) { return std::max(a, b); }

 private:
  Figures figures_;
  Join join_;
};

}  // namespace vicinal

// Tree allreduce of a list of numbers, element by element, for a sum or a maximum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "negotiate/rank_tree.hpp"

namespace vicinal {

using Numbers = std::vector<std::int64_t>;

struct Figures {
  static constexpr std::string_view name = "figures";
  Numbers numbers;
};
void fields(auto&& take, Is<Figures> auto& it) { take(it.numbers); }

class Joining final : public TreeAllreduce<Figures, Figures> {
 public:
  using Join = std::int64_t (*)(std::int64_t, std::int64_t);
  /// All ranks give equally many numbers.
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

  /// Returns the result; call it after the allreduce.
  [[nodiscard]] Numbers take() { return std::move(figures_.numbers); }

  /// Adds modulo 2^64, also for fingerprints.
  static std::int64_t sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static std::int64_t larger(std::int64_t a, std::int64_t b) { return std::max(a, b); }

 private:
  Figures figures_;
  Join join_;
};

}  // namespace vicinal

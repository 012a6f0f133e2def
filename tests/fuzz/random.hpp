// Random choices that depend on the seed alone, on every rank and with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace fuzz {

/// Scrambles a number, so that neighboring ones give unrelated results (the finalizer of
/// SplitMix64).
inline std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

class Random {
 public:
  Random(std::initializer_list<std::uint64_t> seeds) {
    for (const std::uint64_t seed : seeds) state_ = scrambled(state_ ^ seed);
  }
  std::uint64_t next() { return state_ = scrambled(state_); }
  /// Returns a number from 0 to n - 1.
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(std::size(list))))];
  }
  template <class Value>
  void shuffle(std::vector<Value>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }
  }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace fuzz

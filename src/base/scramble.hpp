// Deterministic mixing of numbers: the results are equal on all ranks.
#pragma once

#include <cstdint>

namespace vicinal {

/// The finalizer of SplitMix64.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Combines numbers, in order, into one.
class Mixer {
 public:
  template <class... Numbers>
  void add(Numbers... numbers) {
    ((value_ = scramble(value_ ^ static_cast<std::uint64_t>(numbers))), ...);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace vicinal

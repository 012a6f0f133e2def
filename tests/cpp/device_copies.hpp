// Copies on a GPU by jobs, with checks of their results.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "driver_double.hpp"
#include "memory/device/device.hpp"

namespace vicinal::testing {

constexpr Index words_of_a_copy = 40;

/// Returns runs of one of three forms: reordered words, one piece, or runs of unequal length.
inline std::vector<CopyRun> runs_of(int number) {
  switch (number % 3) {
    case 0: return {{1, 0, 1}, {0, 1, 1}, {5, 2, 1}};
    case 1: return {{number, 3, words_of_a_copy - number - 3}};
    default: return {{0, 7, 2}, {9, 0, 5}, {20, 15, 11}};
  }
}

/// Copies from one array into one target array each.
class Copies {
 public:
  Copies(const DriverDouble& gpu, int count) : memory_(gpu.memory()), source_(memory_, numbers()) {
    for (int i = 0; i < count; ++i) {
      targets_.emplace_back(memory_, std::vector<std::int64_t>(words_of_a_copy, -1));
      jobs_.push_back(memory_.prepare_copy(runs_of(i % 30), 8, {}));
    }
  }
  void begin() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) CHECK(!begin(i));
  }
  bool begin(std::size_t i) {
    return jobs_[i]->begin(reinterpret_cast<const std::byte*>(source_.data()),
                           reinterpret_cast<std::byte*>(targets_[i].data()));
  }
  /// Resets all targets to their initial values.
  void forget() {
    for (DeviceArray& target : targets_)
      target.fill(std::vector<std::int64_t>(words_of_a_copy, -1));
  }
  MemoryJob& job(std::size_t i) { return *jobs_[i]; }
  [[nodiscard]] std::size_t count() const { return jobs_.size(); }
  void finish(std::size_t i) {
    while (!jobs_[i]->poll()) {
    }
  }
  void finish() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) finish(i);
  }
  /// Returns whether the target holds the copied words if `done`, and is otherwise unchanged.
  [[nodiscard]] bool is_right(std::size_t i, bool done) const {
    std::vector<std::int64_t> expected(words_of_a_copy, -1);
    for (const CopyRun& run : runs_of(static_cast<int>(i) % 30)) {
      for (Index k = 0; k < run.count && done; ++k) {
        expected[static_cast<std::size_t>(run.target + k)] = 100 + run.source + k;
      }
    }
    return targets_[i].values() == expected;
  }

 private:
  static std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> values(words_of_a_copy);
    std::iota(values.begin(), values.end(), 100);
    return values;
  }

  MemoryKind& memory_;
  DeviceArray source_;
  std::vector<DeviceArray> targets_;
  std::vector<std::unique_ptr<MemoryJob>> jobs_;
};

/// One copy of many words, in reverse order.
class ReversedCopy {
 public:
  ReversedCopy(const DriverDouble& gpu, Index count)
      : source_(gpu.memory(), numbers(count, 0)),
        target_(gpu.memory(), numbers(count, -count)),
        reversed_(numbers(count, 0)) {
    std::reverse(reversed_.begin(), reversed_.end());
    std::vector<CopyRun> runs;
    for (Index i = 0; i < count; ++i) runs.push_back({count - 1 - i, i, 1});
    job_ = gpu.memory().prepare_copy(runs, 8, {});
  }
  void begin() {
    forget();
    begin_at_once();
  }
  void forget() { target_.fill(numbers(static_cast<Index>(reversed_.size()), 7)); }
  /// Begins the copy without resetting the target first.
  void begin_at_once() {
    CHECK(!job_->begin(reinterpret_cast<const std::byte*>(source_.data()),
                       reinterpret_cast<std::byte*>(target_.data())));
  }
  void await() {
    while (!job_->poll()) {
    }
  }
  void finish() {
    await();
    check();
  }
  void check() const { CHECK(target_.values() == reversed_); }
  MemoryJob& job() { return *job_; }

 private:
  static std::vector<std::int64_t> numbers(Index count, std::int64_t first) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
  }

  DeviceArray source_, target_;
  std::vector<std::int64_t> reversed_;
  std::unique_ptr<MemoryJob> job_;
};

}  // namespace vicinal::testing

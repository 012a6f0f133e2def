// Arrays of 64-bit integers for user buffers: in host memory, or in memory that only copy jobs
// reach.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory/delayed_memory.hpp"

namespace vicinal::testing {

class HostArray {
 public:
  HostArray(std::vector<std::int64_t> values) : values_(std::move(values)) {}
  [[nodiscard]] std::int64_t* data() { return values_.data(); }
  [[nodiscard]] const std::int64_t* data() const { return values_.data(); }
  [[nodiscard]] std::vector<std::int64_t> values() const { return values_; }

 private:
  std::vector<std::int64_t> values_;
};

/// Returns whether one exchange may combine delayed memory on one side with host memory on the
/// other. It may not where the tests treat host memory as another kind.
inline bool delayed_goes_with_host() {
  const int here = 0;
  MemoryKind& kind = kind_of(&here);
  return kind.is_reachable() || &kind == &delayed_memory();
}

/// An array in delayed memory. The pointer from data() may be passed on, but not dereferenced.
class DelayedArray {
 public:
  DelayedArray(const std::vector<std::int64_t>& values)
      : size_(values.size()), memory_(delayed_memory(), values.size() * sizeof(std::int64_t)) {
    fill(values);
  }
  [[nodiscard]] std::int64_t* data() const {
    return reinterpret_cast<std::int64_t*>(memory_.data());
  }
  [[nodiscard]] std::vector<std::int64_t> values() const {
    return {touchable(), touchable() + size_};
  }
  void fill(const std::vector<std::int64_t>& values) {
    std::copy(values.begin(), values.end(), touchable());
  }

 private:
  [[nodiscard]] std::int64_t* touchable() const {
    return reinterpret_cast<std::int64_t*>(delayed_memory().reach(memory_.data()));
  }

  std::size_t size_;
  MemoryBlock memory_;
};

/// An array in device memory, which the kind's copy jobs fill and read.
class DeviceArray {
 public:
  DeviceArray(MemoryKind& kind, const std::vector<std::int64_t>& values)
      : kind_(kind), size_(values.size()), memory_(kind, size_ * sizeof(std::int64_t)) {
    fill(values);
  }
  [[nodiscard]] std::int64_t* data() const {
    return reinterpret_cast<std::int64_t*>(memory_.data());
  }
  [[nodiscard]] std::vector<std::int64_t> values() const {
    std::vector<std::int64_t> result(size_);
    copy(data(), result.data(), {true, false});
    return result;
  }
  void fill(const std::vector<std::int64_t>& values) { copy(values.data(), data(), {false, true}); }

 private:
  void copy(const std::int64_t* from, std::int64_t* to, Sides inside) const {
    const CopyRun all{0, 0, static_cast<Index>(size_)};
    const auto job = kind_.prepare_copy({&all, 1}, sizeof(std::int64_t), inside);
    bool done =
        job->begin(reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to));
    while (!done) done = job->poll();
  }

  MemoryKind& kind_;
  std::size_t size_;
  MemoryBlock memory_;
};

}  // namespace vicinal::testing

// Arrays of 64-bit numbers for the user's buffers, in the host's memory or where only jobs reach them.
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

/// What data() gives is only for handing over.
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

}  // namespace vicinal::testing

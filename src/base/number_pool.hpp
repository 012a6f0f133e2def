// A pool of numbers, such as the message numbers of plans. A released number is reused as late as
// possible, so that messages still in transit under it match no receive.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

namespace vicinal {

/// Numbers from 0 to `limit`, exclusive. Not thread-safe.
class NumberPool {
 public:
  explicit NumberPool(std::int64_t limit = 0) : limit_(limit) {}

  [[nodiscard]] std::int64_t limit() const { return limit_; }

  [[nodiscard]] std::int64_t in_use() const { return static_cast<std::int64_t>(used_.size()); }

  /// Returns a free number, or nothing if all are in use.
  std::optional<std::int64_t> take() {
    if (in_use() >= limit_) return std::nullopt;
    while (true) {
      const std::int64_t number = next_;
      next_ = next_ + 1 < limit_ ? next_ + 1 : 0;
      if (used_.insert(number).second) return number;
    }
  }
  /// Releases a number; returns false if it is not in use.
  bool give_back(std::int64_t number) { return used_.erase(number) == 1; }

 private:
  std::int64_t limit_;
  std::int64_t next_ = 0;
  std::unordered_set<std::int64_t> used_;
};

}  // namespace vicinal

// Numbers that are in use by somebody or free: message numbers of plans, say. One that has been given
// back is given out again as late as possible, so that what still travels under it meets nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

namespace vicinal {

/// Numbers from 0 to a limit, exclusive. Not for several threads at once.
class NumberPool {
 public:
  explicit NumberPool(std::int64_t limit = 0) : limit_(limit) {}

  [[nodiscard]] std::int64_t limit() const { return limit_; }

  [[nodiscard]] std::int64_t in_use() const { return static_cast<std::int64_t>(used_.size()); }

  /// A number that nobody has; nothing where all are in use.
  std::optional<std::int64_t> take() {
    if (in_use() >= limit_) return std::nullopt;
    while (true) {
      const std::int64_t number = next_;
      next_ = next_ + 1 < limit_ ? next_ + 1 : 0;
      if (used_.insert(number).second) return number;
    }
  }
  /// False where nobody has it.
  bool give_back(std::int64_t number) { return used_.erase(number) == 1; }

 private:
  std::int64_t limit_;
  std::int64_t next_ = 0;
  std::unordered_set<std::int64_t> used_;
};

}  // namespace vicinal

// One start at a time. Several threads must not start one halo or request at once, since no order of their starts is the
// same on all ranks. Where they do it all the same, each but the first is told.
#pragma once

#include <atomic>
#include <thread>

namespace vicinal {

/// The start of something, as long as this lives; waits until another thread's is over. Costs one exchange of a flag.
class Starting {
 public:
  explicit Starting(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
      was_disturbed_ = true;
      std::this_thread::yield();
    }
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  ~Starting() { flag_.clear(std::memory_order_release); }
  /// Whether another thread was in the middle of a start.
  [[nodiscard]] bool was_disturbed() const { return was_disturbed_; }

 private:
  std::atomic_flag& flag_;
  bool was_disturbed_ = false;
};

}  // namespace vicinal

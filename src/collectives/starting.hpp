// Lets one thread start at a time. Several threads must not start one halo or request at once,
// since their order would differ between ranks. If they do, each thread but the first learns of it.
#pragma once

#include <atomic>
#include <thread>

namespace vicinal {

/// A start, as long as this lives; waits until another thread's start is over. Costs one exchange
/// of a flag.
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
  /// Returns whether another thread was starting.
  [[nodiscard]] bool was_disturbed() const { return was_disturbed_; }

 private:
  std::atomic_flag& flag_;
  bool was_disturbed_ = false;
};

}  // namespace vicinal

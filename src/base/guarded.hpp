// Locks whose use the compiler checks. A member marked as guarded by a mutex may be accessed only
// while that mutex is locked. Clang checks it (-Wthread-safety, `make check-clang`). Under other
// compilers these are std::mutex and its guards.
//
//   Mutex mutex_;
//   std::vector<int> waiting_ VICINAL_GUARDED_BY(mutex_);
//   ...
//   const Lock lock(mutex_);
//   waiting_.clear();
#pragma once

#include <mutex>

#if defined(__clang__)
#define VICINAL_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define VICINAL_THREAD_ATTRIBUTE(attribute)
#endif

/// Marks a member that may be accessed only while the mutex is locked.
#define VICINAL_GUARDED_BY(mutex) VICINAL_THREAD_ATTRIBUTE(guarded_by(mutex))
/// Marks a function that may be called only while the mutex is locked.
#define VICINAL_REQUIRES(mutex) VICINAL_THREAD_ATTRIBUTE(requires_capability(mutex))

namespace vicinal {

class VICINAL_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() VICINAL_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() VICINAL_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() VICINAL_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }

 private:
  std::mutex mutex_;
};

class VICINAL_THREAD_ATTRIBUTE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) VICINAL_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  /// Adopts a mutex that try_lock() has locked.
  Lock(Mutex& mutex, std::adopt_lock_t) VICINAL_REQUIRES(mutex) : mutex_(mutex) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() VICINAL_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace vicinal

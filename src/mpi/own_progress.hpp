// Callbacks from inside MPI's progress. Other ranks may depend on the progress of a rank that waits
// inside an MPI function. MPIs with progress hooks call the library from there. So a program may
// wait in MPI wherever MPI allows it, and its rank still relays messages.
//
// Such a callback must not interfere with what its own thread, or one that waits for MPI's locks,
// is doing. So each entry into the library holds an `Inside`, and the callback acts only if no
// thread is inside. Threads inside are counted only in processes that register a callback (those of
// the preload library); elsewhere an `Inside` costs one test.
#pragma once

#include <atomic>
#include <thread>
#include <utility>

namespace vicinal::mpi {

/// Returns whether this MPI runs callbacks inside its progress, at the thread level it was
/// initialized with. Open MPI does; MPICH from 4.3 on does unless several threads may call it.
[[nodiscard]] bool can_call_from_progress();
/// Returns whether it does at some thread level. May be called before MPI is initialized.
[[nodiscard]] bool may_call_from_progress();

/// The callback: returns true if something is, or may be, left to do.
using FromProgress = bool (*)();

/// Makes MPI run `what` inside its progress from now on, at least while it returns true. Does
/// nothing if MPI cannot. Cheap if it is registered already.
void call_from_progress(FromProgress what);
/// Registers no callback from now on, since MPI_Finalize has begun. MPICH ends a program that
/// registers one then.
void end_calls_from_progress() noexcept;

/// Runs MPI's progress once, with the callback. For waits of the program in a function without
/// progress. Does nothing if no callback is registered.
void make_progress();

/// Marks the thread as working in the library, as long as the object lives.
class Inside {
 public:
  Inside() : counted_(counts_.load(std::memory_order_relaxed)) {
    if (counted_ && depth_++ == 0) enter();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    if (counted_ && --depth_ == 0) threads_.fetch_sub(1, std::memory_order_release);
  }
  /// Counts from now on; call it before any thread has entered.
  static void count() { counts_ = true; }

 private:
  friend class Alone;
  friend class Outside;

  static void enter() {
    int threads = threads_.load(std::memory_order_relaxed);
    while (threads < 0 ||
           !threads_.compare_exchange_weak(threads, threads + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      if (threads >= 0) continue;
      std::this_thread::yield();  // until the callback is over; it never waits
      threads = threads_.load(std::memory_order_relaxed);
    }
  }

  const bool counted_;
  static inline std::atomic<bool> counts_ = false;
  static inline std::atomic<int> threads_ = 0;  ///< threads inside; -1 during a callback
  static inline thread_local int depth_ = 0;
};

/// Marks a thread that works in the library as outside while it waits for other ranks in an MPI
/// function. The thread must hold no lock.
class Outside {
 public:
  Outside() : depth_(std::exchange(Inside::depth_, 0)) {
    if (depth_ > 0) Inside::threads_.fetch_sub(1, std::memory_order_release);
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside() {
    if (depth_ > 0) Inside::enter();
    Inside::depth_ = depth_;
  }

 private:
  const int depth_;
};

/// Exclusive use of the library, if no thread is inside; never waits.
class Alone {
 public:
  Alone() {
    int nobody = 0;
    held_ = Inside::threads_.load(std::memory_order_relaxed) == 0 &&
            Inside::threads_.compare_exchange_strong(nobody, -1, std::memory_order_acquire,
                                                     std::memory_order_relaxed);
    if (held_) ++Inside::depth_;  // the callback may enter
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  ~Alone() {
    if (!held_) return;
    --Inside::depth_;
    Inside::threads_.store(0, std::memory_order_release);
  }
  explicit operator bool() const { return held_; }

 private:
  bool held_;
};

}  // namespace vicinal::mpi

// Being called from inside MPI. A rank that waits in a function of MPI's, whichever it is, may be one on whose progress
// others depend; MPIs that let others take part in their progress call us from there. So a program may wait in MPI
// wherever MPI allows it, and what the rank relays goes on.
//
// What is called from there must not run into what the same thread, or one that waits for MPI's own locks, is in
// the middle of. So all that enters the library is `Inside`, and MPI's call does something only while nobody is. Who is inside
// is counted in processes that may be called (the preload library's); elsewhere it costs a look.
#pragma once

#include <atomic>
#include <thread>
#include <utility>

namespace vicinal::mpi {

/// Whether this MPI calls others from inside its progress, at the level of threads that it was initialized with:
/// Open MPI does; MPICH from 4.3 on, unless several threads may call it.
[[nodiscard]] bool can_call_from_progress();
/// Whether it does at some level of threads. May be asked before MPI is initialized.
[[nodiscard]] bool may_call_from_progress();

/// What MPI calls: true where something has been, or may be, left to do.
using FromProgress = bool (*)();

/// From now on MPI calls it from inside its progress, at least as long as it returns true. Where MPI cannot, nothing
/// happens. Cheap where it is called already.
void call_from_progress(FromProgress what);
/// MPI_Finalize has begun: nothing more is asked for. MPICH ends the program that asks for it then.
void end_calls_from_progress() noexcept;

/// Makes MPI's progress once, and with it what MPI calls from there: for where the program waits in a function that does not. Nothing
/// where MPI is not asked to call.
void make_progress();

/// A thread that works in the library.
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
  /// From now on, before anybody has entered.
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
      std::this_thread::yield();  // until what MPI has called is over: it waits for nobody
      threads = threads_.load(std::memory_order_relaxed);
    }
  }

  const bool counted_;
  static inline std::atomic<bool> counts_ = false;
  static inline std::atomic<int> threads_ = 0;  ///< that are inside; -1 while MPI calls
  static inline thread_local int depth_ = 0;
};

/// A thread that works in the library is outside again while it waits in a function of MPI's for other ranks. It must have nothing
/// locked.
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

/// The library to oneself, where nobody is inside; without waiting.
class Alone {
 public:
  Alone() {
    int nobody = 0;
    held_ = Inside::threads_.load(std::memory_order_relaxed) == 0 &&
            Inside::threads_.compare_exchange_strong(nobody, -1, std::memory_order_acquire,
                                                     std::memory_order_relaxed);
    if (held_) ++Inside::depth_;  // what it calls may enter
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

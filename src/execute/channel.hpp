// A channel is what one execution of a plan in flight needs: the plan bound to memory, and the run through
// its graph.
//
// A rank whose call has failed executes all the same, at fault: it awaits, signals and acknowledges as
// ever, but hands nothing over; it sends its messages at once, empty, and throws away what comes. Whoever gets
// nothing where something was due hands on nothing in its turn. So a fault reaches those whose data
// depend on it and nobody else, every rank comes to its end, and all are in step for the next execution.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "execute/bound_plan.hpp"
#include "execute/run.hpp"

namespace vicinal {

class Turns;

class Channel {
 public:
  /// As of a BoundPlan.
  Channel(std::shared_ptr<mpi::Communicator> communicator, const Plan& plan,
          const std::vector<std::shared_ptr<SlotHeader>>& headers, int index, DeviceChoice choice)
      : bound_(std::move(communicator), plan, headers, index, choice), run_(bound_) {}

  /// Set-up for the next executions; cheap where nothing has changed. Not while one is in flight.
  void bind(const Binding& binding) {
    require(!run_.in_flight(), Fault::request,
            "a plan was bound to other buffers while it executes");
    if (bound_.is_bound_to(binding)) return;
    bound_.choose_graph(binding);
    run_.follow_graph();
    bound_.bind(binding, run_.executions() + 1);
  }
  /// The same, once what streams of the user's have to do with the data that MPI reads by itself is over.
  void prepare(const Binding& binding) {
    bind(binding);
    bound_.await_streams();
  }
  /// What others have lent is closed. While no execution is in flight.
  void close_borrowed() noexcept {
    for (FarSlot& slot : bound_.far_slots()) slot.close_borrowed();
  }
  /// Nothing that other ranks own stays open, unless somebody drives the run. By any thread.
  void let_go() noexcept {
    const Lock lock(mutex_);
    if (!turns_.expired()) return;
    follow_the_last();
    if (run_.in_flight()) return;
    bound_.leave_far_slots();
  }
  /// Who drives the run, as long as anything is under way or may be begun: one, whoever executes (turns.hpp), and made
  /// where there is none. By any thread.
  template <class Make>
  std::shared_ptr<Turns> turns(Make make) {
    const Lock lock(mutex_);
    std::shared_ptr<Turns> turns = turns_.lock();
    if (!turns) {
      follow_the_last();
      turns_ = turns = make();
    }
    return turns;
  }
  [[nodiscard]] Run& run() { return run_; }
  [[nodiscard]] const Run& run() const { return run_; }

 private:
  /// Nobody drives the run any more: what the last one to do so has done comes before. (A weak pointer says that it was let go of,
  /// and orders nothing.)
  static void follow_the_last() { std::atomic_thread_fence(std::memory_order_acquire); }

  Mutex mutex_;
  std::weak_ptr<Turns> turns_ VICINAL_GUARDED_BY(mutex_);
  BoundPlan bound_;
  Run run_;
};

}  // namespace vicinal

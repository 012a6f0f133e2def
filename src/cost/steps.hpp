// Data of each operation that the price needs often, computed once, and its results. Operations of
// plans are large and scattered, and a price visits all of them many times, in no favorable order.
// So each operation's data fill one cache line. With one list for each field, an event would wait
// for as many cache lines. The clock of the price is an agenda: future events in order of time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/runs.hpp"
#include "cost/devices.hpp"
#include "cost/profile.hpp"
#include "memory/pages.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

enum class Happening : std::uint8_t {
  processed,  ///< a processor has finished its task
  agreed,     ///< rendezvous: the sender of a send knows that the receive is posted
  passed,     ///< a message may have passed a port
  left,       ///< the message of a send has left
  reached,    ///< LogGP: the first byte of a send's message is at its receiver's port
  arrived,    ///< the message of a send has arrived
  seen,       ///< a signal becomes visible
  served,     ///< a GPU has done its part of an operation
};

struct Event {
  double time = 0;
  std::uint64_t number = 0;  ///< of events at one time, the first foreseen is first
  Happening what = Happening::processed;
  int which = 0;
  friend bool operator>(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }
};

class Agenda {
 public:
  [[nodiscard]] double now() const { return now_; }
  void foresee(double time, Happening what, int which) {
    events_.push({time, foreseen_++, what, which});
  }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  /// Returns whether another event has this time.
  [[nodiscard]] bool more_now() const { return !empty() && events_.top().time <= now_; }
  /// Advances to the next event.
  Event next() {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    return event;
  }

 private:
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t foreseen_ = 0;
  double now_ = 0;
};

struct alignas(64) Step {
  std::int64_t bytes = 0;  ///< sent, received, copied or reduced
  double begun = -1;       ///< when it began to occupy its processor, or -1
  /// Times of two moments: the processor's part is over; a send's bytes have left, or a GPU has
  /// done its part.
  std::array<double, 2> times{};
  /// For each of these, the moment that it waited for last, or -1.
  std::array<int, 2> causes{-1, -1};
  int rank = -1;
  int peer = -1;
  int counterpart = -1;  ///< of a message: the operation at its other end
  /// Of a receive, its position among those that its rank has posted; of a send, its connection
  /// (links.hpp), or -1.
  int place = -1;
  std::uint16_t protocol = 0;  ///< of a message: its index at the level
  OperationKind kind = OperationKind::copy;
  Level level = Level::domain;  ///< of a message
  char held = 0;                ///< of a send: ports that its message has yet to pass
  DeviceTask device =
      DeviceTask::none;  ///< of a copy or reduction: the GPU's task; of a message: MPI's

  /// Returns whether it completes later than its processor's part.
  [[nodiscard]] bool goes_on() const { return kind == OperationKind::send || is_gpus(device); }
};
static_assert(sizeof(Step) == 64);

class Steps {
 public:
  Steps(const Program& program, const Machine& machine, const Profile& profile, Index element_bytes,
        OnDevice on_device, DeviceTransport transport);

  /// Data of operation `id`.
  [[nodiscard]] const Step& operator[](int id) const {
    return steps_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] Step& operator[](int id) { return steps_[static_cast<std::size_t>(id)]; }
  /// Moments are numbered over all operations.
  static int done(int id) { return 2 * id; }
  static int gone(int id) { return done(id) + 1; }
  static int operation(int moment) { return moment / 2; }
  [[nodiscard]] double time(int moment) const {
    return (*this)[operation(moment)].times[moment % 2];
  }
  [[nodiscard]] double& time(int moment) { return (*this)[operation(moment)].times[moment % 2]; }
  /// The moment that it waited for last, or -1.
  [[nodiscard]] int cause(int moment) const {
    return (*this)[operation(moment)].causes[moment % 2];
  }
  [[nodiscard]] int& cause(int moment) { return (*this)[operation(moment)].causes[moment % 2]; }

  [[nodiscard]] const LevelCost& cost(int id) const { return cost((*this)[id]); }
  [[nodiscard]] const Protocol& protocol(int id) const {
    return cost(id).protocols[(*this)[id].protocol];
  }

 private:
  [[nodiscard]] const LevelCost& cost(const Step& step) const {
    const auto& levels =
        step.device == DeviceTask::message ? *profile_.device->levels : profile_.levels;
    return levels[static_cast<std::size_t>(step.level)];
  }

  const Profile& profile_;
  std::vector<Step, HugePages<Step>> steps_;
};

}  // namespace vicinal::detail

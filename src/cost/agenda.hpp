// Future events in order of time: the clock of the price.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

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

}  // namespace vicinal::detail

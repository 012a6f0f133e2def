// First come, first served: the time at which a message passes is known when it comes, so no port
// needs a queue.
#include "cost/loggp.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace vicinal::detail {

double SerialPorts::seconds(int send) const {
  const std::int64_t behind = std::max<std::int64_t>(steps_[send].bytes - 1, 0);
  return static_cast<double>(behind) * steps_.protocol(send).seconds_per_byte;
}

int SerialPorts::join(int send) {
  Port& out = port(steps_[send].rank);
  const double now = agenda_.now();
  const double begin = std::max(now, out.out_free);
  const double end = begin + seconds(send);
  out.out_free = end + gap_;
  agenda_.foresee(end, Happening::left, send);
  agenda_.foresee(begin + steps_.protocol(send).latency, Happening::reached, send);
  const int before = std::exchange(out.last, send);
  return begin > now ? before : -1;
}

void SerialPorts::take_in(int send) {
  Port& in = port(steps_[send].peer);
  const double end = std::max(agenda_.now(), in.in_free) + seconds(send);
  in.in_free = end + gap_;
  agenda_.foresee(end, Happening::arrived, send);
}

}  // namespace vicinal::detail

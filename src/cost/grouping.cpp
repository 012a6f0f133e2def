// A postal estimate: the members work side by side, each pays the overhead of its messages and
// partners one after the other, and the bytes of all share the wire. A combined message is copied
// together where it starts and apart where it ends. How many messages a member receives only the
// other regions know; it is taken to be what members here send on average.
#include "cost/grouping.hpp"

#include <algorithm>

namespace vicinal {

double grouped_seconds(std::span<const MemberLoad> members, Index element_bytes,
                       const Profile& profile) {
  const auto bytes = [&](Index elements) { return static_cast<double>(elements * element_bytes); };
  double slowest = 0, messages = 0, on_the_wire = 0;
  for (const MemberLoad& load : members) {
    double seconds = static_cast<double>(load.messages) * profile.network().send_overhead +
                     2 * bytes(load.combined) * profile.copy_seconds_per_byte +
                     static_cast<double>(load.shared_partners) * profile.handover;
    if (load.message_partners > 0) {
      seconds +=
          profile.at(Level::node).latency() +
          static_cast<double>(load.message_partners) * profile.at(Level::node).send_overhead +
          bytes(load.handed) * profile.at(Level::node).seconds_per_byte();
    }
    slowest = std::max(slowest, seconds);
    messages += static_cast<double>(load.messages);
    on_the_wire += bytes(load.elements) * profile.network().seconds_per_byte();
  }
  const double received = messages / static_cast<double>(std::max<std::size_t>(1, members.size()));
  return slowest + received * profile.network().receive_overhead + profile.network().latency() +
         on_the_wire;
}

}  // namespace vicinal

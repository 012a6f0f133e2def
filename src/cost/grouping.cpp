// A postal estimate. The members work in parallel. Each pays the overhead of its messages and
// partners one after the other. The bytes of all share the wire. A combined message is gathered by
// a copy where it starts and scattered by a copy where it ends. Only the other regions know how
// many messages a member receives. It is assumed to be what members here send on average.
#include "cost/grouping.hpp"

#include <algorithm>

namespace vicinal {

double grouped_seconds(std::span<const MemberLoad> members, Index element_bytes,
                       const Profile& profile) {
  const auto bytes = [&](Index elements) { return static_cast<double>(elements * element_bytes); };
  const auto average = [&](const MemberLoad& load) {
    return load.elements * element_bytes / std::max<Index>(1, load.messages);
  };
  double slowest = 0, received = 0, on_the_wire = 0;
  for (const MemberLoad& load : members) {
    double seconds = static_cast<double>(load.messages) * profile.network().sending(average(load)) +
                     2 * bytes(load.combined) * profile.copy_seconds_per_byte +
                     static_cast<double>(load.shared_partners) * profile.handover;
    if (load.message_partners > 0) {
      const Index handed = load.handed * element_bytes / load.message_partners;
      seconds +=
          profile.at(Level::node).latency() +
          static_cast<double>(load.message_partners) * profile.at(Level::node).sending(handed) +
          bytes(load.handed) * profile.at(Level::node).seconds_per_byte();
    }
    slowest = std::max(slowest, seconds);
    received += static_cast<double>(load.messages) * profile.network().receiving(average(load));
    on_the_wire += bytes(load.elements) * profile.network().seconds_per_byte();
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, members.size()));
  return slowest + received / count + profile.network().latency() + on_the_wire;
}

}  // namespace vicinal

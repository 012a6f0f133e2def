// Postal estimates: a rank pays the overhead of each message it sends, one after the other, then the
// wire's latency and the bytes. A relay adds a handover and a copy at either end.
#include "cost/relay.hpp"

#include <algorithm>

namespace vicinal {

double straight_seconds(const PairTraffic& traffic, Index element_bytes, const Profile& profile) {
  const auto senders = static_cast<double>(std::max<Index>(1, traffic.contributors));
  const double messages = static_cast<double>(traffic.edges) / senders;
  const double bytes = static_cast<double>(traffic.elements * element_bytes);
  // The bytes of a region pair share the wire; the overheads of different senders do not.
  return messages * profile.network().overhead() + profile.network().latency() +
         bytes * profile.network().seconds_per_byte();
}

double relayed_seconds(const PairTraffic& traffic, Index leaders, Index element_bytes,
                       const Profile& profile) {
  const double bytes = static_cast<double>(traffic.distinct * element_bytes);
  const double share = bytes / static_cast<double>(std::max<Index>(1, leaders));
  const double copied = static_cast<double>(traffic.elements * element_bytes) /
                        static_cast<double>(std::max<Index>(1, traffic.contributors));
  return 2 * profile.handover + profile.network().overhead() + profile.network().latency() +
         bytes * profile.network().seconds_per_byte() +
         (share + copied) * profile.copy_seconds_per_byte;
}

}  // namespace vicinal

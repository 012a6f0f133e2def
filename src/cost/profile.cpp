// The built-in profile, and what follows from a profile's numbers.
#include "cost/profile.hpp"

#include <algorithm>

namespace vicinal {

const Protocol& LevelCost::protocol(std::int64_t bytes) const {
  const auto found = std::find_if(protocols.begin(), protocols.end() - 1,
                                  [&](const Protocol& it) { return bytes <= it.up_to; });
  return *found;
}

double LevelCost::seconds(std::int64_t bytes) const {
  const Protocol& its = protocol(bytes);
  return overhead() + its.latency + static_cast<double>(bytes) * its.seconds_per_byte;
}

const Profile& default_profile() {
  static const Profile profile = [] {
    Profile it;
    const LevelCost near{0.4e-6, 0.4e-6, {{Protocol::any_size, 1.0e-6, 2.0e-10, false}}};
    const LevelCost far{1.5e-6, 1.5e-6, {{Protocol::any_size, 5.0e-6, 5.0e-10, false}}};
    it.name = "default";
    it.levels = {near, near, far};
    it.port_seconds_per_byte = 5.0e-10;
    it.handover = 0.3e-6;
    it.copy_seconds_per_byte = 1.5e-10;
    return it;
  }();
  return profile;
}

}  // namespace vicinal

// Profiles as files: JSON of one format, which `vicinal calibrate` writes and a person may edit.
//
//   {"kind": "vicinal profile", "format": 1, "name": "...", "source": "...", "date": "2021-04-08",
//    "levels": {"domain":  {"measured": true, "send_overhead": 2e-07, "receive_overhead": 2e-07,
//                           "protocols": [{"up_to": 8192, "latency": 1e-06, "seconds_per_byte": 1e-10,
//                                          "rendezvous": false, "processor_seconds_per_byte": 2e-11, "residual": 0.02},
//                                         {"latency": 3e-06, "seconds_per_byte": 5e-11, "rendezvous": true}]},
//               "node": ..., "network": ...},
//    "port_seconds_per_byte": 4e-11, "search": 1e-08, "handover": 1e-07, "copy_seconds_per_byte": 6e-11,
//    "cores": 0, "turn": 2e-06, "poll": 4e-06}
//
// What a host's GPUs take stands in "device", where it has been measured:
//
//    "device": {"name": "...", "count": 4,
//               "kernel": {"overhead": 3e-06, "latency": 5e-06, "seconds_per_byte": 1e-12, "residual": 0.03},
//               "to_host": ..., "to_device": ..., "peer": ..., "levels": ...}
//
// Its "peer", of kernels that reach into another rank's memory, and "levels", of messages between GPUs' memory, may be left
// out.
// Times are seconds. "date", "measured", "processor_seconds_per_byte", "residual", "cores", "turn" and "poll" may be left out; anything that format 1 does not
// know is refused, so that a slip of the pen is not a number that nobody uses.
//
// With "gap": 2e-07 beside "cores" the profile is one of LogGP's (price.hpp): o are the overheads, L a latency, G
// "seconds_per_byte" and g the gap; with "processor_seconds_per_byte" for O, one of LogGOPS's. LogGP has no place for "port_seconds_per_byte", "search", "cores", "turn", "poll", which must be 0, and rendezvous.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "cost/profile.hpp"

namespace vicinal {

/// What a file calls them.
inline constexpr std::array<const char*, level_count> level_names{"domain", "node", "network"};

/// Reads a profile. Throws an info fault that begins with `origin` and names the key and what was expected.
Profile read_profile(std::string_view json, std::string_view origin);

/// The same for what is in a file; the fault says, too, why it cannot be read where it cannot.
Profile read_profile_file(const std::string& path);

/// The same, read once per process and path, since every graph asks for it. A fault is not kept.
std::shared_ptr<const Profile> profile_at(const std::string& path);

/// What read_profile reads as the same profile, over several lines, with all keys.
std::string write_profile(const Profile& profile);

/// "Lassen (fingerprint 1f2e3d4c5b6a7988)": the same for profiles that are equal, wherever they come from, and
/// for no others. This is what ranks compare.
std::string identity(const Profile& profile);

}  // namespace vicinal

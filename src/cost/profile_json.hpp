// Profiles as files: JSON of one format, which `vicinal calibrate` writes and a person may edit.
//
//   {"kind": "vicinal profile", "format": 1, "name": "...", "source": "...", "date": "2021-04-08",
//    "levels": {"domain":  {"measured": true, "send_overhead": 2e-07, "receive_overhead": 2e-07,
//                           "protocols": [{"up_to": 8192, "latency": 1e-06, "rendezvous": false,
//                                          "seconds_per_byte": 1e-10, "residual": 0.02,
//                                          "processor_seconds_per_byte": 2e-11},
//                                         {"latency": 3e-06, "rendezvous": true,
//                                          "seconds_per_byte": 5e-11}]},
//               "node": ..., "network": ...},
//    "port_seconds_per_byte": 4e-11, "search": 1e-08, "handover": 1e-07,
//    "copy_seconds_per_byte": 6e-11, "cores": 0, "turn": 2e-06, "poll": 4e-06}
//
// "device" has the costs of a host's GPUs, if they have been measured:
//
//    "device": {"name": "...", "count": 4,
//               "kernel": {"overhead": 3e-06, "latency": 5e-06, "seconds_per_byte": 1e-12,
//                          "residual": 0.03},
//               "to_host": ..., "to_device": ..., "peer": ..., "levels": ...}
//
// Its "peer" (kernels that access another rank's memory) and "levels" (messages between GPUs'
// memory) are optional. Times are seconds. "date", "measured", "processor_seconds_per_byte",
// "residual", "cores", "turn" and "poll" are optional. A key unknown to format 1 is an error, so
// that a misspelled key is not silently ignored.
//
// With "gap": 2e-07 beside "cores", the profile follows LogGP (price.hpp): o are the overheads, L a
// latency, G "seconds_per_byte" and g the gap. With "processor_seconds_per_byte" for O, it follows
// LogGOPS. LogGP has no "port_seconds_per_byte", "search", "cores", "turn" and "poll", which must
// be 0, and no rendezvous.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "cost/profile.hpp"

namespace vicinal {

/// Names of the levels in a file.
inline constexpr std::array<const char*, level_count> level_names{"domain", "node", "network"};

/// Reads a profile. Throws an info fault that begins with `origin` and names the key and what was
/// expected.
Profile read_profile(std::string_view json, std::string_view origin);

/// As read_profile(), for a file. The fault also tells why the file cannot be read, if it cannot.
Profile read_profile_file(const std::string& path);

/// As read_profile_file(), but read once per process and path, since every graph asks for it. A
/// failed read is retried by the next call.
std::shared_ptr<const Profile> profile_at(const std::string& path);

/// Returns JSON that read_profile reads as the same profile, over several lines, with all keys.
std::string write_profile(const Profile& profile);

/// Returns "Lassen (fingerprint 1f2e3d4c5b6a7988)": equal exactly for equal profiles, wherever they
/// come from. Ranks compare this text.
std::string identity(const Profile& profile);

}  // namespace vicinal

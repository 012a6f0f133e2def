// Costs of a machine, in the terms of the LogGOPS (Hoefler, Schneider and Lumsdaine 2010) and
// max-rate models. For each level of distance between two ranks, a profile has the processor time
// at both ends and the transit time. Both are given for a message and for each byte. It also has
// the injection limit of a node, and the times of a handover through shared memory and of a copy.
// Times are in seconds.
//
// Decisions that ranks must make identically without communication use whole picoseconds. No sum of
// these depends on the rounding of a processor or on a compiler.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "locality/machine.hpp"

namespace vicinal {

/// Cost of MPI messages of a range of sizes.
struct Protocol {
  static constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

  std::int64_t up_to = any_size;          ///< messages of at most so many bytes
  double latency = 0;                     ///< in transit, without the overheads at both ends
  double seconds_per_byte = 0;            ///< if two ranks have the link to themselves
  bool rendezvous = false;                ///< nothing moves before the receive is posted
  double residual = 0;                    ///< relative deviation of measured times
  double processor_seconds_per_byte = 0;  ///< of the processor at each end, besides the overhead

  bool operator==(const Protocol&) const = default;
};

/// Messages between ranks at one level.
struct LevelCost {
  double send_overhead = 0;         ///< of the sender's processor, for each message
  double receive_overhead = 0;      ///< of the receiver's
  std::vector<Protocol> protocols;  ///< by size; the last is for any size. Never empty
  bool measured = true;             ///< false: taken over from the level next to it

  [[nodiscard]] const Protocol& protocol(std::int64_t bytes) const;
  /// Transit time of the smallest messages.
  [[nodiscard]] double latency() const { return protocols.front().latency; }
  /// Of the largest messages.
  [[nodiscard]] double seconds_per_byte() const { return protocols.back().seconds_per_byte; }
  /// Of both ends together, besides the bytes.
  [[nodiscard]] double overhead() const { return send_overhead + receive_overhead; }
  /// Processor time for a message of that many bytes: the sender's, the receiver's, and both.
  [[nodiscard]] double sending(std::int64_t bytes) const {
    return send_overhead + handling_bytes(bytes);
  }
  [[nodiscard]] double receiving(std::int64_t bytes) const {
    return receive_overhead + handling_bytes(bytes);
  }
  [[nodiscard]] double handling(std::int64_t bytes) const {
    return sending(bytes) + receiving(bytes);
  }
  /// From the begin of a send to the end of its receive, if no other rank sends.
  [[nodiscard]] double seconds(std::int64_t bytes) const;

  bool operator==(const LevelCost&) const = default;

 private:
  [[nodiscard]] double handling_bytes(std::int64_t bytes) const {
    return static_cast<double>(bytes) * protocol(bytes).processor_seconds_per_byte;
  }
};

/// A kind of work that a GPU does for a rank.
struct DeviceWork {
  double overhead = 0;  ///< of the rank's processor, until the work is submitted
  double latency = 0;   ///< from there until it is known to be done, besides its bytes
  double seconds_per_byte = 0;
  double residual = 0;  ///< as of a protocol

  /// From its begin until it is known to be done, if no other rank uses the GPU.
  [[nodiscard]] double seconds(std::int64_t bytes) const {
    return overhead + latency + static_cast<double>(bytes) * seconds_per_byte;
  }

  bool operator==(const DeviceWork&) const = default;
};

/// The GPUs of a host. There are no default values: a profile has only measured ones.
struct DeviceCost {
  std::string name;      ///< of the GPU
  int count = 0;         ///< of a host, whose ranks share them in blocks; 0: each rank has its own
  DeviceWork kernel;     ///< gathers, scatters and reductions in its memory
  DeviceWork to_host;    ///< copies from there to pinned memory
  DeviceWork to_device;  ///< and back
  /// Such kernels on the GPU memory of another rank of the host, if ranks can access it.
  std::optional<DeviceWork> peer;
  /// Messages from one GPU's memory to another's, if MPI accepts its addresses.
  std::optional<std::array<LevelCost, level_count>> levels;

  bool operator==(const DeviceCost&) const = default;
};

struct Profile {
  std::string name;    ///< of the machine and MPI
  std::string source;  ///< origin of the numbers: who measured them, how
  std::string date;    ///< of the measurements, as 2021-04-08; "" if unknown
  std::array<LevelCost, level_count> levels;
  double port_seconds_per_byte = 0;  ///< of all that a node injects, and of all that it receives
  double search =
      0;  ///< of the receiver's processor, for each posted receive searched before the right one
  double handover = 0;  ///< from a signal in shared memory to the end of its await
  double copy_seconds_per_byte =
      0;  ///< of a processor's copies between the caches or memory of one host
  /// Cores of a host for its ranks alone; 0: one for each rank. Less than one if several hosts are
  /// one machine.
  double cores = 0;
  double turn = 0;  ///< of a shared core, to switch from one rank to another ...
  double poll = 0;  ///< ... and, if that one has waited for a message, until it has found it
  /// Gap between two messages at the port of a rank. If given, ports follow LogGP's rules
  /// (links.hpp) instead of those of hosts.
  std::optional<double> gap;
  /// GPU costs, if buffers may lie in a GPU's memory.
  std::optional<DeviceCost> device;

  [[nodiscard]] const LevelCost& at(Level level) const {
    return levels[static_cast<std::size_t>(level)];
  }
  [[nodiscard]] const LevelCost& network() const { return at(Level::network); }

  bool operator==(const Profile&) const = default;
};

/// The profile used if none is given.
const Profile& default_profile();

using Picoseconds = std::int64_t;

[[nodiscard]] inline Picoseconds picoseconds(double seconds) {
  return std::llround(seconds * 1e12);
}
[[nodiscard]] inline Picoseconds picoseconds(std::int64_t bytes, double seconds_per_byte) {
  return std::llround(static_cast<double>(bytes) * seconds_per_byte * 1e12);
}

}  // namespace vicinal

// What a machine costs, in the terms of the LogGOPS (Hoefler, Schneider and Lumsdaine 2010) and max-rate models: for each
// level at which two ranks may be near each other, what a message and each of its bytes cost the processors at its ends and
// how long they are on their way; what a node can inject; what a handover through shared memory and a copy take. Times are in seconds.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "locality/machine.hpp"

namespace vicinal {

/// How an MPI sends messages of some sizes.
struct Protocol {
  static constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

  std::int64_t up_to = any_size;  ///< messages of at most so many bytes
  double latency = 0;             ///< on the way, without the overheads at both ends
  double seconds_per_byte = 0;    ///< where two ranks have the way to themselves
  bool rendezvous = false;        ///< nothing moves before the receive is posted
  double residual = 0;            ///< how far measured times lie from these, in parts of them
  double processor_seconds_per_byte = 0;  ///< of the processor at each end, beside the overhead

  bool operator==(const Protocol&) const = default;
};

/// Messages between ranks at one level.
struct LevelCost {
  double send_overhead = 0;         ///< of the sender's processor, for each message
  double receive_overhead = 0;      ///< of the receiver's
  std::vector<Protocol> protocols;  ///< by size; the last is for any size. Never empty
  bool measured = true;             ///< false: taken over from the level next to it

  [[nodiscard]] const Protocol& protocol(std::int64_t bytes) const;
  /// Of the smallest messages, on the way.
  [[nodiscard]] double latency() const { return protocols.front().latency; }
  /// Of the largest ones.
  [[nodiscard]] double seconds_per_byte() const { return protocols.back().seconds_per_byte; }
  /// Of both ends together, beside the bytes.
  [[nodiscard]] double overhead() const { return send_overhead + receive_overhead; }
  /// Of the sender's processor for a message of so many bytes; of the receiver's; and of both.
  [[nodiscard]] double sending(std::int64_t bytes) const {
    return send_overhead + handling_bytes(bytes);
  }
  [[nodiscard]] double receiving(std::int64_t bytes) const {
    return receive_overhead + handling_bytes(bytes);
  }
  [[nodiscard]] double handling(std::int64_t bytes) const {
    return sending(bytes) + receiving(bytes);
  }
  /// From the begin of a send to the end of its receive, where nobody else sends.
  [[nodiscard]] double seconds(std::int64_t bytes) const;

  bool operator==(const LevelCost&) const = default;

 private:
  [[nodiscard]] double handling_bytes(std::int64_t bytes) const {
    return static_cast<double>(bytes) * protocol(bytes).processor_seconds_per_byte;
  }
};

/// A kind of work that a GPU does for a rank.
struct DeviceWork {
  double overhead = 0;  ///< of the rank's processor, until it is on its way
  double latency = 0;   ///< from there until it is known to be done, beside its bytes
  double seconds_per_byte = 0;
  double residual = 0;  ///< as of a protocol

  /// From its begin until it is known to be done, where nobody else uses the GPU.
  [[nodiscard]] double seconds(std::int64_t bytes) const {
    return overhead + latency + static_cast<double>(bytes) * seconds_per_byte;
  }

  bool operator==(const DeviceWork&) const = default;
};

/// The GPUs of a host. There is no default: what has not been measured is in no profile.
struct DeviceCost {
  std::string name;      ///< of the GPU
  int count = 0;         ///< of a host, whose ranks share them in blocks; 0: each rank has its own
  DeviceWork kernel;     ///< gathers, scatters and reductions in its memory
  DeviceWork to_host;    ///< copies from there to pinned memory
  DeviceWork to_device;  ///< and back
  /// Such kernels where ranks of a host reach into each other's, if they do.
  std::optional<DeviceWork> peer;
  /// Messages from one GPU's memory to another's, where the MPI takes its addresses.
  std::optional<std::array<LevelCost, level_count>> levels;

  bool operator==(const DeviceCost&) const = default;
};

struct Profile {
  std::string name;    ///< of the machine and MPI
  std::string source;  ///< where the numbers are from: who measured them, how
  std::string date;    ///< of the measurements, as 2021-04-08; "" where nobody says
  std::array<LevelCost, level_count> levels;
  double port_seconds_per_byte =
      0;  ///< of all that a node injects together, as of all that it takes in
  double search =
      0;  ///< of the receiver's processor, for each posted receive that is looked at before the right one
  double handover = 0;  ///< from a signal in shared memory to the end of its await
  double copy_seconds_per_byte =
      0;  ///< of a processor's copies between the caches or memory of one host
  /// Cores of a host that its ranks have to themselves; 0: one for each rank. Less than one where several hosts are
  /// one machine.
  double cores = 0;
  double turn = 0;  ///< of a core that ranks share, to pass from one of them to another one ...
  double poll = 0;  ///< ... and, where that one has waited for a message, until it has found it
  /// Between two messages at the port of a rank, where ports go by LogGP's rules (loggp.hpp), in the place of those of hosts.
  std::optional<double> gap;
  /// Where buffers may lie in a GPU's memory.
  std::optional<DeviceCost> device;

  [[nodiscard]] const LevelCost& at(Level level) const {
    return levels[static_cast<std::size_t>(level)];
  }
  [[nodiscard]] const LevelCost& network() const { return at(Level::network); }

  bool operator==(const Profile&) const = default;
};

/// What holds where no profile is given.
const Profile& default_profile();

}  // namespace vicinal

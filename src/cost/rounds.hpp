// The price of an algorithm that proceeds in rounds, as it follows from the machine alone. In each
// round, ranks send messages, and then take those that they receive. The busiest processor, link
// or port determines the duration of a round, and rounds follow one another. So no events are kept
// in order, unlike in cost/price.hpp, whose model of processors, links and ports this is.
//
// An algorithm lists the messages of the ranks to follow: those of the first and the last host of
// each size. Hosts with equally many ranks are assumed alike, except that the last ranks wrap
// around. Rounds are no pipeline: a ring whose steps overlap takes up to 1.5 times as long here.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal {

class Rounds {
 public:
  enum class Transfer : std::uint8_t {
    message,  ///< from one place of memory to one place
    packed,   ///< a message from several places to several
    slot,     ///< through shared memory
  };

  /// The arguments must outlive the object. Ranks that share resources are assumed to move
  /// `mean_over_most` times the bytes that are listed for one of them.
  Rounds(const Machine& machine, const Profile& profile, double mean_over_most = 1);

  /// Returns the ranks whose messages count.
  [[nodiscard]] const std::vector<int>& followed() const { return followed_; }

  /// Adds messages of `bytes` bytes each from `rank` to ranks as near as `peer`.
  void send(int rank, int peer, Transfer transfer, double messages, double bytes);
  /// Adds messages that `rank` takes from ranks as near as `peer`.
  void take(int rank, int peer, Transfer transfer, double messages, double bytes);
  /// Adds both, as many messages in each direction.
  void exchange(int rank, int peer, Transfer transfer, double messages, double bytes) {
    send(rank, peer, transfer, messages, bytes);
    take(rank, peer, transfer, messages, bytes);
  }
  void end_round();

  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  enum class Awaited : std::uint8_t { nothing, flag, message };
  /// The load of a rank in a round, in seconds.
  struct Load {
    double work = 0;     ///< of its processor
    double packing = 0;  ///< part of `work` before it sends
    double link = 0;
    Awaited awaited = Awaited::nothing;
  };
  /// The load of what a host's ranks share.
  struct HostLoad {
    double work = 0;
    double out = 0;  ///< of its port
    double in = 0;
  };

  void add_work(int rank, double of_messages, double of_bytes);
  void await_cores();
  [[nodiscard]] double part_of_most(int rank) const;
  [[nodiscard]] Load& load(int rank) { return loads_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] HostLoad& host_load(int rank) {
    return host_loads_[static_cast<std::size_t>(machine_.host_of(rank))];
  }
  /// Returns the cores that the ranks of a host share; 0 if each has its own.
  [[nodiscard]] double cores(int host) const;

  const Machine& machine_;
  const Profile& profile_;
  const double mean_over_most_;
  const std::vector<int> followed_;
  std::vector<Load> loads_;           ///< by rank
  std::vector<HostLoad> host_loads_;  ///< by host
  // The largest of one message of the round:
  double latency_ = 0;
  double ends_ = 0;   ///< processor time at both ends
  double alone_ = 0;  ///< link time
  double seconds_ = 0;
};

}  // namespace vicinal

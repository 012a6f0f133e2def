// A clock for each rank, for estimates that follow an algorithm round by round. A rank's work in a
// round comes after all its work and receives in earlier rounds, since ranks of an allgather
// forward received blocks. So no events are kept in order, unlike in cost/price.hpp, whose model of
// processors, links and ports this is. A round costs a few additions for each message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cost/cores.hpp"
#include "cost/picoseconds.hpp"

namespace vicinal::allgather {

inline std::size_t at(int place) { return static_cast<std::size_t>(place); }

class Clocks {
 public:
  /// Both arguments must outlive the clocks.
  Clocks(const Machine& machine, const Profile& profile);

  /// Adds a message to this round. A `packed` one is packed before and unpacked after.
  void send(int from, int to, std::int64_t bytes, bool packed = false);
  /// As send(), through a slot in shared memory.
  void hand(int from, int to, std::int64_t bytes);
  /// Ends the round: all messages are sent and received.
  void deliver();
  /// Adds a copy from one place of a host's memory to another.
  void copy(int rank, std::int64_t bytes);
  enum class Awaited : std::uint8_t { flag, message };
  /// Adds the switch to a rank that has waited until `until`, if it shares a core.
  void turn(int rank, Picoseconds until, Awaited awaited = Awaited::flag);
  /// Continues a rank when it has seen the signal that another rank gave at that time.
  void await(int rank, Picoseconds signalled);

  [[nodiscard]] Picoseconds at(int rank) const { return now_[static_cast<std::size_t>(rank)]; }
  /// Returns the time when the last rank is done.
  [[nodiscard]] Picoseconds end() const;

 private:
  /// A resource that the messages of a round share: a rank's link, a host's port.
  struct Port {
    int messages = 0;      ///< in this round
    Picoseconds busy = 0;  ///< until when

    void enter(Picoseconds time, Picoseconds alone) {
      ++messages;
      busy = std::max(busy, time) + alone;
    }
    /// Returns when a message has passed that entered at `time` and takes `alone` by itself.
    /// Messages of one size pass together, small ones before large ones.
    [[nodiscard]] Picoseconds passed(Picoseconds time, Picoseconds alone) const {
      return std::min(busy, time + messages * alone);
    }
  };
  enum class Way : std::uint8_t { straight, packed, shared };
  struct Message {
    int from = 0, to = 0;
    std::int64_t bytes = 0;
    Way way = Way::straight;
    Picoseconds leaves = 0;  ///< when it begins to leave
    Picoseconds arrives = 0;
  };

  /// Makes a rank's processor busy.
  void work(int rank, Picoseconds duration);
  void begin(Message& message);
  void end(const Message& message);
  [[nodiscard]] Picoseconds arrival(const Message& message) const;
  [[nodiscard]] std::size_t host_of(int rank) const {
    return static_cast<std::size_t>(machine_.host_of(rank));
  }

  [[nodiscard]] const Core& core(int rank) const {
    return cores_.cores[allgather::at(cores_.of_rank[allgather::at(rank)])];
  }

  const Machine& machine_;
  const Profile& profile_;
  Picoseconds handover_;
  Picoseconds turn_, poll_;
  DealtCores cores_;
  std::vector<Picoseconds> now_;  ///< by rank
  std::vector<int> taken_;        ///< by rank: the last round in which it received anything
  int rounds_ = 0;
  std::vector<Picoseconds> busy_;  ///< by core: until when
  std::vector<Port> link_;         ///< by rank
  std::vector<Port> out_, in_;     ///< by host
  std::vector<Message> round_;
};

}  // namespace vicinal::allgather

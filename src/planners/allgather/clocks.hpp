// A clock for each rank, for estimates that follow an algorithm round by round: what a rank does in a round comes after
// all that it has done and got in the rounds before. That is so in an allgather, where ranks pass on what has come; so no
// events have to be kept in order as in cost/price.hpp, whose model of processors, links and ports this is, and a round
// costs no more than some additions for each message.
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
  /// Both must live as long as the clocks.
  Clocks(const Machine& machine, const Profile& profile);

  /// A message of this round. One that is `packed` is put together before, and taken apart after.
  void send(int from, int to, std::int64_t bytes, bool packed = false);
  /// The same through a slot in shared memory.
  void hand(int from, int to, std::int64_t bytes);
  /// The end of the round: all is sent, and received.
  void deliver();
  /// A rank copies from one place of its host's memory to another.
  void copy(int rank, std::int64_t bytes);
  enum class Awaited : std::uint8_t { flag, message };
  /// A rank that has waited until then takes over the core that it shares, if it does.
  void turn(int rank, Picoseconds until, Awaited awaited = Awaited::flag);
  /// A rank goes on when it has seen a signal that another one has given at that time.
  void await(int rank, Picoseconds signalled);

  [[nodiscard]] Picoseconds at(int rank) const { return now_[static_cast<std::size_t>(rank)]; }
  /// When the last rank is done.
  [[nodiscard]] Picoseconds end() const;

 private:
  /// What the messages of a round share: a rank's link, a host's port.
  struct Port {
    int messages = 0;      ///< of this round
    Picoseconds busy = 0;  ///< until when

    void enter(Picoseconds time, Picoseconds alone) {
      ++messages;
      busy = std::max(busy, time) + alone;
    }
    /// When a message is through that has entered then and takes so long alone: all of one size are together, small ones
    /// before large ones.
    [[nodiscard]] Picoseconds passed(Picoseconds time, Picoseconds alone) const {
      return std::min(busy, time + messages * alone);
    }
  };
  enum class Way : std::uint8_t { straight, packed, shared };
  struct Message {
    int from = 0, to = 0;
    std::int64_t bytes = 0;
    Way way = Way::straight;
    Picoseconds leaves = 0;  ///< begins to
    Picoseconds arrives = 0;
  };

  /// A rank's processor is busy.
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
  std::vector<int> taken_;        ///< by rank: the last round in which it took anything
  int rounds_ = 0;
  std::vector<Picoseconds> busy_;  ///< by core: until when
  std::vector<Port> link_;         ///< by rank
  std::vector<Port> out_, in_;     ///< by host
  std::vector<Message> round_;
};

}  // namespace vicinal::allgather

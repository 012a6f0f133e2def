// The ways of messages in the price. A message departs over its rank's link and, between hosts,
// through the ports of both. Messages share each of these fairly. Messages from one rank to another
// leave in order, over one connection. A profile with a gap has LogGP's serial ports instead. A
// message that arrives is compared with the receives posted before its own.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "cost/steps.hpp"

namespace vicinal::detail {

/// A host's port, shared fairly by the messages that pass it (max-rate: Gropp, Olson and Samfass
/// 2016). While n messages pass, each gets an n-th of its rate.
///
/// A message passes three ports at once. They are its sender's link (a port of that rank alone),
/// the out-port of one host and the in-port of another. It has passed when the slowest of the three
/// has passed all of its bytes. Each port shares as if nothing else delayed its messages, so a
/// delay elsewhere leaves no gap. A port never idles while it has bytes to pass, and no message
/// passes before the port could have passed its share. A fair share over all ports at once
/// (max-min) would need the rates of all messages that depend on one that ends. Here an event costs
/// a logarithm. If one port or link limits all the messages that meet there, both are the same.
class Port {
 public:
  /// Begins a job that takes this many seconds of the port alone.
  void enter(double now, int job, double seconds);
  /// Returns when the first job will have passed, if no other begins before; infinity if there is
  /// none.
  [[nodiscard]] double next() const;
  /// Removes and returns a job that has passed by now, or -1. Of jobs that end together, the lowest
  /// number is first.
  int leave(double now);

  /// When the caller will next check for passed jobs; kept here for the caller.
  double looked_at = std::numeric_limits<double>::infinity();

 private:
  struct Job {
    double through;  ///< at which service
    int number;
    friend bool operator>(const Job& a, const Job& b) {
      return a.through != b.through ? a.through > b.through : a.number > b.number;
    }
  };

  double since_ = 0;       ///< when `service_` was valid
  double service_ = 0;     ///< seconds that each job has had, counted from when the port was idle
  std::vector<Job> jobs_;  ///< a heap, the first to pass on top
};

class Links {
 public:
  Links(const Program& program, const Machine& machine, const Profile& profile, Steps& steps,
        Agenda& agenda);

  /// Lets a send's message leave, after earlier messages to the same rank. A `Happening::left` of
  /// the send will follow.
  void join(int send);
  /// Handles `Happening::passed`.
  void look_at_port(int port);
  /// Handles `Happening::left`. Returns the send whose message begins to leave next, or -1.
  int leave(int send);

 private:
  /// The messages of one rank to another, if there are several.
  struct Connection {
    bool taken = false;        ///< one of them is leaving
    std::vector<int> waiting;  ///< sends
    std::size_t next = 0;      ///< in `waiting`
  };
  void find_connections(const Program& program);
  void begin(int send);
  void enter(int port, int send, double seconds);
  void foresee(int port);

  const Machine& machine_;
  const Profile& profile_;
  Steps& steps_;
  Agenda& agenda_;
  std::vector<Connection> connections_;
  std::vector<Port> ports_;  ///< by host: out, in; then the ranks' links
};

/// Departure and arrival of messages by LogGP (Alexandrov, Ionescu, Schauser and Scheiman 1995),
/// for a profile with a gap. Each rank has one port, which passes one message at a time in each
/// direction, first in, first out. The bytes after the first take G each, and the next message
/// follows g after the last of them. The first byte arrives L after it has left, and enters when
/// the receiver's port is free. So an undelayed message of k bytes has arrived (k - 1) G + L after
/// it was sent.
class SerialPorts {
 public:
  SerialPorts(int ranks, double gap, const Steps& steps, Agenda& agenda)
      : gap_(gap), steps_(steps), agenda_(agenda), ports_(static_cast<std::size_t>(ranks)) {}

  /// Lets a send's message leave, after its overhead is paid. A `Happening::left` and a
  /// `Happening::reached` of it will follow. Returns the send that it waits for, or -1.
  int join(int send);
  /// Handles `Happening::reached`: the first byte is at the receiver. A `Happening::arrived` will
  /// follow.
  void take_in(int send);

 private:
  struct Port {
    double out_free = 0;  ///< when the next message may begin to leave
    double in_free = 0;   ///< when the next message may enter
    int last = -1;        ///< the send whose message left last
  };
  /// Time of the bytes after the first.
  [[nodiscard]] double seconds(int send) const;
  Port& port(int rank) { return ports_[static_cast<std::size_t>(rank)]; }

  double gap_;
  const Steps& steps_;
  Agenda& agenda_;
  std::vector<Port> ports_;  ///< by rank
};

/// The receives that the ranks have posted, in the order of posting: how many of them a message is
/// compared with before its own. One Fenwick tree for each rank, all of them in one list, so that
/// queues of thousands cost a logarithm.
class PostedReceives {
 public:
  /// `most` has, by rank, the number of receives it will ever post.
  explicit PostedReceives(std::span<const int> most)
      : first_(most.size() + 1), posted_(most.size()) {
    for (std::size_t rank = 0; rank < most.size(); ++rank) {
      first_[rank + 1] = first_[rank] + static_cast<std::size_t>(most[rank]);
    }
    tree_.assign(first_.back(), 0);
  }

  /// Returns the receive's position in the order of posting.
  int post(int rank) {
    const int place = ++posted_[at(rank)];
    add(rank, place, 1);
    return place;
  }

  /// Removes a receive. Returns how many stood before it.
  int take(int rank, int place) {
    add(rank, place, -1);
    int before = 0;
    for (int i = place; i > 0; i -= i & -i) before += node(rank, i);
    return before;
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  int& node(int rank, int i) { return tree_[first_[at(rank)] + at(i) - 1]; }
  void add(int rank, int place, int what) {
    const int size = static_cast<int>(first_[at(rank) + 1] - first_[at(rank)]);
    for (int i = place; i <= size; i += i & -i) node(rank, i) += what;
  }

  std::vector<std::size_t> first_;  ///< by rank, and the end
  std::vector<int> posted_;         ///< by rank, since the begin
  std::vector<int> tree_;
};

}  // namespace vicinal::detail

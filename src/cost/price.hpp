// What plans cost: the time of one execution on a machine with a profile, by an event loop over the plans of all
// ranks. It knows nothing of the planner that made them, so it is what planners are compared by, and
// what the closed forms by which they decide while they plan are held to.
//
// The execution is one of many. All ranks begin it at time 0, with the acknowledgements of the execution before in
// place. What takes time:
//  - An operation is ready when those before it in its plan are complete. A receive is posted at that moment, which
//    takes no time, and needs the processor only when its message has come, too.
//  - A rank has one processor, which does one thing at a time and to its end, in the order in which things became ready
//    for it; of what becomes ready at one time, the operation that stands first in the plan is first. Where a
//    host has fewer cores than ranks (cores.hpp), the ranks share that many processors in turn: who has one goes on while
//    anything is ready for it, and then who has waited longest takes it over, of several the lower rank. That takes the
//    processor a turn, and a poll where that rank has waited for a message; so does going on after a time without anything to do.
//  - Sending occupies it for the overhead at the message's level and what its protocol has for each byte. The message then leaves, at the rate of its protocol,
//    which it shares with those that its rank is sending to others (to one rank they leave one after another), or,
//    between hosts, at the share of both hosts' ports that is its own, where that is less. It takes its share of both ports from
//    when it begins to leave until it is through, the receiver's too, a latency before anything arrives there; shares
//    are equal (port.hpp). An eager message arrives one latency after its last byte has left, and its send is complete
//    when that has left.
//  - With rendezvous a message may leave one latency after its sending has been paid for and its receive is
//    posted, whichever is later. Sending is complete when the bytes have left, which is when they arrive: the
//    latency of a protocol is all that a message takes besides its bytes.
//  - Receiving what has arrived and was posted occupies the processor for the overhead and the bytes likewise, and for the
//    search of the receives that were posted before and are not taken yet.
//  - Copying and reducing occupies it for the bytes. A signal takes no time but a turn; an await of it is over one handover later.
//    Where processors are shared the handover is the awaiting rank's processor time, from when the
//    flag is set: it has to get its turn to see it. Triggers and notifications take no time.
//  - Where user buffers lie in a GPU's memory (OnDevice), plans are those that are executed then: with staging
//    between such buffers and messages, or where messages go direct, as they are, with messages between what lies
//    there by the device's levels; slots lie there, too, where they are shared. A copy or reduction that touches them is one task
//    of a GPU, which occupies the processor for its overhead. The GPU then does the bytes, in the order in which ranks come to
//    it, and nothing else meanwhile; the operation is complete when the latency has passed, too. What is lent its owner does not
//    copy, and it is not taken to wait until that has been read.
// With a profile that has a gap, messages go by LogGP's rules instead: each rank has one port, which serves one message at a
// time, in the order in which they come (loggp.hpp). An await, a copy and a processor are as above.
// Not in it: a processor's work for posting and testing beyond the overheads, cache and NUMA effects, the
// topology of the network.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "cost/devices.hpp"
#include "cost/profile.hpp"
#include "cost/timeline.hpp"
#include "locality/machine.hpp"
#include "plan/plan.hpp"

namespace vicinal {

/// All times are in seconds.
struct Price {
  double seconds = 0;  ///< until the last rank is done
  /// Of those, what belongs to operations of each phase, along the chain of what waited for what that
  /// ends with the last operation. They add up to `seconds`.
  std::array<double, phase_count> phases{};
  std::vector<double> busy;      ///< by rank: how long it occupies its processor
  std::vector<double> finished;  ///< by rank: when it has completed its last operation
  int busiest = 0;               ///< the lowest rank with the most busy time

  [[nodiscard]] double of(Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

/// The price of the plans of all ranks (index = rank), with elements of that many bytes.
/// Throws what Program throws for plans that do not fit together, and for a deadlock the internal fault of the proof;
/// an argument fault for buffers on a device of which the profile has nothing.
Price price(std::span<const Plan> plans, const Machine& machine, const Profile& profile,
            Index element_bytes, OnDevice on_device = {}, DeviceWay way = staged_way);

struct Simulation {
  Price price;
  Timeline timeline;
};

/// The same, with all that happened meanwhile: some 40 bytes more for each operation.
Simulation simulate(std::span<const Plan> plans, const Machine& machine, const Profile& profile,
                    Index element_bytes);

}  // namespace vicinal

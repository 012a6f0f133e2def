// The price of plans: the time of one execution on a machine with a profile, from an event loop
// over the plans of all ranks. It is independent of the planners. So it serves to compare them, and
// to check the closed forms by which they decide.
//
// The execution is one of many. All ranks begin it at time 0, with the acknowledgements of the
// previous execution in place. The rules:
// - An operation is ready when its predecessors in its plan are complete. A receive is posted at
//   that moment, which takes no time. It needs the processor only when its message has arrived,
//   too.
// - A rank has one processor. It does one task at a time and to its end, in the order in which
//   tasks became ready. Of tasks that become ready at one time, the first operation in the plan is
//   first.
// - If a host has fewer cores than ranks (cores.hpp), the ranks share that many processors. A rank
//   keeps its processor while any of its tasks is ready. Then the rank that has waited longest
//   takes over, of several the lowest. The switch takes the processor a `turn`, and a `poll` if
//   that rank has waited for a message. Continuing after idle time costs the same.
// - Sending occupies the processor for the overhead at the message's level and for its protocol's
//   processor time per byte.
// - The message then leaves at the rate of its protocol, shared with the messages that its rank
//   sends to other ranks. Messages to one rank leave one after another. Between hosts, it leaves at
//   its share of both hosts' ports if that is less. It takes its share of both ports from when it
//   begins to leave until it has passed. This includes the receiver's port, a latency before
//   anything arrives there. Shares are equal (links.hpp).
// - An eager message arrives one latency after its last byte has left. Its send is complete when
//   that byte has left.
// - A rendezvous message may leave one latency after its sending is paid for and its receive is
//   posted, whichever is later. Its send is complete when the bytes have left, and they arrive at
//   that moment. So the latency of a protocol is all that a message takes besides its bytes.
// - Receiving a message that has arrived and was posted occupies the processor for the overhead and
//   the bytes, as for sending. It also takes the search of receives that were posted before and are
//   still unmatched.
// - Copying and reducing occupy the processor for their bytes. A signal takes only a `turn`; its
//   await completes one handover later. On shared processors, the handover is processor time of the
//   awaiting rank, which must run to see the flag. Triggers and notifications take no time.
// - With user buffers in a GPU's memory (OnDevice), the priced plans are those executed in that
//   case. They stage data between such buffers and messages. If messages are direct, the plans are
//   unchanged, and messages between GPU buffers cost what the device's levels say. Slots lie in GPU
//   memory, too, if they are shared.
// - A copy or reduction that touches GPU memory is one GPU task, which occupies the processor for
//   its overhead. The GPU then does its bytes, one task at a time, in order of arrival. The
//   operation is complete when the latency has passed, too. An owner does not copy an exported
//   source, and does not wait until it has been read.
//
// With a profile that has a gap, messages follow LogGP's rules instead (links.hpp). Each rank has
// one port, which serves one message at a time, in order of arrival. Awaits, copies and processors
// are as above.
//
// Not modeled: processor time for posting and testing beyond the overheads, cache and NUMA effects,
// the topology of the network.
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
  /// Parts of `seconds` by phase, along the chain of dependencies that ends with the last
  /// operation. They add up to `seconds`.
  std::array<double, phase_count> phases{};
  std::vector<double> busy;      ///< by rank: how long it occupies its processor
  std::vector<double> finished;  ///< by rank: when it has completed its last operation
  int busiest = 0;               ///< the lowest rank with the most busy time

  [[nodiscard]] double of(Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

/// Returns the price of the plans of all ranks (index = rank), with elements of that many bytes.
/// Throws as Program does for plans that do not match. Throws an internal fault, with the proof,
/// for a deadlock. Throws an argument fault for device buffers that the profile has no prices for.
Price price(std::span<const Plan> plans, const Machine& machine, const Profile& profile,
            Index element_bytes, OnDevice on_device = {},
            DeviceTransport transport = staged_transport);

struct Simulation {
  Price price;
  Timeline timeline;
};

/// As price(), with a timeline of all operations: some 40 bytes more for each operation.
Simulation simulate(std::span<const Plan> plans, const Machine& machine, const Profile& profile,
                    Index element_bytes);

}  // namespace vicinal

// Sparse dynamic data exchange: each rank knows the ranks that it sends to, but not those that it
// receives from. After Geyko and Bienz, "A Locality-Aware Sparse Dynamic Data Exchange" (2023):
//
//   - personalized (algorithm 1): a sum of counts tells each rank how many messages to expect.
//     Sends need no acknowledgement, but each rank gives a count for every other. Wins on few
//     ranks. Costs a message per parcel, and log2(ranks) messages with one word per rank in total.
//   - nonblocking (algorithm 2; Hoefler et al. 2010, "NBX"): sends are synchronous. A rank whose
//     sends have completed enters a nonblocking consensus; once the consensus completes, no message
//     is in flight. Has no cost per rank, so wins on many ranks. Costs a message per parcel, and
//     log2(ranks) messages of a word.
//   - locality (algorithm 3): nonblocking between regions; inside them a number of messages known
//     beforehand. Beyond the paper, a region first collects its data for another region through
//     shared memory. So there is one message per region pair, not one per rank.
//   - locality-personalized: as locality, but each region pair exchanges its message even if it is
//     empty. So each rank knows how many messages to expect, and needs no consensus. Costs each
//     rank regions / (ranks of its region) messages: the fastest for few regions.
//   - one-sided: for messages of one size. Each sender draws slots in the receiver's memory from a
//     counter there, and puts its messages into them. The window is kept with the communicator, and
//     later reused for communicators of the same ranks. MPI makes and frees windows collectively,
//     and making one costs a thousand times as much as using it. Costs two allreduces, a barrier,
//     and per message an atomic operation and a put. For machines with cheap remote access; never
//     automatic.
//
// See locality_exchange.cpp and one_sided.cpp for the last three.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/conversation.hpp"
#include "cost/exchange_method.hpp"
#include "cost/profile.hpp"
#include "discovery/findings.hpp"
#include "discovery/parcels.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Options of an exchange; equal on all ranks.
struct ExchangeOptions {
  ExchangeOptions(Method wanted = Method::automatic) : method(wanted) {}
  Method method;
  std::string regions;        ///< see Communicator::machine
  bool shared_memory = true;  ///< hand over through it where a region has it
  /// Input of `automatic`: not null, owned by the caller, and not used after a method is chosen.
  const Profile* profile = &default_profile();
};

/// Returns the method that these options select on a communicator. Local.
[[nodiscard]] Method method_for(mpi::Communicator& communicator, const ExchangeOptions& options);

/// Delivers each parcel to its peer. Parcels may be empty, address the own rank (without MPI), or
/// share a peer. Collective, with equal options on all ranks. No rank leaves before all have
/// entered.
///
/// A rank may bring a finding instead of parcels, or address a rank that does not exist. Then every
/// rank throws as agree() does; without a fault this costs nothing. Throws an info fault
/// for the one-sided method, and a topology fault for an invalid region map. A rank that fails to
/// allocate memory for its messages participates to the end, and throws a memory fault alone.
Inbox exchange(mpi::Communicator& communicator, std::vector<Parcel> outbox,
               const ExchangeOptions& options = {}, std::optional<Error> mine = std::nullopt);

/// As exchange(), but after a failed allocation sets the inbox's `lacking` instead of throwing. For
/// callers that must tell the senders.
Inbox exchange_and_keep(mpi::Communicator& communicator, std::vector<Parcel> outbox,
                        const ExchangeOptions& options, std::optional<Error> mine);

/// As exchange(), for parcels that all have `bytes` bytes; supports every method. Throws a count
/// fault if ranks give different sizes: one-sided on every rank, else where such a message arrives.
Inbox exchange_blocks(mpi::Communicator& communicator, std::vector<Parcel> outbox,
                      std::int64_t bytes, const ExchangeOptions& options = {},
                      std::optional<Error> mine = std::nullopt);

/// As exchange(), for control messages.
std::vector<ControlMessage> exchange_messages(mpi::Communicator& communicator,
                                              const std::vector<ControlMessage>& outbox,
                                              const ExchangeOptions& options = {},
                                              std::optional<Error> mine = std::nullopt);

// The methods, one function each. Their callers have checked the peers. A rank with a finding
// passes no parcels. The options name the method to run.

Inbox exchange_personalized(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                            const std::optional<Error>& mine);
Inbox exchange_nonblocking(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const std::optional<Error>& mine);
/// Runs locality or locality-personalized.
Inbox exchange_by_locality(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const ExchangeOptions& options, const std::optional<Error>& mine);
Inbox exchange_one_sided(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                         std::int64_t bytes, const std::optional<Error>& mine);

/// Returns the tag of a flat exchange or of messages between regions; `parity` is 0 or 1.
[[nodiscard]] inline int discovery_tag(int parity) {
  return parity == 0 ? mpi::tag_discovery_even : mpi::tag_discovery_odd;
}

/// Reason for waiting for a consensus.
inline constexpr const char* all_in_exchange =
    "all ranks of its communicator to take part in an exchange";

}  // namespace vicinal

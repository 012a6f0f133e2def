// A sparse dynamic data exchange: each rank knows whom it sends to, and none whom it receives from.
// After Geyko and Bienz, "A Locality-Aware Sparse Dynamic Data Exchange" (2023):
//
//   personalized (algorithm 1): a sum of counts tells each rank how many messages will come. Sends
//     need no acknowledgement, but each rank gives a count for every other: wins on few ranks.
//     Costs a message per parcel, and log2(ranks) messages with one word per rank in all.
//   nonblocking (algorithm 2; Hoefler et al. 2010, "NBX"): messages are sent so that their sender
//     learns of their receipt, and a rank whose messages were all received enters a nonblocking
//     consensus; when that is complete, nothing can be on its way. Nothing per rank: wins on many.
//     Costs a message per parcel, and log2(ranks) messages of a word.
//   locality (algorithm 3): between regions the nonblocking method, inside them a number of
//     messages known beforehand. Beyond the paper, what a region sends to another is first brought
//     together through shared memory, so that there is one message per region pair, not one per
//     rank.
//   locality-personalized: the same, but each region pair exchanges its message even where there is
//     nothing to say; so all know what will come, and no consensus is needed. Costs each rank
//     regions / (ranks of its region) messages: the fastest where regions are few.
//   one-sided: for messages of one size. Each sender draws slots in the receiver's memory from a
//     counter there, and puts its messages into them. The window is kept with the communicator, and
//     serves later ones of the same ranks: MPI makes and frees windows collectively, and making one
//     costs a thousand times what using it does. Costs two allreduces, a barrier, and for each message
//     an atomic operation and a put. For machines where remote access is cheap; never automatic.
//
// See locality_exchange.cpp and one_sided.cpp for how the latter three work.
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

/// How to exchange. All ranks give the same.
struct ExchangeOptions {
  ExchangeOptions(Method wanted = Method::automatic) : method(wanted) {}
  Method method;
  std::string regions;        ///< see Communicator::machine
  bool shared_memory = true;  ///< hand over through it, where the ranks of a region have it
  /// What `automatic` goes by: not null, the caller's, and not looked at any more once a method is chosen.
  const Profile* profile = &default_profile();
};

/// The method that these options mean on a communicator. Local.
[[nodiscard]] Method method_for(mpi::Communicator& communicator, const ExchangeOptions& options);

/// Delivers each parcel to its peer. Parcels may be empty, go to the own rank (without MPI), and be
/// several to one peer. Collective: all ranks come with the same options. No rank leaves before all
/// have come.
///
/// A rank may come with a finding instead of parcels, or address a rank that does not exist; then
/// every rank throws as share_findings() does, at no cost to an exchange without a fault. Throws an info
/// fault for the one-sided method, and a topology fault for regions that cannot be read. A rank that has no memory for
/// what comes takes part to the end, and throws a memory fault alone.
Inbox exchange(mpi::Communicator& communicator, std::vector<Parcel> outbox,
               const ExchangeOptions& options = {}, std::optional<Finding> mine = std::nullopt);

/// The same, but where there was no memory the inbox says so: for whoever has to tell the senders.
Inbox exchange_and_keep(mpi::Communicator& communicator, std::vector<Parcel> outbox,
                        const ExchangeOptions& options, std::optional<Finding> mine);

/// The same where every parcel of every rank has `bytes` bytes, by any method. Throws a count fault
/// where other ranks give another number: on every rank if one-sided, else where such a message
/// arrives.
Inbox exchange_blocks(mpi::Communicator& communicator, std::vector<Parcel> outbox,
                      std::int64_t bytes, const ExchangeOptions& options = {},
                      std::optional<Finding> mine = std::nullopt);

/// The same for letters.
std::vector<Letter> exchange_letters(mpi::Communicator& communicator,
                                     const std::vector<Letter>& outbox,
                                     const ExchangeOptions& options = {},
                                     std::optional<Finding> mine = std::nullopt);

}  // namespace vicinal

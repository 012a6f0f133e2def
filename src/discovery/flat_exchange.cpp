// The two methods that ignore regions.
//
// Successive calls must not mix: a rank may complete a call, and send its next messages, while
// another still receives this call's. Instead of a barrier at the end, calls alternate between two
// tags. Two suffice, because no rank leaves a call before all have entered it: neither the counts
// nor the consensus complete before. So no rank is two calls ahead.
#include <cstdint>
#include <span>
#include <vector>

#include "discovery/methods.hpp"
#include "discovery/round.hpp"
#include "discovery/turn.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {
namespace {

/// Added by a rank with a finding to each count of the personalized method.
constexpr std::int64_t finding_unit = std::int64_t{1} << 40;

void send_all(Round& round, const std::vector<Parcel>& outbox, int rank, bool synchronous) {
  for (const Parcel& parcel : outbox) {
    if (parcel.peer == rank) {
      round.arrivals().add(rank, parcel.bytes);
    } else {
      round.send(parcel, synchronous);
    }
  }
}

}  // namespace

Inbox exchange_personalized(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                            const std::optional<Finding>& mine) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(communicator.size()),
                                   mine ? finding_unit : 0);
  for (const Parcel& parcel : outbox) {
    if (parcel.peer != communicator.rank()) ++counts[static_cast<std::size_t>(parcel.peer)];
  }
  Round round(communicator, discovery_tag(next_turn(communicator)));
  send_all(round, outbox, communicator.rank(), false);
  const std::int64_t total = mpi::reduce_scatter(communicator.handle(), counts);
  const auto expected = static_cast<std::size_t>(total % finding_unit);
  round.collect_from("other ranks of its communicator", expected);
  round.finish_receives();
  round.finish_sends();
  if (total >= finding_unit) agree(communicator, mine);
  return round.arrivals().take();
}

Inbox exchange_nonblocking(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const std::optional<Finding>& mine) {
  std::int64_t least_vote = vote(communicator, mine);
  Round round(communicator, discovery_tag(next_turn(communicator)));
  send_all(round, outbox, communicator.rank(), true);
  round.collect_until_sent();
  // Completes only after all ranks have entered, like a barrier, and reduces the votes.
  mpi::PendingOperation consensus =
      mpi::iallreduce(communicator.handle(), std::span(&least_vote, 1), mpi::Reduction::min);
  mpi::poll_until(
      [&] {
        round.collect();
        return consensus.test();
      },
      all_in_exchange);
  round.finish_receives();
  settle(communicator, least_vote, mine);
  return round.arrivals().take();
}

}  // namespace vicinal

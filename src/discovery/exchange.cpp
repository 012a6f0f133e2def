// Selects the method, and does the work that all methods share. The two methods that ignore regions
// are here, too.
//
// Successive calls must not mix: a rank may complete a call, and send its next messages, while
// another still receives this call's. Instead of a barrier at the end, calls alternate between two
// tags. Two suffice, because no rank leaves a call before all have entered it: neither the counts
// nor the consensus complete before. So no rank is two calls ahead.
#include "discovery/exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "discovery/round.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

namespace {

/// A method chosen on a communicator, and the inputs of the choice.
struct Choice {
  std::shared_ptr<const Machine> machine;
  bool shared_memory = false;
  Profile profile;
  Method method = Method::automatic;
};
struct Choices {
  std::vector<Choice> all;
};

void check_peers(const mpi::Communicator& communicator, std::vector<Parcel>& outbox,
                 std::optional<Error>& mine) {
  const int size = communicator.size();
  const auto lost = std::find_if(outbox.begin(), outbox.end(), [&](const Parcel& parcel) {
    return parcel.peer < 0 || parcel.peer >= size;
  });
  if (lost != outbox.end() && !mine) {
    mine = Error(Fault::rank, "a message to rank " + std::to_string(lost->peer) +
                                  " was given, but the communicator has ranks 0 to " +
                                  std::to_string(size - 1));
  }
  if (mine) outbox.clear();
}

}  // namespace

Method method_for(mpi::Communicator& communicator, const ExchangeOptions& options) {
  if (options.method != Method::automatic) return options.method;
  const auto machine = communicator.machine(options.regions);
  auto& choices = communicator.extension<Choices>().all;
  const auto known = std::find_if(choices.begin(), choices.end(), [&](const Choice& it) {
    return it.machine == machine && it.shared_memory == options.shared_memory &&
           it.profile == *options.profile;
  });
  if (known != choices.end()) return known->method;
  const Method method = choose_method(*machine, options.shared_memory, *options.profile);
  log_line(LogLevel::info, [&](std::ostream& line) {
    line << "sparse exchanges go by " << name(method) << ", chosen by automatic for "
         << machine->size() << " ranks in " << machine->regions() << " regions by the profile "
         << options.profile->name;
  });
  choices.push_back({machine, options.shared_memory, *options.profile, method});
  return method;
}

Inbox exchange(mpi::Communicator& communicator, std::vector<Parcel> outbox,
               const ExchangeOptions& options, std::optional<Error> mine) {
  Inbox inbox = exchange_and_keep(communicator, std::move(outbox), options, std::move(mine));
  inbox.require_whole();
  return inbox;
}

Inbox exchange_and_keep(mpi::Communicator& communicator, std::vector<Parcel> outbox,
                        const ExchangeOptions& options, std::optional<Error> mine) {
  const Method method = method_for(communicator, options);
  require(method != Method::one_sided, Fault::info,
          "the exchange method one-sided was given for messages that may differ in size; it is for "
          "those of one size only");
  check_peers(communicator, outbox, mine);
  switch (method) {
    case Method::personalized: return exchange_personalized(communicator, outbox, mine);
    case Method::nonblocking: return exchange_nonblocking(communicator, outbox, mine);
    default: break;
  }
  ExchangeOptions chosen = options;
  chosen.method = method;
  return exchange_by_locality(communicator, outbox, chosen, mine);
}

Inbox exchange_blocks(mpi::Communicator& communicator, std::vector<Parcel> outbox,
                      std::int64_t bytes, const ExchangeOptions& options,
                      std::optional<Error> mine) {
  if (options.method == Method::one_sided) {
    check_peers(communicator, outbox, mine);
    attempt(mine, [] {
      require(mpi::has_world(), Fault::unsupported,
              "the exchange method one-sided keeps memory until MPI_Finalize, but this process has "
              "sessions alone; choose another method, or call MPI_Init");
    });
    return exchange_one_sided(communicator, outbox, bytes, mine);
  }
  Inbox inbox = exchange(communicator, std::move(outbox), options, std::move(mine));
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    const auto received = static_cast<std::int64_t>(inbox.message(i).size());
    require(received == bytes, Fault::count, "rank ", inbox.ranks[i], " has sent ", received,
            " bytes, but this rank exchanges blocks of ", bytes,
            " bytes; all ranks must give the same size");
  }
  return inbox;
}

std::vector<ControlMessage> exchange_messages(mpi::Communicator& communicator,
                                              const std::vector<ControlMessage>& outbox,
                                              const ExchangeOptions& options,
                                              std::optional<Error> mine) {
  std::vector<Parcel> parcels;
  attempt(mine, [&] {
    parcels.reserve(outbox.size());
    for (const ControlMessage& message : outbox) {
      parcels.push_back({message.peer, std::as_bytes(std::span(message.words))});
    }
  });
  const Inbox inbox = exchange(communicator, std::move(parcels), options, std::move(mine));
  std::vector<ControlMessage> messages(inbox.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::span<const std::byte> bytes = inbox.message(i);
    messages[i].peer = inbox.ranks[i];
    messages[i].words.resize(bytes.size() / sizeof(std::int64_t));
    const auto words = std::as_writable_bytes(std::span(messages[i].words));
    std::ranges::copy(bytes.first(words.size()), words.begin());
  }
  return messages;
}

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
                            const std::optional<Error>& mine) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(communicator.size()),
                                   mine ? finding_unit : 0);
  for (const Parcel& parcel : outbox) {
    if (parcel.peer != communicator.rank()) ++counts[static_cast<std::size_t>(parcel.peer)];
  }
  Round round(communicator, discovery_tag(next_parity(communicator)));
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
                           const std::optional<Error>& mine) {
  std::int64_t least_vote = vote(communicator, mine);
  Round round(communicator, discovery_tag(next_parity(communicator)));
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

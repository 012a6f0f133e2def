// Direct replies begin with a word that distinguishes a reply from a refusal. Each rank receives
// them from the ranks that it asked, one by one. Messages between two ranks keep their order, so
// one tag serves all queries, however far apart two ranks are.
#include "discovery/query.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {
namespace {

constexpr std::int64_t is_reply = 0;
constexpr std::int64_t is_refusal = 1;

std::vector<std::byte> worded(std::int64_t word, std::span<const std::byte> bytes) {
  std::vector<std::byte> message(sizeof word + bytes.size());
  std::memcpy(message.data(), &word, sizeof word);
  std::copy(bytes.begin(), bytes.end(), message.begin() + sizeof word);
  return message;
}

void check_count(std::size_t replies, std::size_t requests) {
  require(replies == requests, Fault::argument, replies, " replies were given to ", requests,
          " requests; each request needs one");
}

}  // namespace

Query::Query(mpi::Communicator& communicator, std::vector<Parcel> requests,
             const ExchangeOptions& options, std::optional<Error> mine)
    : communicator_(communicator), options_(options) {
  options_.method = method_for(communicator, options);
  for (const Parcel& parcel : requests) asked_.push_back(parcel.peer);
  std::sort(asked_.begin(), asked_.end());
  requests_ = exchange_and_keep(communicator, std::move(requests), options_, std::move(mine));
}

Inbox Query::answer(std::span<const std::span<const std::byte>> replies,
                    const std::optional<Error>& mine) {
  std::optional<Error> finding = mine;
  if (!finding && requests_.lacking) finding.emplace(*requests_.lacking);
  try {
    if (!finding) check_count(replies.size(), requests_.size());
  } catch (const Error& error) {
    finding.emplace(error);
  }
  if (options_.method == Method::personalized || options_.method == Method::nonblocking) {
    return answer_straight(replies, finding);
  }
  std::vector<Parcel> outbox;
  for (std::size_t i = 0; i < replies.size() && !finding; ++i) {
    outbox.push_back({requests_.ranks[i], replies[i]});
  }
  return exchange(communicator_, std::move(outbox), options_, finding);
}

Inbox Query::answer_straight(std::span<const std::span<const std::byte>> replies,
                             const std::optional<Error>& mine) {
  const int rank = communicator_.rank();
  const MPI_Comm handle = communicator_.handle();
  std::string refusal;
  if (mine) refusal = mine->what();
  std::deque<std::vector<std::byte>> leaving;
  std::vector<std::pair<int, mpi::PendingOperation>> sends;
  Arrivals arrivals;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const int to = requests_.ranks[i];
    if (to == rank) {
      if (!mine) arrivals.add(rank, replies[i]);
      continue;
    }
    leaving.push_back(mine ? worded(is_refusal, std::as_bytes(std::span(refusal)))
                           : worded(is_reply, replies[i]));
    sends.emplace_back(to, mpi::isend(handle, leaving.back(), to, mpi::tag_reply));
  }

  std::vector<std::pair<int, std::vector<std::byte>>> messages;
  std::optional<Error> lacking;
  for (const int peer : asked_) {
    if (peer == rank) continue;
    std::optional<mpi::MatchedMessage> arrival;
    mpi::poll_until(
        [&] {
          arrival = mpi::improbe(handle, mpi::tag_reply, peer);
          return arrival.has_value();
        },
        mpi::RankAwaited{peer, "answer a query"});
    auto& message = messages.emplace_back(peer, std::vector<std::byte>()).second;
    attempt(lacking, [&] { message.resize(static_cast<std::size_t>(arrival->bytes)); });
    mpi::PendingOperation taking =
        lacking ? mpi::idrop(*arrival) : mpi::ireceive(*arrival, message);
    mpi::poll_until([&] { return taking.test(); },
                    mpi::RankAwaited{peer, "send the rest of its answer to a query"});
  }
  for (auto& send : sends) {
    mpi::poll_until([&] { return send.second.test(); },
                    mpi::RankAwaited{send.first, "take in the answer to its query"});
  }
  if (mine) throw Error(*mine);
  if (lacking) throw Error(*lacking);
  for (const auto& [peer, message] : messages) {
    std::int64_t word = 0;
    std::memcpy(&word, message.data(), sizeof word);
    const auto rest = std::span(message).subspan(sizeof word);
    if (word == is_refusal) {
      fail(Fault::elsewhere, "rank ", peer, " could not answer: ",
           std::string(reinterpret_cast<const char*>(rest.data()), rest.size()));
    }
    arrivals.add(peer, rest);
  }
  return arrivals.take();
}

}  // namespace vicinal

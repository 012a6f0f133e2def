// Calls in a row must not mix: a rank may be done, and send its next letters, while another still
// looks for this call's. Instead of a barrier at the end, calls take two tags in turn. Two are
// enough, because no rank leaves a call before all have entered it (neither the counts nor the
// consensus are complete before), so that nobody is two calls ahead.
#include "discovery/exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {
namespace {

/// In the counts of the personalized method, what a rank with a finding adds instead of letters.
constexpr std::int64_t finding_unit = std::int64_t{1} << 40;

/// One exchange under way on this rank.
class Round {
 public:
  Round(mpi::Communicator& communicator, std::vector<Letter> outbox)
      : communicator_(communicator),
        tag_(communicator.next_discovery_tag()),
        outbox_(std::move(outbox)) {}

  void send(bool synchronous) {
    for (Letter& letter : outbox_) {
      if (letter.peer == communicator_.rank()) {
        inbox_.push_back(std::move(letter));
        continue;
      }
      const auto bytes = std::as_bytes(std::span(letter.words));
      sends_.push_back((synchronous ? mpi::issend : mpi::isend)(communicator_.handle(), bytes,
                                                                letter.peer, tag_));
    }
  }

  /// Starts to receive what has come.
  void collect() {
    while (auto arrival = mpi::improbe(communicator_.handle(), tag_)) {
      const auto words = static_cast<std::size_t>(arrival->bytes) / sizeof(std::int64_t);
      inbox_.push_back({arrival->peer, Words(words)});
      const auto into = std::as_writable_bytes(std::span(inbox_.back().words));
      receives_.push_back(mpi::ireceive(*arrival, into));
    }
  }

  [[nodiscard]] bool sent() { return finished(sends_, sends_done_); }
  [[nodiscard]] bool received() { return finished(receives_, receives_done_); }
  [[nodiscard]] std::size_t arrivals() const { return receives_.size(); }

  /// The letters of one sender came in the order in which they were sent.
  std::vector<Letter> take() {
    std::stable_sort(inbox_.begin(), inbox_.end(),
                     [](const Letter& a, const Letter& b) { return a.peer < b.peer; });
    return std::move(inbox_);
  }

 private:
  /// Testing one request progresses all, so the others are looked at only when it is complete.
  static bool finished(std::vector<mpi::Request>& requests, std::size_t& done) {
    while (done < requests.size() && requests[done].test()) ++done;
    return done == requests.size();
  }

  mpi::Communicator& communicator_;
  int tag_;
  std::vector<Letter> outbox_;
  std::vector<Letter> inbox_;
  std::vector<mpi::Request> sends_;
  std::vector<mpi::Request> receives_;
  std::size_t sends_done_ = 0;
  std::size_t receives_done_ = 0;
};

std::vector<Letter> exchange_personalized(mpi::Communicator& communicator,
                                          std::vector<Letter> outbox,
                                          const std::optional<Finding>& mine) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(communicator.size()),
                                   mine ? finding_unit : 0);
  for (const Letter& letter : outbox) {
    if (letter.peer != communicator.rank()) ++counts[static_cast<std::size_t>(letter.peer)];
  }
  Round round(communicator, std::move(outbox));
  round.send(false);
  const std::int64_t total = mpi::reduce_scatter_block(communicator.handle(), counts, 1).front();
  const auto expected = static_cast<std::size_t>(total % finding_unit);
  mpi::poll_until([&] {
    round.collect();
    return round.arrivals() == expected && round.received() && round.sent();
  });
  if (total >= finding_unit) agree(communicator, mine);
  return round.take();
}

std::vector<Letter> exchange_nonblocking(mpi::Communicator& communicator,
                                         std::vector<Letter> outbox,
                                         const std::optional<Finding>& mine) {
  std::int64_t least_vote = vote(communicator, mine);
  Round round(communicator, std::move(outbox));
  round.send(true);
  std::optional<mpi::Request> consensus;
  mpi::poll_until([&] {
    round.collect();
    if (!consensus) {
      if (!round.sent()) return false;
      // Complete only when all ranks have entered, like a barrier, and it brings the votes.
      consensus =
          mpi::iallreduce(communicator.handle(), std::span(&least_vote, 1), mpi::Reduction::min);
    }
    return consensus->test();
  });
  mpi::poll_until([&] { return round.received(); });
  settle(communicator, least_vote, mine);
  return round.take();
}

}  // namespace

// Geyko and Bienz see the personalized method win on few ranks; 16 ranks sharing two cores needed
// 0.3 to 0.5 ms for it and 0.6 ms for the other, and 64 ranks the same for both.
Method choose_method(int size) { return size < 64 ? Method::personalized : Method::nonblocking; }

std::vector<Letter> exchange(mpi::Communicator& communicator, std::vector<Letter> outbox,
                             Method method, std::optional<Finding> mine) {
  const int size = communicator.size();
  const auto lost = std::find_if(outbox.begin(), outbox.end(), [&](const Letter& letter) {
    return letter.peer < 0 || letter.peer >= size;
  });
  if (lost != outbox.end() && !mine) {
    mine = Error(Fault::rank, "a letter to rank " + std::to_string(lost->peer) +
                                  " was given, but the communicator has ranks 0 to " +
                                  std::to_string(size - 1));
  }
  if (mine) outbox.clear();
  return method == Method::personalized
             ? exchange_personalized(communicator, std::move(outbox), mine)
             : exchange_nonblocking(communicator, std::move(outbox), mine);
}

}  // namespace vicinal

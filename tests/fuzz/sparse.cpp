// Sparse exchanges: messages that their receivers do not expect, and questions with answers. The
// expected messages follow from the seed. Some cases also compare with an MPI_Alltoall() of counts,
// followed by messages.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "families.hpp"
#include "image.hpp"
#include "wiring.hpp"

namespace fuzz {
namespace {

/// A message known to all ranks; `number` is its position among its sender's messages.
struct Message {
  int from, to, number, units;
};

class Exchange {
 public:
  Exchange(Trial& trial, const Team& team, std::uint64_t call)
      : trial_(trial), team_(team), call_(call) {
    Random& common = trial.common();
    static const std::vector<std::string> methods{
        "automatic", "personalized",          "nonblocking",
        "locality",  "locality-personalized", "one-sided"};
    constant_ = common.chance(25);
    asks_ = !constant_ && common.chance(25);
    // The last method serves messages of one size only.
    const int count = static_cast<int>(methods.size()) - (constant_ ? 0 : 1);
    settings_.emplace_back("vicinal_exchange", methods[at(common.below(count))]);
    if (common.chance(85)) {
      settings_.emplace_back("vicinal_regions", random_regions(common, team.size()));
    }
    if (common.chance(20)) settings_.emplace_back("vicinal_local", "messages");
    unit_ = common.below(Layout::kinds);
    derived_ = common.chance(50);
    const int density = common.pick(std::vector<int>{0, 10, 30, 80});
    const int most = common.pick(std::vector<int>{0, 4, 200, 200, 6000});
    const int block = units(common.below(most + 1));
    for (int from = 0; from < team.size(); ++from) {
      std::vector<int> to;
      for (int rank = 0; rank < team.size(); ++rank) {
        while (common.chance(density)) to.push_back(rank);
      }
      common.shuffle(to);
      // A rank sends at most three times as many messages as there are ranks.
      to.resize(std::min(to.size(), at(3 * team.size())));
      for (std::size_t i = 0; i < to.size(); ++i) {
        const int size = constant_ ? block : units(common.below(most + 1));
        messages_.push_back({from, to[i], static_cast<int>(i), size});
      }
    }
    block_ = block;
    if (trial.options().faults && common.chance(8)) failed_rank_ = common.below(team.size());
    trial.note("exchange ", call, ":", text_of(settings_), constant_ ? ", constant" : "",
               asks_ ? ", asked" : "", ", unit ", unit_, derived_ ? " derived" : "", ", density ",
               density, ", up to ", most, " units, ", messages_.size(), " messages, at fault ",
               failed_rank_);
  }

  void run() {
    const std::vector<Message> sent = of(&Message::from);
    std::vector<Message> expected = of(&Message::to);
    const bool refers = trial_.common().chance(30);
    vicinal_received received = VICINAL_RECEIVED_NULL;
    Sending sending(*this, sent, call_);
    const int code = send(sending, &received);
    if (failed_rank_ >= 0) {
      // Every rank learns of a failure.
      if (code == MPI_SUCCESS) trial_.fail("an exchange at fault has succeeded on this rank");
      return;
    }
    if (!trial_.succeeds(code, "the sparse exchange")) return;
    // Ordered by sender, then as sent.
    check(received, expected, call_);
    if (refers && !asks_) refer(sent, expected);
    if (asks_) answer(received, expected, sent);
    trial_.succeeds(vicinal_received_free(&received), "vicinal_received_free");
    ++trial_.calls;
  }

 private:
  /// The arguments for messages at random positions in a buffer.
  struct Sending {
    Layouts layout;
    std::vector<Piece> pieces;
    std::vector<int> ranks;
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> places;
    Image image;

    Sending(Exchange& exchange, const std::vector<Message>& messages, std::uint64_t call) {
      Random& own = exchange.trial_.own();
      layout = exchange.choose(own);
      MPI_Aint next = exchange.constant_ ? 0 : own.below(3);
      for (const Message& message : messages) {
        Piece piece{layout, message.units / layout->units(), next * layout->extent()};
        ranks.push_back(message.to);
        counts.push_back(piece.count);
        places.push_back(next);
        next += piece.count;
        // An element may reach far past the next, so this leaves space for all of it.
        if (!exchange.constant_) next += own.below(3);
        if (layout->interleaves()) next += exchange.constant_ ? 0 : 100;
        pieces.push_back(std::move(piece));
      }
      if (layout->interleaves() && !are_apart(pieces)) {
        layout = Layout::dense(exchange.unit_, layout->units());
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          pieces[i].layout = layout;
          pieces[i].offset = places[i] * layout->extent();
        }
      }
      image = Image(pieces, own.next());
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        image.put(pieces[i], {messages[i].from, messages[i].number, call});
      }
    }
    [[nodiscard]] int size() const { return static_cast<int>(pieces.size()); }
  };

  [[nodiscard]] int units(int drawn) const {
    return derived_ ? (drawn + units_at_once - 1) / units_at_once * units_at_once : drawn;
  }
  Layouts choose(Random& own) const {
    return derived_ ? Layout::derived(unit_, own) : Layout::plain(unit_);
  }

  /// Returns the messages that this rank sends or receives, ordered by sender and as sent.
  [[nodiscard]] std::vector<Message> of(int Message::* end) const {
    std::vector<Message> list;
    for (const Message& message : messages_) {
      if (message.*end == team_.rank()) list.push_back(message);
    }
    return list;
  }

  int send(Sending& sending, vicinal_received* received) {
    const Info info(settings_);
    // The receiver chooses its own datatype.
    into_ = choose(trial_.own());
    MPI_Datatype into = into_->type();
    if (failed_rank_ == team_.rank()) {
      // A rank that does not exist or, without messages, a null datatype.
      if (sending.ranks.empty()) into = MPI_DATATYPE_NULL;
      if (!sending.ranks.empty()) sending.ranks.back() = team_.size() + 3;
    }
    const void* from = sending.image.base();
    const int count = sending.size();
    const MPI_Datatype type = sending.layout->type();
    if (constant_) {
      return vicinal_sparse_alltoall(from, count, sending.ranks.data(),
                                     block_ / sending.layout->units(), type, into, team_.comm(),
                                     info.get(), received);
    }
    const std::vector<int> counts(sending.counts.begin(), sending.counts.end());
    const std::vector<int> places(sending.places.begin(), sending.places.end());
    if (asks_) {
      return vicinal_sparse_query(from, count, sending.ranks.data(), counts.data(), places.data(),
                                  type, into, team_.comm(), info.get(), received);
    }
    if (trial_.own().chance(40)) {
      return vicinal_sparse_alltoallv_c(from, count, sending.ranks.data(), sending.counts.data(),
                                        sending.places.data(), type, into, team_.comm(), info.get(),
                                        received);
    }
    return vicinal_sparse_alltoallv(from, count, sending.ranks.data(), counts.data(), places.data(),
                                    type, into, team_.comm(), info.get(), received);
  }

  void check(vicinal_received received, const std::vector<Message>& expected, std::uint64_t call) {
    int messages = -1;
    const int* ranks = nullptr;
    const std::int64_t* counts = nullptr;
    const std::int64_t* places = nullptr;
    const void* data = nullptr;
    if (!trial_.succeeds(vicinal_received_get(received, &messages, &ranks, &counts, &places, &data),
                         "vicinal_received_get")) {
      return;
    }
    if (messages != static_cast<int>(expected.size())) {
      trial_.fail(messages, " messages have come, not ", expected.size());
      return;
    }
    const auto* const bytes = static_cast<const std::uint8_t*>(data);
    const int size = into_->bytes();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Message& message = expected[i];
      if (ranks[i] != message.from || counts[i] * into_->units() != message.units) {
        trial_.fail("message ", i, " is ", counts[i], " elements from rank ", ranks[i], ", not ",
                    message.units / into_->units(), " from ", message.from);
        continue;
      }
      const Origin origin{message.from, message.number, call};
      for (std::int64_t k = 0; k < counts[i] * size; ++k) {
        if (bytes[places[i] * size + k] == byte_of(origin, k)) continue;
        trial_.fail("byte ", k, " of message ", i, ", from rank ", message.from, ", is wrong");
        break;
      }
    }
    copy(received, expected, call, places[messages]);
  }

  /// Copies into a buffer, in elements of a derived type.
  void copy(vicinal_received received, const std::vector<Message>& expected, std::uint64_t call,
            std::int64_t elements) {
    const Piece all{into_, elements, 0};
    if (into_->interleaves() && !are_apart({all})) return;
    Image target({all}, trial_.own().next());
    std::int64_t next = 0;
    for (const Message& message : expected) {
      const std::int64_t bytes = message.units / into_->units() * std::int64_t{into_->bytes()};
      for (std::int64_t k = 0; k < bytes; ++k) {
        target.expect(all.place(next++), byte_of({message.from, message.number, call}, k));
      }
    }
    trial_.succeeds(vicinal_received_copy(received, target.base(), elements, into_->type()),
                    "vicinal_received_copy");
    const std::string fault = target.fault();
    if (!fault.empty()) trial_.fail("what was copied: ", fault);
  }

  /// Answers each question with another size; the answer's number identifies the question.
  void answer(vicinal_received& requests, const std::vector<Message>& asked,
              const std::vector<Message>& questions) {
    const auto reply_to = [&](const Message& question) {
      const std::uint64_t drawn =
          scrambled(scrambled(call_ + 5) ^
                    static_cast<std::uint64_t>(question.from * 10000 + question.number));
      return Message{question.to, question.from, question.from * 64 + question.number % 64,
                     units(static_cast<int>(drawn % 30))};
    };
    std::vector<Message> replies, expected;
    for (const Message& question : asked) replies.push_back(reply_to(question));
    for (const Message& question : questions) expected.push_back(reply_to(question));
    // Ordered by the answering rank, then as asked.
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Message& a, const Message& b) { return a.from < b.from; });
    Sending sending(*this, replies, call_ + 1);
    const std::vector<int> counts(sending.counts.begin(), sending.counts.end());
    const std::vector<int> places(sending.places.begin(), sending.places.end());
    into_ = choose(trial_.own());
    vicinal_received received = VICINAL_RECEIVED_NULL;
    const int code =
        vicinal_sparse_answer(requests, sending.image.base(), counts.data(), places.data(),
                              sending.layout->type(), into_->type(), &received);
    if (!trial_.succeeds(code, "vicinal_sparse_answer")) return;
    check(received, expected, call_ + 1);
    trial_.succeeds(vicinal_received_free(&received), "vicinal_received_free");
  }

  /// Repeats the exchange with MPI alone: counts by MPI_Alltoall(), then messages.
  void refer(const std::vector<Message>& sent, const std::vector<Message>& expected) {
    std::vector<int> out(at(team_.size())), in(at(team_.size()));
    for (const Message& message : sent) ++out[at(message.to)];
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, team_.comm());
    int all = 0;
    for (const int count : in) all += count;
    if (all != static_cast<int>(expected.size())) {
      trial_.fail("by MPI's own, ", all, " messages come, not ", expected.size());
    }
    std::vector<MPI_Request> requests;
    std::vector<std::array<int, 2>> heads(sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      heads[i] = {sent[i].number, sent[i].units};
      MPI_Isend(heads[i].data(), 2, MPI_INT, sent[i].to, 9, team_.comm(), &requests.emplace_back());
    }
    for (const Message& message : expected) {
      std::array<int, 2> head{};
      MPI_Recv(head.data(), 2, MPI_INT, message.from, 9, team_.comm(), MPI_STATUS_IGNORE);
      if (head[0] != message.number || head[1] != message.units) {
        trial_.fail("by MPI's own, another message comes from rank ", message.from);
      }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    ++trial_.references;
  }

  Trial& trial_;
  const Team& team_;
  std::uint64_t call_;
  Settings settings_;
  bool constant_ = false, asks_ = false, derived_ = false;
  int unit_ = 0, block_ = 0, failed_rank_ = -1;
  std::vector<Message> messages_;
  Layouts into_;
};

}  // namespace

void run_sparse(Trial& trial) {
  const Team team(make_comm(trial));
  const int exchanges = trial.common().between(1, 12);
  for (int i = 0; i < exchanges; ++i) {
    Exchange(trial, team, static_cast<std::uint64_t>(2 * i)).run();
  }
}

}  // namespace fuzz

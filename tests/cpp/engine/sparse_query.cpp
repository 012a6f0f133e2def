// Requests and their replies, by every method.
#include "discovery/query.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sparse_messages.hpp"

namespace vicinal::sparse_query_tests {

using namespace testing;

TEST(sparse_query_is_answered_to_those_who_asked) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  const auto questions = [](int from, int to) { return between(from, to, 60, 50); };
  // The reply is the question and the replying rank, or empty.
  const auto reply = [](const Bytes& question, int rank_asked) {
    Bytes bytes = question;
    if (question.size() % 3 == 1) return Bytes();
    bytes.push_back(static_cast<std::byte>(rank_asked));
    return bytes;
  };
  for (const ExchangeOptions& options : all_options(size)) {
    const std::vector<Message> asked = sent_by(rank, size, questions);
    Query query(*communicator, parcels_of(asked), options);
    Query other(*communicator, {}, options);
    std::vector<Bytes> replies;
    for (const Message& message : messages_in(query.requests())) {
      replies.push_back(reply(message.bytes, rank));
    }
    const std::vector<std::span<const std::byte>> views(replies.begin(), replies.end());
    const std::vector<Message> got = messages_in(query.answer(views));
    CHECK_EQUAL(other.answer({}).size(), std::size_t{0});
    std::vector<Message> expected;
    for (int peer = 0; peer < size; ++peer) {
      for (const Bytes& question : questions(rank, peer)) {
        expected.push_back({peer, reply(question, peer)});
      }
    }
    check_same(got, expected, "a query, " + text_of(options));
  }
}

TEST(sparse_query_that_cannot_be_answered) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  const Bytes question(4);
  for (const ExchangeOptions& options : all_options(size)) {
    // All ranks ask rank 0, which has no answer.
    Query query(*communicator, {{0, question}}, options);
    const std::optional<Error> mine =
        rank == 0 ? std::optional<Error>(Error(Fault::buffer, "no idea")) : std::nullopt;
    CHECK_THROWS(rank == 0 ? Fault::buffer : Fault::elsewhere, query.answer({}, mine), "no idea");
    Query again(*communicator, {{0, question}}, options);
    CHECK_THROWS(rank == 0 ? Fault::argument : Fault::elsewhere, again.answer({}),
                 "0 replies were given to " + std::to_string(size) + " requests");
  }
}

}  // namespace vicinal::sparse_query_tests

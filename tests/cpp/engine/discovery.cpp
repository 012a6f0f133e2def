// Exchanges among ranks that do not know their senders, agreement on faults, and ownership.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "discovery/exchange.hpp"
#include "discovery/findings.hpp"
#include "discovery/ownership.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::discovery_tests {
namespace {

constexpr std::array methods{Method::automatic, Method::personalized, Method::nonblocking,
                             Method::locality, Method::locality_personalized};

std::shared_ptr<mpi::Communicator> world() { return mpi::Communicator::of(MPI_COMM_WORLD); }

std::string text_of(const Words& words) {
  std::string text;
  for (const std::int64_t word : words) text += std::to_string(word) + ' ';
  return text;
}

/// Returns the messages that `from` sends to `to` in a round, the same on every rank.
std::vector<Words> messages_between(int from, int to, int round) {
  std::mt19937 random(static_cast<unsigned>((from * 1000 + to) * 1000 + round));
  std::vector<Words> messages(random() % 3 == 0 ? 1 + random() % 2 : 0);
  for (Words& words : messages) {
    const unsigned kind = random() % 4;
    words.resize(kind == 0 ? 0 : kind == 1 ? 20000 : random() % 10);
    for (std::int64_t& word : words) word = static_cast<std::int64_t>(random());
  }
  return messages;
}

/// Runs one round with random control messages, and checks what this rank receives.
void check_round(mpi::Communicator& communicator, Method method, int round) {
  std::vector<ControlMessage> outbox;
  std::vector<ControlMessage> expected;
  for (int peer = communicator.size() - 1; peer >= 0; --peer) {
    for (Words& words : messages_between(communicator.rank(), peer, round)) {
      outbox.push_back({peer, std::move(words)});
    }
  }
  for (int peer = 0; peer < communicator.size(); ++peer) {
    for (Words& words : messages_between(peer, communicator.rank(), round)) {
      expected.push_back({peer, std::move(words)});
    }
  }
  const std::vector<ControlMessage> inbox = exchange_messages(communicator, outbox, method);
  CHECK_EQUAL(inbox.size(), expected.size());
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    CHECK_EQUAL(inbox[i].peer, expected[i].peer);
    CHECK(inbox[i].words == expected[i].words);
  }
}

TEST(exchange_delivers_random_messages) {
  const auto communicator = world();
  for (int round = 0; round < 20; ++round) {
    for (const Method method : methods) check_round(*communicator, method, round);
  }
}

TEST(exchange_of_nothing) {
  for (const Method method : methods) {
    for (int round = 0; round < 20; ++round) CHECK(exchange_messages(*world(), {}, method).empty());
  }
}

TEST(exchange_rounds_in_a_row_do_not_mix) {
  const auto communicator = world();
  const int size = communicator->size();
  const int rank = communicator->rank();
  for (int round = 0; round < 200; ++round) {
    // Rank 0 sends to all ranks and receives nothing, so that it runs ahead as often as possible.
    std::vector<ControlMessage> outbox;
    if (rank == 0) {
      for (int peer = 0; peer < size; ++peer) outbox.push_back({peer, {round, peer}});
    }
    const Method method = round % 7 < 4 ? Method::nonblocking : Method::personalized;
    const std::vector<ControlMessage> inbox = exchange_messages(*communicator, outbox, method);
    CHECK_EQUAL(inbox.size(), std::size_t{1});
    CHECK_EQUAL(inbox.front().peer, 0);
    CHECK_EQUAL(text_of(inbox.front().words), text_of({round, rank}));
  }
}

TEST(exchange_on_several_communicators) {
  const int parts = std::min(2, world()->size());
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world()->rank() % parts, -world()->rank(), &part);
  const auto communicator = mpi::Communicator::of(part);
  MPI_Comm_free(&part);
  for (int round = 0; round < 10; ++round) {
    for (const Method method : methods) {
      check_round(*communicator, method, round);
      check_round(*world(), method, round + 100);
    }
  }
}

TEST(exchange_sends_to_itself_without_a_peer) {
  const auto alone = mpi::Communicator::of(MPI_COMM_SELF);
  for (const Method method : methods) {
    const std::vector<ControlMessage> inbox =
        exchange_messages(*alone, {{0, {1, 2}}, {0, {}}, {0, {3}}}, method);
    CHECK_EQUAL(inbox.size(), std::size_t{3});
    CHECK_EQUAL(text_of(inbox[0].words), "1 2 ");
    CHECK(inbox[1].words.empty());
    CHECK_EQUAL(text_of(inbox[2].words), "3 ");
  }
}

TEST(exchange_takes_a_finding_to_all_ranks) {
  const auto communicator = world();
  const int culprit = communicator->size() - 1;
  const bool mine = communicator->rank() == culprit;
  const Fault seen = mine ? Fault::rank : Fault::elsewhere;
  for (const Method method : methods) {
    const int lost = mine ? communicator->size() + 4 : 0;
    CHECK_THROWS(seen, exchange_messages(*communicator, {{lost, {1}}}, method),
                 "to rank " + std::to_string(communicator->size() + 4));
    std::optional<Error> finding;
    if (mine) finding = Error(Fault::count, "too many");
    CHECK_THROWS(mine ? Fault::count : Fault::elsewhere,
                 exchange_messages(*communicator, {{0, {5}}}, method, finding),
                 mine ? "too many"
                      : "rank " + std::to_string(culprit) + " reports a fault (count): too many");
    // A failed exchange leaves nothing behind for the next one.
    check_round(*communicator, method, 7);
  }
}

TEST(agreement_without_a_finding_is_silent) { agree(*world(), std::nullopt); }

TEST(agreement_names_the_lowest_rank_to_those_without_a_finding) {
  const auto communicator = world();
  const int rank = communicator->rank();
  std::optional<Error> mine;
  if (rank == 0) mine = Error(Fault::topology, "a long enough text of rank 0");
  if (rank == 2) mine = Error(Fault::count, "short");
  const Fault fault = rank == 0 ? Fault::topology : rank == 2 ? Fault::count : Fault::elsewhere;
  CHECK_THROWS(fault, agree(*communicator, mine),
               rank == 0   ? "a long enough text of rank 0"
               : rank == 2 ? "short"
                           : "rank 0 reports a fault (topology): a long enough text of rank 0");
  CHECK_THROWS(
      Fault::argument,
      agree(*communicator, rank == communicator->size() - 1
                               ? std::optional(Error(Fault::argument, "both").on_all_ranks())
                               : std::nullopt),
      "both");
}

TEST(ranges_in_any_order_with_gaps_and_empty_ones) {
  const auto communicator = world();
  const int size = communicator->size();
  // Rank r owns ten indices from 20 * (size - r). Rank 1's range is empty, and lies inside
  // another's.
  const bool empty = communicator->rank() == 1;
  const Index first = empty ? 20 * size + 5 : Index{20} * (size - communicator->rank());
  const RangeOwnership ownership(*communicator, first, empty ? first : first + 10);
  CHECK_EQUAL(ownership.ranges().size(), static_cast<std::size_t>(size - (size > 1 ? 1 : 0)));
  std::vector<Index> indices;
  for (Index index = 0; index < 20 * size + 40; index += 1 + index % 3) indices.push_back(index);
  const std::vector<int> owners = ownership.owners(indices);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    int expected = size - static_cast<int>(indices[i] / 20);
    if (indices[i] % 20 >= 10 || expected == 1 || expected < 0 || expected >= size) {
      expected = no_owner;
    }
    CHECK_EQUAL(owners[i], expected);
  }
}

TEST(ranges_that_overlap_or_are_none) {
  const auto communicator = world();
  const int rank = communicator->rank();
  const int size = communicator->size();
  if (size > 1) {
    // The last rank's range begins with the last index of rank 0's.
    const Index first = rank == size - 1 ? 9 : 10 * rank;
    const Index last = rank == size - 1 ? 10 : first + 10;
    CHECK_THROWS(Fault::argument, RangeOwnership(*communicator, first, last),
                 "ranks 0 and " + std::to_string(size - 1) + " both own index 9 ");
  }
  const bool mine = rank == size - 1;
  CHECK_THROWS(mine ? Fault::argument : Fault::elsewhere,
               RangeOwnership(*communicator, mine ? 7 : 0, mine ? 5 : 0), "from 7 up to 5");
  CHECK_THROWS(mine ? Fault::argument : Fault::elsewhere,
               RangeOwnership(*communicator, mine ? -1 : 0, 0), "from -1 up to 0");
}

TEST(directory_finds_owners) {
  const auto communicator = world();
  const int size = communicator->size();
  constexpr Index far = Index{1} << 61;
  constexpr Index per_rank = 40;
  // Index i belongs to rank (i / 3) % size, and every seventh to no rank; two more are far away.
  std::vector<CopyRun> owned;
  for (Index index = 10; index < per_rank * size; ++index) {
    const bool here = index / 3 % size == communicator->rank() && index % 7 != 0;
    if (here) append_run(owned, {index, total(owned), 1});
  }
  if (communicator->rank() == size - 1) owned.push_back({far, total(owned), 2});
  std::vector<Index> needed;
  std::vector<int> expected;
  for (Index index = communicator->rank() % 3; index < per_rank * size + 9;
       index += 1 + index % 2) {
    const bool exists = index >= 10 && index < per_rank * size && index % 7 != 0;
    needed.push_back(index);
    expected.push_back(exists ? static_cast<int>(index / 3 % size) : no_owner);
  }
  for (const auto& [index, owner] :
       {std::pair(far - 1, no_owner), {far, size - 1}, {far + 1, size - 1}, {far + 2, no_owner}}) {
    needed.push_back(index);
    expected.push_back(owner);
  }
  for (const Method method : methods) {
    CHECK(find_owners(*communicator, owned, needed, method) == expected);
    CHECK(find_owners(*communicator, {}, needed, method) ==
          std::vector<int>(needed.size(), no_owner));
    CHECK(find_owners(*communicator, owned, {}, method).empty());
  }
}

TEST(directory_refuses_two_owners) {
  const auto communicator = world();
  const int size = communicator->size();
  if (size == 1) testing::skip("needs 2 ranks");
  const int rank = communicator->rank();
  std::vector<CopyRun> owned{{Index{100} * rank, 0, 100}};
  if (rank == size - 1) owned.insert(owned.begin(), {42, 100, 5});
  for (const Method method : methods) {
    CHECK_THROWS(Fault::argument, find_owners(*communicator, owned, {}, method),
                 "ranks 0 and " + std::to_string(size - 1) + " both own index 42;");
  }
}

}  // namespace
}  // namespace vicinal::discovery_tests

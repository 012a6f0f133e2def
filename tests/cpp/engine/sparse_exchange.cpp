// Sparse exchanges by every method over every kind of regions, compared with what every rank can
// compute.
#include "discovery/exchange.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/window.hpp"
#include "sparse_messages.hpp"
#include "world.hpp"

namespace {

/// Delay before this rank draws a slot.
std::chrono::milliseconds late_draw{0};

}  // namespace

// Replacement through MPI's profiling interface, which the library calls.
extern "C" int MPI_Rget_accumulate(const void* from, int count, MPI_Datatype type, void* result,
                                   int result_count, MPI_Datatype result_type, int rank,
                                   MPI_Aint place, int target_count, MPI_Datatype target_type,
                                   MPI_Op op, MPI_Win window, MPI_Request* request) {
  if (late_draw.count() > 0) std::this_thread::sleep_for(late_draw);
  return PMPI_Rget_accumulate(from, count, type, result, result_count, result_type, rank, place,
                              target_count, target_type, op, window, request);
}

namespace vicinal::sparse_exchange_tests {
namespace {

using namespace testing;

void check_round(mpi::Communicator& communicator, const ExchangeOptions& options, int round,
                 std::size_t most = 100) {
  const int rank = communicator.rank(), size = communicator.size();
  const auto messages = [&](int from, int to) { return between(from, to, round, most); };
  const std::vector<Message> sent = sent_by(rank, size, messages);
  const Inbox inbox = exchange(communicator, parcels_of(sent), options);
  check_same(messages_in(inbox), received_by(rank, size, messages),
             text_of(options) + ", round " + std::to_string(round));
}

}  // namespace

TEST(sparse_exchange_delivers_random_messages) {
  const auto communicator = world();
  for (int round = 0; round < 5; ++round) {
    for (const ExchangeOptions& options : all_options(world_size())) {
      check_round(*communicator, options, round);
    }
  }
}

TEST(sparse_exchange_of_large_messages) {
  const auto communicator = world();
  for (const ExchangeOptions& options : all_options(world_size())) {
    // Between the same ranks, some messages are sent directly and some are not.
    check_round(*communicator, options, 50, 200'000);
  }
}

TEST(sparse_exchange_of_nothing) {
  for (int round = 0; round < 4; ++round) {
    for (const ExchangeOptions& options : all_options(world_size())) {
      CHECK_EQUAL(exchange(*world(), std::vector<Parcel>(), options).size(), std::size_t{0});
    }
  }
}

TEST(sparse_exchange_from_all_to_few) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  const auto messages = [&](int from, int to) {
    return std::vector<Bytes>(to == 0 || to == size - 1 ? 3 : 0,
                              Bytes(static_cast<std::size_t>(from) * 100, std::byte{1}));
  };
  for (const ExchangeOptions& options : all_options(size)) {
    const std::vector<Message> sent = sent_by(rank, size, messages);
    check_same(messages_in(exchange(*communicator, parcels_of(sent), options)),
               received_by(rank, size, messages), text_of(options));
  }
}

TEST(sparse_exchanges_in_a_row_do_not_mix) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  const std::vector<ExchangeOptions> all = all_options(size);
  const int rounds = size <= 4 ? 10'000 : size <= 8 ? 1'000 : 300;
  // Methods change every 50 rounds; in the last ten of these, every round.
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto which = static_cast<std::size_t>(round % 50 < 40 ? round / 50 : round);
    // One rank sends to all ranks and receives nothing else, so that it runs ahead as often as
    // possible.
    const int speaker = static_cast<int>(round / 20) % size;
    std::vector<Parcel> outbox;
    const auto word = std::as_bytes(std::span(&round, 1));
    for (int peer = 0; rank == speaker && peer < size; ++peer) outbox.push_back({peer, word});
    const Inbox inbox = exchange(*communicator, outbox, all[which % all.size()]);
    CHECK_EQUAL(inbox.size(), std::size_t{1});
    CHECK_EQUAL(inbox.ranks.front(), speaker);
    std::int64_t got = -1;
    CHECK_EQUAL(inbox.data.size(), sizeof got);
    std::memcpy(&got, inbox.data.data(), sizeof got);
    CHECK_EQUAL(got, round);
  }
}

TEST(sparse_exchange_of_blocks) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  std::vector<ExchangeOptions> all = all_options(size);
  all.emplace_back(Method::one_sided);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{13}}) {
    for (const ExchangeOptions& options : all) {
      const auto messages = [&](int from, int to) {
        std::vector<Bytes> blocks;
        for (const Bytes& any : between(from, to, static_cast<int>(bytes), 100)) {
          blocks.emplace_back(bytes, any.empty() ? std::byte{0} : any.front());
        }
        return blocks;
      };
      const std::vector<Message> sent = sent_by(rank, size, messages);
      const Inbox inbox = exchange_blocks(*communicator, parcels_of(sent),
                                          static_cast<std::int64_t>(bytes), options);
      check_same(messages_in(inbox), received_by(rank, size, messages), text_of(options));
    }
  }
}

TEST(sparse_exchange_of_blocks_is_in_order_whoever_comes_first) {
  // The lower its rank, the later a rank draws its slot.
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  if (size < 3) skip("needs 3 ranks");
  const Bytes block(8, static_cast<std::byte>(rank));
  std::vector<Parcel> outbox;
  if (rank > 0) outbox.push_back({0, block});
  for (int round = 0; round < 5; ++round) {
    late_draw = std::chrono::milliseconds((size - rank) * 100 / size);
    const Inbox inbox = exchange_blocks(*communicator, outbox, 8, Method::one_sided);
    late_draw = {};
    if (rank != 0) continue;
    CHECK_EQUAL(inbox.size(), static_cast<std::size_t>(size - 1));
    for (std::size_t i = 0; i < inbox.size(); ++i) {
      CHECK_EQUAL(inbox.ranks[i], static_cast<int>(i) + 1);
      CHECK(inbox.message(i).front() == static_cast<std::byte>(i + 1));
    }
  }
}

TEST(sparse_exchange_of_blocks_that_differ) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  if (size == 1) skip("needs 2 ranks");
  // The last rank sends 16 bytes to rank 0, while the other ranks expect 8 bytes.
  const Bytes block(16);
  const bool mine = rank == size - 1;
  std::vector<Parcel> outbox;
  if (mine) outbox.push_back({0, block});
  const std::int64_t bytes = mine ? 16 : 8;
  CHECK_THROWS(Fault::count, exchange_blocks(*communicator, outbox, bytes, Method::one_sided),
               "blocks of 8 to 16 bytes");
  for (const ExchangeOptions& options : all_options(size)) {
    if (rank == 0) {
      CHECK_THROWS(Fault::count, exchange_blocks(*communicator, outbox, bytes, options),
                   "rank " + std::to_string(size - 1) + " has sent 16 bytes");
    } else {
      CHECK_EQUAL(exchange_blocks(*communicator, outbox, bytes, options).size(), std::size_t{0});
    }
  }
  CHECK_THROWS(Fault::info, exchange(*communicator, std::vector<Parcel>(), Method::one_sided),
               "one-sided");
}

TEST(sparse_exchange_of_blocks_keeps_its_window) {
  const int size = world_size(), rank = world_rank();
  const auto exchange_once = [&](mpi::Communicator& communicator, int blocks, std::int64_t bytes) {
    // All blocks go to the last rank, so that it needs more room than the others.
    const Bytes block(static_cast<std::size_t>(bytes), static_cast<std::byte>(rank + 1));
    const std::vector<Parcel> outbox(static_cast<std::size_t>(blocks), Parcel{size - 1, block});
    const Inbox inbox = exchange_blocks(communicator, outbox, bytes, Method::one_sided);
    CHECK_EQUAL(inbox.size(), static_cast<std::size_t>(rank == size - 1 ? size * blocks : 0));
    for (std::size_t i = 0; i < inbox.size(); ++i) {
      CHECK_EQUAL(inbox.ranks[i], static_cast<int>(i) / blocks);
      CHECK_EQUAL(inbox.message(i).size(), block.size());
      for (const std::byte byte : inbox.message(i)) {
        CHECK(byte == static_cast<std::byte>(inbox.ranks[i] + 1));
      }
    }
  };
  const auto made = [] { return mpi::Window::made(); };
  const Duplicate comm;
  exchange_once(*mpi::Communicator::of(comm), 1, 8);
  const std::size_t before = made();
  // Over a network, each block takes several round trips inside MPI.
  for (const int blocks : {1, size > 16 ? 40 : 300, 2, 0, 5}) {
    exchange_once(*mpi::Communicator::of(comm), blocks, 100);
  }
  CHECK_EQUAL(made(), before);
  {
    // While the first window is in use, another communicator needs its own.
    const Duplicate other;
    exchange_once(*mpi::Communicator::of(other), 2, 16);
  }
  // Later communicators of the same ranks reuse that one.
  const std::size_t two = made();
  for (int round = 0; round < 5; ++round) {
    const Duplicate next;
    exchange_once(*mpi::Communicator::of(next), 3, 24);
    exchange_once(*mpi::Communicator::of(comm), 1, 8);
  }
  CHECK_EQUAL(made(), two);
  // A communicator with the ranks in another order does not.
  if (size > 1) {
    MPI_Comm turned = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, around(rank - 1, size), &turned);
    const auto communicator = mpi::Communicator::of(turned);
    const Bytes block(8, static_cast<std::byte>(rank));
    const Inbox inbox = exchange_blocks(*communicator, {{0, block}}, 8, Method::one_sided);
    CHECK_EQUAL(inbox.size(), static_cast<std::size_t>(communicator->rank() == 0 ? size : 0));
    CHECK(made() > two);
    MPI_Comm_free(&turned);
  }
}

TEST(sparse_exchange_on_several_communicators) {
  const int parts = std::min(2, world_size());
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % parts, -world_rank(), &part);
  const auto communicator = mpi::Communicator::of(part);
  MPI_Comm_free(&part);
  const std::vector<ExchangeOptions> mine = all_options(communicator->size());
  const std::vector<ExchangeOptions> all = all_options(world_size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    check_round(*communicator, mine[i], static_cast<int>(i));
    check_round(*world(), all[i], 100);
  }
}

TEST(sparse_exchange_leaves_user_messages_alone) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  std::array<int, 2> received{-1, -1};
  std::array<MPI_Request, 2> requests;
  for (std::size_t i = 0; i < 2; ++i) {
    MPI_Irecv(&received[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]);
  }
  const auto communicator = mpi::Communicator::of(comm);
  const int next = around(rank + 1, size);
  MPI_Request sends[2];
  MPI_Isend(&rank, 1, MPI_INT, next, 1, comm, &sends[0]);
  for (const ExchangeOptions& options : all_options(size)) check_round(*communicator, options, 3);
  exchange_blocks(*communicator, {}, 8, Method::one_sided);
  MPI_Isend(&rank, 1, MPI_INT, next, 18, comm, &sends[1]);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(received[0], around(rank - 1, size));
  CHECK_EQUAL(received[1], around(rank - 1, size));
}

TEST(sparse_exchange_takes_a_finding_to_all_ranks) {
  const auto communicator = world();
  const int size = communicator->size();
  const int culprit = size / 2;
  const bool mine = communicator->rank() == culprit;
  const Bytes block(8);
  std::vector<ExchangeOptions> all = all_options(size);
  all.emplace_back(Method::one_sided);
  for (const ExchangeOptions& options : all) {
    const std::vector<Parcel> lost{{mine ? -3 : 0, block}};
    CHECK_THROWS(mine ? Fault::rank : Fault::elsewhere,
                 exchange_blocks(*communicator, lost, 8, options), "to rank -3");
    std::optional<Error> finding;
    if (mine) finding = Error(Fault::count, "too many");
    CHECK_THROWS(mine ? Fault::count : Fault::elsewhere,
                 exchange_blocks(*communicator, {{0, block}}, 8, options, finding), "too many");
    // A failed exchange leaves nothing behind for the next one.
    if (options.method != Method::one_sided) check_round(*communicator, options, 7);
  }
}

TEST(sparse_exchange_takes_the_finding_of_any_rank_to_all) {
  const auto communicator = world();
  const int size = communicator->size();
  const Bytes block(8);
  for (const ExchangeOptions& options : all_options(size)) {
    for (int culprit = 0; culprit < size; ++culprit) {
      const bool mine = communicator->rank() == culprit;
      std::optional<Error> finding;
      if (mine) finding = Error(Fault::count, "too many");
      CHECK_THROWS(mine ? Fault::count : Fault::elsewhere,
                   exchange_blocks(*communicator, {{0, block}}, 8, options, finding),
                   mine ? "too many" : "rank " + std::to_string(culprit) + " reports a fault");
    }
  }
}

TEST(sparse_exchange_without_room_in_the_arena) {
  // A small arena: the limit on file sizes also limits the arena.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = rlim_t{32} << 20;
  setrlimit(RLIMIT_FSIZE, &small);
  const Duplicate comm;
  const auto communicator = mpi::Communicator::of(comm);
  setrlimit(RLIMIT_FSIZE, &before);
  if (communicator->arena() == nullptr) skip("needs shared memory");
  const std::vector<ExchangeOptions> all = all_options(communicator->size());
  for (const ExchangeOptions& options : all) check_round(*communicator, options, 20);
  std::vector<std::int64_t> taken;
  const bool mine = communicator->rank() % 2 == 0;
  for (std::size_t bytes = std::size_t{1} << 24; mine && bytes >= 64;) {
    try {
      taken.push_back(communicator->arena()->allocate(bytes));
    } catch (const Error&) {
      bytes /= 2;
    }
  }
  for (int round = 21; round < 24; ++round) {
    for (const ExchangeOptions& options : all) {
      check_round(*communicator, options, round, 40'000);
    }
  }
  if (mine && communicator->size() > 1)
    CHECK(communicator->arena_fault().find("found no room") != std::string::npos);
  for (const std::int64_t offset : taken) communicator->arena()->release(offset);
  for (const ExchangeOptions& options : all) check_round(*communicator, options, 24, 40'000);
}

}  // namespace vicinal::sparse_exchange_tests

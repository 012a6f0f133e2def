// Tests the methods of sparse exchange without MPI: their names, their choice, and their numbers of
// messages. The machines are small enough to count by hand. The engine tests check that real
// exchanges send as many.
#include "cost/exchange_method.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace vicinal::exchange_messages_tests {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Regions of 2, 1 and 3 ranks, each a host of its own.
Machine unequal() { return Machine({0, 0, 1, 2, 2, 2}, {0, 0, 1, 2, 2, 2}); }

/// Rank 0 writes to all of region 2, rank 1 to one rank there and to its neighbour, rank 5 to rank
/// 2.
std::vector<SentMessage> few() {
  return {{0, 3, 8}, {0, 4, 8}, {0, 5, 8}, {1, 4, 8}, {1, 0, 8}, {5, 2, 8}};
}

/// A cluster on which a message takes some microseconds.
Profile plain() {
  Profile it;
  const LevelCost near{0.4e-6, 0.4e-6, {{Protocol::any_size, 1.0e-6, 2.0e-10, false}}};
  const LevelCost far{1.5e-6, 1.5e-6, {{Protocol::any_size, 5.0e-6, 5.0e-10, false}}};
  it.levels = {near, near, far};
  it.port_seconds_per_byte = 5.0e-10;
  it.handover = 0.3e-6;
  it.copy_seconds_per_byte = 1.5e-10;
  return it;
}

Machine blocks(int size, int per_region, int per_host) {
  std::vector<int> regions, hosts;
  for (int rank = 0; rank < size; ++rank) {
    regions.push_back(rank / per_region);
    hosts.push_back(rank / per_host);
  }
  return Machine(regions, hosts);
}

void check_counts(const ExchangeMessages& sent, const Numbers& payload, const Numbers& protocol,
                  const Numbers& inside_mpi) {
  CHECK(sent.payload == payload);
  CHECK(sent.protocol == protocol);
  CHECK(sent.inside_mpi == inside_mpi);
}

const Numbers none(6);
/// Messages to the ranks 1, 2 and 4 further on, if these are in other regions.
const Numbers rounds{2, 3, 3, 1, 2, 2};

}  // namespace

TEST(exchange_methods_have_names) {
  for (const Method method : {Method::automatic, Method::personalized, Method::nonblocking,
                              Method::locality, Method::locality_personalized, Method::one_sided}) {
    CHECK(method_of(name(method)) == method);
  }
  CHECK_THROWS(Fault::info, method_of("fastest"), "locality-personalized");
}

TEST(exchange_method_follows_the_machine) {
  const auto chosen = [](int size, int per_region, int per_host, bool shared = true) {
    return choose_method(blocks(size, per_region, per_host), shared, plain());
  };
  CHECK(chosen(8, 8, 8) == Method::locality_personalized);
  CHECK(chosen(32, 8, 8) == Method::locality_personalized);
  // Few messages, one to each region, cost less than rounds over all ranks.
  CHECK(chosen(32, 8, 8, false) == Method::locality_personalized);
  CHECK(chosen(32, 8, 4) == Method::locality_personalized);
  CHECK(chosen(16, 1, 1) == Method::locality_personalized);
  CHECK(chosen(1, 1, 1) == Method::personalized);
  CHECK(chosen(128, 1, 8) == Method::personalized);
  CHECK(chosen(16384, 1, 8) == Method::nonblocking);
  CHECK(chosen(4096, 32, 32) == Method::locality_personalized);
  CHECK(chosen(4096, 4, 4) == Method::locality);
}

TEST(exchange_method_is_the_fastest_by_the_profile) {
  Profile cheap_messages = plain();
  LevelCost& near = cheap_messages.levels[static_cast<std::size_t>(Level::network)];
  near = {0.1e-6, 0.1e-6, {{Protocol::any_size, 0.5e-6, 1e-10, false}}};
  cheap_messages.handover = 20e-6;
  Profile far = plain();
  far.levels[static_cast<std::size_t>(Level::network)].protocols.front().latency = 1e-3;
  Profile crowded = plain();
  crowded.cores = 0.5;
  const Method methods[] = {Method::personalized, Method::nonblocking, Method::locality,
                            Method::locality_personalized};
  for (const Profile& profile : {default_profile(), plain(), cheap_messages, far, crowded}) {
    for (const auto& [size, per_region] :
         {std::pair(8, 8), {32, 8}, {32, 4}, {64, 8}, {64, 1}, {512, 16}, {2048, 32}, {4096, 4}}) {
      for (const bool shared : {true, false}) {
        const Machine machine = blocks(size, per_region, per_region);
        const Picoseconds taken =
            exchange_time(choose_method(machine, shared, profile), machine, shared, profile);
        for (const Method method : methods) {
          CHECK(taken <= exchange_time(method, machine, shared, profile));
        }
      }
    }
  }
  // The choice avoids what is expensive: handovers in one profile, rounds of messages in the other.
  const Machine machine = blocks(32, 8, 8);
  CHECK(choose_method(machine, true, cheap_messages) == Method::personalized);
  CHECK(choose_method(machine, true, far) == Method::locality_personalized);
  CHECK_THROWS(Fault::internal, exchange_time(Method::one_sided, machine, true, far),
               "one-sided is none to choose");
}

TEST(exchange_times_are_those_of_the_messages_that_are_sent) {
  // If only messages cost time, all equally, times count what the busiest rank sends and receives.
  // For evenly spread messages, these are the counts of exchange_method.cpp.
  Profile counting;
  for (LevelCost& level : counting.levels) level = {0, 0, {{Protocol::any_size, 0, 0, false}}};
  LevelCost& network = counting.levels[static_cast<std::size_t>(Level::network)];
  network.send_overhead = 1e-12;
  for (const auto& [size, per_region] : {std::pair(32, 8), {64, 4}, {96, 32}, {128, 8}}) {
    const Machine machine = blocks(size, per_region, per_region);
    std::vector<SentMessage> messages;
    for (int rank = 0; rank < size; ++rank) {
      for (int i = 0; i < 8; ++i)
        messages.push_back({rank, (rank + (2 * i + 1) * size / 16) % size, 128});
    }
    for (const Method method : {Method::personalized, Method::locality_personalized}) {
      const ExchangeMessages sent = count_messages(method, machine, messages);
      std::int64_t most = 0;
      for (std::size_t rank = 0; rank < sent.payload.size(); ++rank) {
        most = std::max(most, sent.payload[rank] + sent.protocol[rank]);
      }
      const Picoseconds time = exchange_time(method, machine, true, counting);
      CHECK(time >= most && time <= most + 2);
    }
  }
}

TEST(exchange_messages_by_hand) {
  const Machine machine = unequal();
  const Numbers each{3, 1, 0, 0, 0, 1};
  check_counts(count_messages(Method::personalized, machine, few()), each, rounds, none);
  check_counts(count_messages(Method::nonblocking, machine, few()), each, none, rounds);
  // The leader of region 0 for region 2 is rank 0; that of region 2 for region 1 is its second
  // rank, 4.
  const Numbers by_pair{1, 0, 0, 0, 1, 0};
  // Two rounds among the region leaders 0, 2 and 3.
  check_counts(count_messages(Method::locality, machine, few()), by_pair, {2, 0, 2, 2, 0, 0}, none);
  check_counts(count_messages(Method::locality, machine, few(), false), by_pair, none, rounds);
  // Region 0 has nothing for region 1, region 1 nothing for any, and region 2 nothing for region 0.
  check_counts(count_messages(Method::locality_personalized, machine, few()), by_pair,
               {0, 1, 2, 1, 0, 0}, none);
  // One message for each pair of rank and region.
  check_counts(count_as_published(machine, few()), {1, 1, 0, 0, 0, 1}, none, rounds);
  CHECK(count_region_pairs(machine, few()) == (Numbers{1, 0, 1}));
}

TEST(exchange_messages_of_automatic_are_those_of_what_it_stands_for) {
  const Machine machine = unequal();
  const ExchangeMessages sent = count_messages(Method::automatic, machine, few());
  const ExchangeMessages same =
      count_messages(choose_method(machine, true, default_profile()), machine, few());
  check_counts(sent, same.payload, same.protocol, same.inside_mpi);
}

TEST(exchange_messages_that_are_large_go_straight) {
  const std::vector<SentMessage> large{{1, 3, straight_bytes}, {1, 0, straight_bytes}, {1, 4, 0}};
  // The leader's message announces the direct one.
  check_counts(count_messages(Method::locality_personalized, unequal(), large), {1, 1, 0, 0, 0, 0},
               {0, 1, 2, 1, 1, 0}, none);
}

TEST(exchange_messages_of_one_region_are_none) {
  const Machine machine({0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0});
  for (const Method method : {Method::personalized, Method::nonblocking, Method::locality,
                              Method::locality_personalized}) {
    for (const bool shared : {true, false}) {
      check_counts(count_messages(method, machine, few(), shared), none, none, none);
    }
  }
}

TEST(exchange_messages_of_one_sided_cannot_be_counted) {
  CHECK_THROWS(Fault::info, count_messages(Method::one_sided, unequal(), few()), "one-sided");
}

}  // namespace vicinal::exchange_messages_tests

// The methods of sparse exchange without MPI: names, the choice, and how many messages they send, on
// machines small enough to count by hand. That real exchanges send as many is for the engine's tests.
#include "cost/exchange_messages.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace vicinal {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Regions of 2, 1 and 3 ranks, each a host of its own.
Machine unequal() { return Machine({0, 0, 1, 2, 2, 2}, {0, 0, 1, 2, 2, 2}); }

/// Rank 0 writes to all of region 2, rank 1 to one of them and to its neighbour, rank 5 to rank 2.
std::vector<SentMessage> few() {
  return {{0, 3, 8}, {0, 4, 8}, {0, 5, 8}, {1, 4, 8}, {1, 0, 8}, {5, 2, 8}};
}

void check_counts(const ExchangeMessages& sent, const Numbers& payload, const Numbers& protocol,
                  const Numbers& inside_mpi) {
  CHECK(sent.payload == payload);
  CHECK(sent.protocol == protocol);
  CHECK(sent.inside_mpi == inside_mpi);
}

const Numbers none(6);
/// To the ranks 1, 2 and 4 further on, those of other regions.
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
    std::vector<int> regions, hosts;
    for (int rank = 0; rank < size; ++rank) {
      regions.push_back(rank / per_region);
      hosts.push_back(rank / per_host);
    }
    return choose_method(Machine(regions, hosts), shared);
  };
  CHECK(chosen(8, 8, 8) == Method::locality_personalized);
  CHECK(chosen(32, 8, 8) == Method::locality_personalized);
  CHECK(chosen(32, 8, 8, false) == Method::personalized);
  CHECK(chosen(32, 8, 4) == Method::personalized);
  CHECK(chosen(1, 1, 1) == Method::personalized);
  CHECK(chosen(16, 1, 1) == Method::personalized);
  CHECK(chosen(128, 1, 8) == Method::nonblocking);
  CHECK(chosen(4096, 32, 32) == Method::locality_personalized);
  CHECK(chosen(4096, 4, 4) == Method::locality);
}

TEST(exchange_messages_by_hand) {
  const Machine machine = unequal();
  const Numbers each{3, 1, 0, 0, 0, 1};
  check_counts(count_messages(Method::personalized, machine, few()), each, rounds, none);
  check_counts(count_messages(Method::nonblocking, machine, few()), each, none, rounds);
  // Region 0's leader for region 2 is rank 0; region 2's for region 1 is its second, rank 4.
  const Numbers by_pair{1, 0, 0, 0, 1, 0};
  // Two rounds of the region leaders 0, 2 and 3.
  check_counts(count_messages(Method::locality, machine, few()), by_pair, {2, 0, 2, 2, 0, 0}, none);
  check_counts(count_messages(Method::locality, machine, few(), false), by_pair, none, rounds);
  // Region 0 has nothing for 1, nor 1 for either, nor 2 for 0.
  check_counts(count_messages(Method::locality_personalized, machine, few()), by_pair,
               {0, 1, 2, 1, 0, 0}, none);
  // One message for each rank and region.
  check_counts(count_as_published(machine, few()), {1, 1, 0, 0, 0, 1}, none, rounds);
  CHECK(count_region_pairs(machine, few()) == (Numbers{1, 0, 1}));
}

TEST(exchange_messages_of_automatic_are_those_of_what_it_stands_for) {
  const Machine machine = unequal();
  const ExchangeMessages sent = count_messages(Method::automatic, machine, few());
  const ExchangeMessages same = count_messages(choose_method(machine, true), machine, few());
  check_counts(sent, same.payload, same.protocol, same.inside_mpi);
}

TEST(exchange_messages_that_are_large_go_straight) {
  const std::vector<SentMessage> large{{1, 3, straight_bytes}, {1, 0, straight_bytes}, {1, 4, 0}};
  // The leader's message announces it.
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

}  // namespace vicinal

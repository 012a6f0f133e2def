// Compares LogGP prices with schedules computed by hand. All times are multiples of an eighth of a
// second, so they are exactly equal. A message of k bytes occupies a port for (k - 1) G, and takes
// o + (k - 1) G + L + o in all.
#include "cost/links.hpp"

#include "../check.hpp"
#include "../slow_machine.hpp"
#include "cost/price.hpp"
#include "cost/profile_json.hpp"

namespace vicinal::loggp_tests {
namespace {

using testing::on_hosts;
using testing::plans_of;
using testing::slow;
using testing::transfer;
using Times = std::vector<double>;

/// Between hosts: overheads of 2 and 3, L = 100, G = 0.25; g = 7 by default.
Profile loggp(double gap = 7) {
  Profile profile = slow();
  profile.gap = gap;
  return profile;
}

/// Three elements, 24 bytes: a port is busy for 23 G = 5.75; in all 2 + 5.75 + 100 + 3.
constexpr double one_way = 110.75;
/// Interval between two such messages at one port: 23 G + g.
constexpr double apart = 12.75;

Price priced(const std::vector<Plan>& plans, const std::vector<int>& hosts,
             const Profile& profile = loggp()) {
  return price(plans, on_hosts(hosts), profile, 8);
}

}  // namespace

TEST(loggp_of_a_message) {
  auto plans = plans_of(2);
  transfer(plans, 0, 1, 3);
  const Price one = priced(plans, {0, 1});
  CHECK(one.finished == (Times{7.75, one_way}));
  CHECK(one.busy == (Times{2, 3}));
  // There and back.
  const int come = static_cast<int>(plans[1].operations.size()) - 1;
  transfer(plans, 1, 0, 3, 0, {come});
  CHECK_EQUAL(priced(plans, {0, 1}).seconds, 2 * one_way);
  // An empty message has no bytes after the first.
  auto empty = plans_of(2);
  transfer(empty, 0, 1, 0);
  CHECK_EQUAL(priced(empty, {0, 1}).seconds, 2 + 100 + 3);
}

TEST(loggp_of_a_stream) {
  auto plans = plans_of(2);
  for (int tag = 0; tag < 4; ++tag) transfer(plans, 0, 1, 3, tag);
  // The messages begin to leave at 2, 14.75, 27.5 and 40.25. The last has left 5.75 later, and is
  // in transit for 100.
  const Price bytes = priced(plans, {0, 1});
  CHECK_EQUAL(bytes.finished[0], 2 + 3 * apart + 5.75);
  CHECK_EQUAL(bytes.seconds, one_way + 3 * apart);
  // 8 bytes occupy a port for 1.75. With g = 0, the sender takes 2 for each message. The receiver
  // takes 3, so it lags from the second on. The first arrives at 103.75.
  auto small = plans_of(2);
  for (int tag = 0; tag < 4; ++tag) transfer(small, 0, 1, 1, tag);
  const Price overheads = priced(small, {0, 1}, loggp(0));
  CHECK_EQUAL(overheads.finished[0], 4 * 2 + 1.75);
  CHECK_EQUAL(overheads.seconds, 103.75 + 4 * 3);
}

TEST(loggp_of_a_scatter_to_several) {
  // A rank has one port for all receivers, first in, first out.
  auto plans = plans_of(4);
  for (int rank = 1; rank < 4; ++rank) transfer(plans, 0, rank, 3);
  CHECK(priced(plans, {0, 1, 2, 3}).finished ==
        (Times{2 + 2 * apart + 5.75, one_way, one_way + apart, one_way + 2 * apart}));
}

TEST(loggp_of_an_incast) {
  // All first bytes arrive at 102. The port receives until 107.75, from 114.75 to 120.5, and from
  // 127.5 to 133.25. Each receive takes 3 more.
  auto plans = plans_of(4);
  for (int rank = 1; rank < 4; ++rank) transfer(plans, rank, 0, 3);
  const Price many = priced(plans, {0, 1, 2, 3});
  CHECK(many.finished == (Times{one_way + 2 * apart, 7.75, 7.75, 7.75}));
  CHECK_EQUAL(many.seconds, 133.25 + 3);
  // Ranks of one host have separate ports at both ends, so their messages do not delay each other.
  auto pairs = plans_of(4);
  transfer(pairs, 0, 2, 3);
  transfer(pairs, 1, 3, 3);
  CHECK_EQUAL(priced(pairs, {0, 0, 1, 1}).seconds, one_way);
}

TEST(loggp_of_a_binomial_broadcast) {
  // Each rank that has the data sends them to the ranks half, a quarter and an eighth of the size
  // ahead, where they exist.
  auto plans = plans_of(8);
  const auto pass_on = [&](int from, int to) {
    const std::vector<int> after = from == 0 ? std::vector<int>() : std::vector<int>{0};
    transfer(plans, from, to, 3, 0, after);
  };
  for (const auto& [from, to] :
       std::vector<std::pair<int, int>>{{0, 4}, {0, 2}, {0, 1}, {4, 6}, {4, 5}, {2, 3}, {6, 7}}) {
    pass_on(from, to);
  }
  const Price all = priced(plans, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK_EQUAL(all.finished[1], one_way + 2 * apart);  // the third message of rank 0
  CHECK_EQUAL(all.finished[3], (one_way + apart) + one_way);
  CHECK_EQUAL(all.finished[5], one_way + (one_way + apart));
  CHECK_EQUAL(all.finished[7], 3 * one_way);
  CHECK_EQUAL(all.seconds, 3 * one_way);
}

TEST(loggp_of_aggregated_messages) {
  // Rank 1 sends three elements to its leader (1 + 23/8 + 4 + 2 = 9.875). The leader sends six to
  // the other leader (2 + 47/4 + 100 + 3 = 116.75), which sends rank 3 three.
  auto plans = plans_of(4);
  const int given = transfer(plans, 1, 0, 3);
  const int come = transfer(plans, 0, 2, 6, 0, {given});
  transfer(plans, 2, 3, 3, 0, {come});
  CHECK_EQUAL(priced(plans, {0, 0, 1, 1}).seconds, 9.875 + 116.75 + 9.875);
}

TEST(loggp_of_a_ring) {
  // Four ranks forward what they received, three times.
  auto plans = plans_of(4);
  std::vector<int> come(4, -1);
  for (int round = 0; round < 3; ++round) {
    const std::vector<int> before = come;
    for (int rank = 0; rank < 4; ++rank) {
      const std::vector<int> after =
          round == 0 ? std::vector<int>() : std::vector<int>{before[rank]};
      come[(rank + 1) % 4] = transfer(plans, rank, (rank + 1) % 4, 3, round, after);
    }
  }
  const Price ring = priced(plans, {0, 1, 2, 3});
  CHECK(ring.finished == Times(4, 3 * one_way));
}

TEST(loggp_says_what_a_message_waited_for) {
  auto plans = plans_of(2);
  for (int tag = 0; tag < 2; ++tag) transfer(plans, 0, 1, 3, tag);
  const Simulation two = simulate(plans, on_hosts({0, 1}), loggp(), 8);
  // The first send occupies the processor until 2 and has left at 7.75, the second at 20.5.
  std::vector<int> operations;
  Times until;
  for (const Timeline::Link& link : two.timeline.chain) {
    operations.push_back(link.operation);
    until.push_back(link.until);
  }
  CHECK(operations == (std::vector<int>{0, 0, 1, 3}));
  CHECK(until == (Times{2, 7.75, 20.5, one_way + apart}));
}

TEST(profiles_with_a_gap_are_loggp_throughout) {
  const Profile profile = loggp(0);
  CHECK(read_profile(write_profile(profile), "profile 'x'") == profile);
  CHECK(write_profile(slow()).find("gap") == std::string::npos);
  CHECK(identity(profile) != identity(slow()));
  const auto refused = [](Profile given, const char* words) {
    CHECK_THROWS(Fault::info, read_profile(write_profile(given), "profile 'x'"), words);
  };
  Profile port = loggp();
  port.port_seconds_per_byte = 0.5;
  refused(port,
          "profile 'x': port_seconds_per_byte is 0.5, but with a gap, which stands for LogGP, 0");
  Profile search = loggp();
  search.search = 1;
  refused(search, "search is 1, but with a gap");
  Profile cores = loggp();
  cores.cores = 2;
  refused(cores, "cores is 2, but with a gap");
  Profile asking = testing::with_rendezvous();
  asking.gap = 1;
  refused(asking, "a protocol of levels.network has rendezvous, but with a gap");
  Profile negative = loggp(-1);
  refused(negative, "gap is -1");
}

}  // namespace vicinal::loggp_tests

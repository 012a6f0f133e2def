// Divides the schedules of some ranks into rounds, and prices these.
#include "planners/allgather/estimate.hpp"

#include <algorithm>

#include "cost/rounds.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

namespace {

struct Algorithm {
  std::string_view planner;
  void (*write)(Schedule&);
};

constexpr Algorithm algorithms[] = {
    {"bruck", bruck},
    {"dissemination", dissemination},
    {"recursive-doubling", recursive_doubling},
    {"ring", ring},
    {"hierarchical", hierarchical},
    {"multi-lane", multi_lane},
    {"locality-bruck", locality_bruck},
};

/// A message of one rank in a round.
struct Message {
  Step::Kind kind;
  int peer;
  Rounds::Transfer transfer;
  double bytes;
};

/// Adds up blocks, by the bytes of all ranks before each rank.
class Bytes {
 public:
  explicit Bytes(std::span<const std::int64_t> of_ranks) : before_(of_ranks.size() + 1) {
    for (std::size_t i = 0; i < of_ranks.size(); ++i) before_[i + 1] = before_[i] + of_ranks[i];
  }
  [[nodiscard]] double of(const Blocks& blocks) const {
    std::int64_t sum = 0;
    for (const auto& [first, last] : blocks.ranges()) {
      sum += before_[static_cast<std::size_t>(last)] - before_[static_cast<std::size_t>(first)];
    }
    return static_cast<double>(sum);
  }

 private:
  std::vector<std::int64_t> before_;
};

bool overlap(const Blocks& some, const Blocks& others) { return some.without(others) != some; }

/// Returns the messages of a schedule by round. A round ends before a rank gives blocks that it has
/// taken in it, and before it takes back blocks that it has given.
std::vector<std::vector<Message>> rounds_of(const Schedule& schedule, const Bytes& bytes) {
  std::vector<std::vector<Message>> rounds(1);
  Blocks taken, given;  // in the last round
  for (const Step& step : schedule.steps()) {
    const bool gives = step.kind == Step::Kind::give;
    if (overlap(step.blocks, gives ? taken : given)) {
      rounds.emplace_back();
      taken = given = {};
    }
    (gives ? given : taken).add(step.blocks);
    const bool is_packed = step.blocks.ranges().size() > 1;
    for (const int peer : step.peers) {
      const bool shares = schedule.shares_with(peer);
      rounds.back().push_back({step.kind, peer,
                               shares      ? Rounds::Transfer::slot
                               : is_packed ? Rounds::Transfer::packed
                                           : Rounds::Transfer::message,
                               bytes.of(step.blocks)});
      if (gives && shares) break;  // all takers read one slot
    }
  }
  return rounds;
}

double seconds_of(const Algorithm& algorithm, const Gathering& it, const Bytes& bytes) {
  Rounds rounds(it.machine, it.profile);
  std::vector<std::vector<std::vector<Message>>> by_rank;
  std::size_t most = 0;
  for (const int rank : rounds.followed()) {
    Schedule schedule(it.machine, rank, it.shared_memory, it.profile);
    algorithm.write(schedule);
    by_rank.push_back(rounds_of(schedule, bytes));
    most = std::max(most, by_rank.back().size());
  }
  for (std::size_t round = 0; round < most; ++round) {
    for (std::size_t i = 0; i < by_rank.size(); ++i) {
      if (round >= by_rank[i].size()) continue;
      const int rank = rounds.followed()[i];
      for (const Message& message : by_rank[i][round]) {
        const auto add = message.kind == Step::Kind::give ? &Rounds::send : &Rounds::take;
        (rounds.*add)(rank, message.peer, message.transfer, 1, message.bytes);
      }
    }
    rounds.end_round();
  }
  return rounds.seconds();
}

}  // namespace

std::vector<Estimate> estimate_all(const Gathering& gathering) {
  const Bytes bytes(gathering.bytes);
  std::vector<Estimate> estimates;
  for (const Algorithm& algorithm : algorithms) {
    const double seconds = seconds_of(algorithm, gathering, bytes);
    estimates.push_back({algorithm.planner, picoseconds(seconds)});
  }
  return estimates;
}

}  // namespace vicinal::allgather

// Divides the schedules of some ranks into rounds, and prices these.
#include "planners/allgather/estimate.hpp"

#include <algorithm>
#include <map>

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

/// Returns for each rank the one whose schedule counts as its own. The first, the second and the
/// last rank of a host have their own; the others have the second's. A schedule takes as long as a
/// plan's, so on a small machine each rank has its own.
std::vector<int> representatives(const Machine& machine, const std::vector<int>& ranks) {
  std::map<int, std::vector<int>> by_host;
  for (const int rank : ranks) by_host[machine.host_of(rank)].push_back(rank);
  constexpr std::size_t few = 4096;
  if (ranks.size() * static_cast<std::size_t>(machine.size()) <= few) return ranks;
  std::vector<int> result;
  for (const int rank : ranks) {
    const std::vector<int>& members = by_host.at(machine.host_of(rank));
    const bool is_end = rank == members.front() || rank == members.back();
    result.push_back(is_end ? rank : members[1]);
  }
  return result;
}

double seconds_of(const Algorithm& algorithm, const Gathering& it, const Bytes& bytes) {
  Rounds rounds(it.machine, it.profile);
  const std::vector<int> like = representatives(it.machine, rounds.followed());
  std::map<int, std::vector<std::vector<Message>>> by_rank;
  std::size_t most = 0;
  for (const int rank : like) {
    const auto [place, is_new] = by_rank.try_emplace(rank);
    if (!is_new) continue;
    Schedule schedule(it.machine, rank, it.shared_memory, it.profile);
    algorithm.write(schedule);
    place->second = rounds_of(schedule, bytes);
    most = std::max(most, place->second.size());
  }
  for (std::size_t round = 0; round < most; ++round) {
    for (std::size_t i = 0; i < like.size(); ++i) {
      const std::vector<std::vector<Message>>& own = by_rank.at(like[i]);
      if (round >= own.size()) continue;
      const int rank = rounds.followed()[i];
      for (const Message& message : own[round]) {
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

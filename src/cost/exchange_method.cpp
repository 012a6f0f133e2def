// Names, times and messages of the methods of src/discovery. A time is for a typical pattern, rank
// by rank. Each rank has `typical_messages` for other ranks, evenly spread. For a known pattern,
// messages are counted one by one, as the exchange would send them.
#include "cost/exchange_method.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cost/cores.hpp"
#include "locality/machine.hpp"

namespace vicinal {

namespace {

constexpr std::pair<Method, std::string_view> method_names[] = {
    {Method::automatic, "automatic"},
    {Method::personalized, "personalized"},
    {Method::nonblocking, "nonblocking"},
    {Method::locality, "locality"},
    {Method::locality_personalized, "locality-personalized"},
    {Method::one_sided, "one-sided"},
};

}  // namespace

std::string_view name(Method method) {
  for (const auto& [known, text] : method_names) {
    if (known == method) return text;
  }
  fail(Fault::internal, "exchange method ", static_cast<int>(method), " is not known");
}

Method method_of(std::string_view text) {
  std::string list;
  for (const auto& [method, known] : method_names) {
    if (known == text) return method;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  fail(Fault::info, "there is no exchange method '", text, "'; give one of: ", list);
}

namespace {

/// In this order: of methods with equal times, as the last two have in one region, the first is
/// chosen.
constexpr Method candidates[] = {Method::personalized, Method::nonblocking,
                                 Method::locality_personalized, Method::locality};

std::int64_t rounded_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

/// Properties of a machine that the methods depend on.
struct Sizes {
  std::int64_t ranks = 0, regions = 0;
  std::int64_t smallest = 0, largest = 0;  ///< region
  std::int64_t of_host =
      0;                ///< ranks of the host with the fewest cores for each, or else the largest
  double cores = 0;     ///< of that host; 0 if its ranks have one each
  bool shares = false;  ///< each region is in memory of its own host

  Sizes(const Machine& machine, bool shared_memory, const Profile& profile)
      : ranks(machine.size()), regions(machine.regions()), smallest(ranks), shares(shared_memory) {
    double crowd = 0;  // ranks for each core
    for (int host = 0; host < machine.hosts(); ++host) {
      const std::int64_t members = machine.ranks_on(host);
      const double shared = shared_cores(machine, host, profile);
      const double here = shared > 0 ? static_cast<double>(members) / shared : 1.0;
      if (here < crowd || (here == crowd && members <= of_host)) continue;
      crowd = here;
      of_host = members;
      cores = shared;
    }
    for (int region = 0; region < machine.regions(); ++region) {
      const auto members = static_cast<std::int64_t>(machine.members(region).size());
      smallest = std::min(smallest, members);
      largest = std::max(largest, members);
      shares = shares && share_a_host(machine, region);
    }
  }
};

/// The time of the busiest rank, on a host whose ranks are all like it.
class Sum {
 public:
  Sum(const Sizes& sizes, const Profile& profile) : sizes_(sizes), profile_(profile) {}

  /// Adds messages that a rank sends, and as many that it receives. Only one of `one_of` ranks does
  /// so.
  void messages(std::int64_t count, Level level, std::int64_t bytes, std::int64_t one_of = 1) {
    const LevelCost& cost = profile_.at(level);
    work(count * (picoseconds(cost.sending(bytes)) + picoseconds(cost.receiving(bytes))), one_of);
    in_transit_ += picoseconds(count * bytes, cost.seconds_per_byte());
  }
  void latency(std::int64_t times, Level level) {
    in_transit_ += times * picoseconds(profile_.at(level).latency());
  }
  /// Adds a dissemination, or sums of counts, where each round has half as many counts as the one
  /// before.
  void rounds(std::int64_t among, Level level, bool counts, std::int64_t one_of = 1) {
    for (std::int64_t step = 1; step < among; step *= 2) {
      const std::int64_t words = counts ? rounded_up(among - step, 2 * step) : 1;
      messages(1, level, 8 * words, one_of);
      latency(1, level);
      if (counts) copies(2 * 8 * words);
    }
  }
  void copies(std::int64_t bytes) { work(picoseconds(bytes, profile_.copy_seconds_per_byte), 1); }
  /// Adds polls of `count` flags in shared memory.
  void looks(std::int64_t count, std::int64_t one_of = 1) {
    work(count * picoseconds(profile_.handover), one_of);
  }

  [[nodiscard]] Picoseconds total() const {
    const double cores = sizes_.cores;
    const Picoseconds together =
        cores > 0 ? std::llround(static_cast<double>(of_host_) / cores) : 0;
    return std::max(of_rank_, together) + in_transit_;
  }

 private:
  void work(Picoseconds duration, std::int64_t one_of) {
    of_rank_ += duration;
    of_host_ += duration * sizes_.of_host / one_of;
  }

  const Sizes& sizes_;
  const Profile& profile_;
  Picoseconds of_rank_ = 0, of_host_ = 0;  ///< processor time
  Picoseconds in_transit_ = 0;
};

class Estimate {
 public:
  Estimate(const Sizes& sizes, const Profile& profile)
      : sizes_(sizes),
        sum_(sizes, profile),
        messages_(std::min(typical_messages, sizes.ranks - 1)),
        leaving_(messages_ == 0
                     ? 0
                     : rounded_up(messages_ * (sizes.ranks - sizes.smallest), sizes.ranks - 1)),
        far_(sizes.regions > 1 ? Level::network : Level::node) {}

  Picoseconds of(Method method) {
    switch (method) {
      case Method::personalized:
        sum_.rounds(sizes_.ranks, far_, true);
        straight();
        break;
      case Method::nonblocking:
        straight();
        receipts(leaving_, messages_ - leaving_);
        sum_.rounds(sizes_.ranks, far_, false);
        break;
      case Method::locality:
        hand_over();
        if (sizes_.regions > 1) some_regions();
        break;
      case Method::locality_personalized:
        hand_over();
        if (sizes_.regions > 1) all_regions();
        break;
      case Method::automatic:
      case Method::one_sided:
        fail(Fault::internal, "the exchange method ", name(method), " is none to choose");
    }
    return sum_.total();
  }

 private:
  void straight() {
    sum_.messages(leaving_, Level::network, typical_bytes);
    sum_.messages(messages_ - leaving_, Level::node, typical_bytes);
    if (messages_ > 0) sum_.latency(1, far_);
  }
  /// Synchronous sends: another message acknowledges each receipt.
  void receipts(std::int64_t far, std::int64_t near) {
    sum_.messages(far, Level::network, 0);
    sum_.messages(near, Level::node, 0);
    if (far + near > 0) sum_.latency(1, far_);
  }

  /// Handover inside a region, before the messages between regions and after them.
  void hand_over() {
    const int stages = sizes_.regions > 1 ? 2 : 1;
    for (int stage = 0; stage < stages; ++stage) {
      if (sizes_.shares) {
        sum_.looks(sizes_.largest);
        sum_.copies(2 * messages_ * typical_bytes);
      } else if (sizes_.largest > 1) {
        sum_.rounds(sizes_.largest, Level::node, true);
        sum_.messages(std::min(messages_, sizes_.largest - 1), Level::node, typical_bytes);
        sum_.latency(1, Level::node);
      }
    }
  }

  /// Adds one message for each pair of regions that a rank leads.
  void all_regions() { pairs(sizes_.regions - 1); }

  void some_regions() {
    const std::int64_t spoken_to = std::min(sizes_.regions - 1, leaving_ * sizes_.largest);
    receipts(pairs(spoken_to), 0);
    if (sizes_.shares) {
      // Members signal the first rank of the region, and the first ranks of all regions
      // synchronize.
      sum_.looks(sizes_.largest, sizes_.largest);
      sum_.rounds(sizes_.regions, far_, false, sizes_.largest);
      sum_.looks(1);
    } else {
      sum_.rounds(sizes_.ranks, far_, false);
    }
  }

  /// Returns the number of pairs that the busiest rank leads.
  std::int64_t pairs(std::int64_t of_region) {
    const std::int64_t led = rounded_up(of_region, sizes_.smallest);
    const std::int64_t bytes = rounded_up(leaving_ * typical_bytes * sizes_.largest, of_region);
    sum_.messages(led, far_, bytes);
    sum_.latency(1, far_);
    return led;
  }

  const Sizes& sizes_;
  Sum sum_;
  std::int64_t messages_;
  std::int64_t leaving_;  ///< of these, to other regions
  Level far_;             ///< between the ranks that are farthest apart
};

}  // namespace

Picoseconds exchange_time(Method method, const Machine& machine, bool shared_memory,
                          const Profile& profile) {
  const Sizes sizes(machine, shared_memory, profile);
  return Estimate(sizes, profile).of(method);
}

Method choose_method(const Machine& machine, bool shared_memory, const Profile& profile) {
  const Sizes sizes(machine, shared_memory, profile);
  return *std::min_element(std::begin(candidates), std::end(candidates), [&](Method a, Method b) {
    return Estimate(sizes, profile).of(a) < Estimate(sizes, profile).of(b);
  });
}

namespace {

std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

/// Counts rounds in which rank r of n sends a message to rank r + 1, r + 2, r + 4, ...: a
/// dissemination, and mpi::reduce_scatter.
void add_rounds_of_ranks(const Machine& machine, std::vector<std::int64_t>& sent) {
  const int size = machine.size();
  for (int step = 1; step < size; step *= 2) {
    for (int rank = 0; rank < size; ++rank) {
      if (!machine.same_region(rank, (rank + step) % size)) ++sent[as_size(rank)];
    }
  }
}

void add_rounds_of_region_leaders(const Machine& machine, std::vector<std::int64_t>& sent) {
  for (int step = 1; step < machine.regions(); step *= 2) {
    for (int region = 0; region < machine.regions(); ++region) {
      ++sent[as_size(region_leader(machine, region))];
    }
  }
}

bool regions_share_memory(const Machine& machine) {
  for (int region = 0; region < machine.regions(); ++region) {
    if (!share_a_host(machine, region)) return false;
  }
  return true;
}

/// Returns the pairs of regions where the first has data for the second.
std::set<std::pair<int, int>> speaking_regions(const Machine& machine,
                                               std::span<const SentMessage> messages) {
  std::set<std::pair<int, int>> pairs;
  for (const SentMessage& message : messages) {
    const int from = machine.region_of(message.source);
    const int to = machine.region_of(message.target);
    if (from != to) pairs.emplace(from, to);
  }
  return pairs;
}

void add_straight(const Machine& machine, std::span<const SentMessage> messages,
                  std::int64_t from_bytes, std::vector<std::int64_t>& sent) {
  for (const SentMessage& message : messages) {
    if (message.bytes >= from_bytes && !machine.same_region(message.source, message.target)) {
      ++sent[as_size(message.source)];
    }
  }
}

void add_locality(const Machine& machine, std::span<const SentMessage> messages, bool to_all,
                  ExchangeMessages& sent) {
  const auto speaking = speaking_regions(machine, messages);
  for (const auto& [from, to] : speaking) ++sent.payload[as_size(leader(machine, from, to))];
  add_straight(machine, messages, static_cast<std::int64_t>(straight_bytes), sent.payload);
  for (int from = 0; to_all && from < machine.regions(); ++from) {
    for (int to = 0; to < machine.regions(); ++to) {
      if (from == to || speaking.contains({from, to})) continue;
      ++sent.protocol[as_size(leader(machine, from, to))];
    }
  }
}

}  // namespace

ExchangeMessages count_messages(Method method, const Machine& machine,
                                std::span<const SentMessage> messages, bool shared_memory,
                                const Profile& profile) {
  if (method == Method::automatic) method = choose_method(machine, shared_memory, profile);
  ExchangeMessages sent(machine.size());
  switch (method) {
    case Method::personalized:
      add_straight(machine, messages, 0, sent.payload);
      add_rounds_of_ranks(machine, sent.protocol);
      return sent;
    case Method::nonblocking:
      add_straight(machine, messages, 0, sent.payload);
      add_rounds_of_ranks(machine, sent.inside_mpi);
      return sent;
    case Method::locality:
      add_locality(machine, messages, false, sent);
      if (shared_memory && regions_share_memory(machine)) {
        add_rounds_of_region_leaders(machine, sent.protocol);
      } else if (machine.regions() > 1) {
        add_rounds_of_ranks(machine, sent.inside_mpi);
      }
      return sent;
    case Method::locality_personalized: add_locality(machine, messages, true, sent); return sent;
    case Method::automatic:
    case Method::one_sided: break;
  }
  fail(Fault::info, "the messages of the exchange method ", name(method),
       " were to be counted, but it sends none: it writes to the memory of others");
}

ExchangeMessages count_as_published(const Machine& machine, std::span<const SentMessage> messages) {
  ExchangeMessages sent(machine.size());
  std::set<std::pair<int, int>> served;
  for (const SentMessage& message : messages) {
    const int region = machine.region_of(message.target);
    if (region == machine.region_of(message.source)) continue;
    if (served.emplace(message.source, region).second) ++sent.payload[as_size(message.source)];
  }
  add_rounds_of_ranks(machine, sent.inside_mpi);
  return sent;
}

std::vector<std::int64_t> count_region_pairs(const Machine& machine,
                                             std::span<const SentMessage> messages) {
  std::vector<std::int64_t> pairs(as_size(machine.regions()));
  for (const auto& [from, to] : speaking_regions(machine, messages)) ++pairs[as_size(from)];
  return pairs;
}

}  // namespace vicinal

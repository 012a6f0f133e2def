// Forms groups, divides their neighbours and prices the result. A group of members with the
// neighbour sets A, B, ... sends |A u B u ...| messages. Alone, its members would send |A| + |B| +
// ... So a new member saves as many messages as it has neighbours in common with the union.
//
// Every rank runs all of this while planning, for each size that is tried. Therefore arrays are
// flat, and data that does not depend on the size is prepared once.
#include "planners/common_neighbor/groups.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace vicinal {

/// A postal estimate. The members work in parallel. Each pays the overhead of its messages and
/// partners one after the other. The bytes of all share the wire. A combined message is gathered by
/// a copy where it starts and scattered by a copy where it ends. Only the other regions know how
/// many messages a member receives. It is assumed to be what members here send on average.
double grouped_seconds(std::span<const MemberLoad> members, Index element_bytes,
                       const Profile& profile) {
  const auto bytes = [&](Index elements) { return static_cast<double>(elements * element_bytes); };
  const auto average = [&](const MemberLoad& load) {
    return load.elements * element_bytes / std::max<Index>(1, load.messages);
  };
  double slowest = 0, received = 0, on_the_wire = 0;
  for (const MemberLoad& load : members) {
    double seconds = static_cast<double>(load.messages) * profile.network().sending(average(load)) +
                     2 * bytes(load.combined) * profile.copy_seconds_per_byte +
                     static_cast<double>(load.shared_partners) * profile.handover;
    if (load.message_partners > 0) {
      const Index handed = load.handed * element_bytes / load.message_partners;
      seconds +=
          profile.at(Level::node).latency() +
          static_cast<double>(load.message_partners) * profile.at(Level::node).sending(handed) +
          bytes(load.handed) * profile.at(Level::node).seconds_per_byte();
    }
    slowest = std::max(slowest, seconds);
    received += static_cast<double>(load.messages) * profile.network().receiving(average(load));
    on_the_wire += bytes(load.elements) * profile.network().seconds_per_byte();
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, members.size()));
  return slowest + received / count + profile.network().latency() + on_the_wire;
}

}  // namespace vicinal

namespace vicinal::common_neighbor {

namespace {

int common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += std::popcount(a[i] & b[i]);
  return count;
}

}  // namespace

CommonNeighbors::CommonNeighbors(std::vector<GroupMember> members) : members_(std::move(members)) {
  const auto size = static_cast<int>(members_.size());
  for (int member = 0; member < size; ++member) {
    for (const OutgoingLink& link : members_[static_cast<std::size_t>(member)].out) {
      links_.push_back({link.destination, {member, link.count}});
    }
  }
  std::stable_sort(links_.begin(), links_.end(),
                   [](const Link& a, const Link& b) { return a.destination < b.destination; });

  std::size_t destinations = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    destinations += i == 0 || links_[i].destination != links_[i - 1].destination ? 1 : 0;
  }
  sets_.assign(members_.size(), Set((destinations + 63) / 64, 0));
  std::size_t place = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    place += i > 0 && links_[i].destination != links_[i - 1].destination ? 1 : 0;
    sets_[static_cast<std::size_t>(links_[i].from.member)][place / 64] |= std::uint64_t{1}
                                                                          << (place % 64);
  }

  std::vector<std::tuple<int, int, int>> pairs;
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) {
      const int both =
          common(sets_[static_cast<std::size_t>(a)], sets_[static_cast<std::size_t>(b)]);
      if (both > 0) pairs.emplace_back(-both, a, b);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs_.reserve(pairs.size());
  for (const auto& [both, a, b] : pairs) pairs_.emplace_back(a, b);
}

std::vector<std::vector<int>> CommonNeighbors::form(int size) const {
  std::vector<char> grouped(members_.size(), 0);
  std::vector<std::vector<int>> groups;
  Set all;
  const auto take_in = [&](std::size_t member) {
    grouped[member] = 1;
    groups.back().push_back(static_cast<int>(member));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] |= sets_[member][i];
  };
  for (const auto& [a, b] : pairs_) {
    const auto first = static_cast<std::size_t>(a), second = static_cast<std::size_t>(b);
    if (size < 2 || grouped[first] != 0 || grouped[second] != 0) continue;
    groups.emplace_back();
    all.assign(sets_[first].size(), 0);
    take_in(first);
    take_in(second);
    while (static_cast<int>(groups.back().size()) < size) {
      std::size_t best = 0;
      int most = 0;
      for (std::size_t i = 0; i < members_.size(); ++i) {
        const int saved = grouped[i] != 0 ? 0 : common(sets_[i], all);
        if (saved > most) {
          most = saved;
          best = i;
        }
      }
      if (most == 0) break;
      take_in(best);
    }
    std::sort(groups.back().begin(), groups.back().end());
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (grouped[i] == 0) groups.push_back({static_cast<int>(i)});
  }
  return groups;
}

CommonNeighbors::Division CommonNeighbors::divide(int size) const {
  const auto groups = form(size);
  std::vector<int> group_of(members_.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const int member : groups[group]) {
      group_of[static_cast<std::size_t>(member)] = static_cast<int>(group);
    }
  }
  Division division;
  division.contributors.reserve(links_.size());
  std::vector<std::vector<Contributor>> by_group(groups.size());
  std::vector<int> touched;
  for (auto link = links_.begin(); link != links_.end();) {
    const int destination = link->destination;
    for (; link != links_.end() && link->destination == destination; ++link) {
      const int group = group_of[static_cast<std::size_t>(link->from.member)];
      auto& contributors = by_group[static_cast<std::size_t>(group)];
      if (contributors.empty()) touched.push_back(group);
      contributors.push_back(link->from);
    }
    for (const int group : touched) {
      auto& contributors = by_group[static_cast<std::size_t>(group)];
      const std::size_t first = division.contributors.size();
      division.contributors.insert(division.contributors.end(), contributors.begin(),
                                   contributors.end());
      division.messages.push_back(
          {destination, contributors.front().member, first, division.contributors.size()});
      contributors.clear();
    }
    touched.clear();
  }
  choose_deliverers(division, group_of);
  return division;
}

void CommonNeighbors::choose_deliverers(Division& division,
                                        const std::vector<int>& group_of) const {
  struct Load {
    Index messages = 0;
    Index elements = 0;
  };
  // Messages with the least choice come first: neighbours of one member, then of two, ...
  auto& messages = division.messages;
  std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return a.end - a.first < b.end - b.first;
  });
  std::vector<Load> loads(group_of.size());
  for (Message& message : messages) {
    Index elements = 0;
    const Load* least = nullptr;
    for (std::size_t i = message.first; i < message.end; ++i) {
      const Contributor& it = division.contributors[i];
      const Load& load = loads[static_cast<std::size_t>(it.member)];
      elements += it.count;
      if (least == nullptr ||
          std::tie(load.messages, load.elements) < std::tie(least->messages, least->elements)) {
        least = &load;
        message.deliverer = it.member;
      }
    }
    Load& load = loads[static_cast<std::size_t>(message.deliverer)];
    ++load.messages;
    load.elements += elements;
  }
}

double CommonNeighbors::seconds(const Division& division, const GroupingCosts& costs) const {
  const std::size_t size = members_.size();
  std::vector<MemberLoad> loads(size);
  std::vector<Index> handed(size * size, 0);  // by contributor and deliverer, over all messages
  for (const Message& message : division.messages) {
    const auto deliverer = static_cast<std::size_t>(message.deliverer);
    MemberLoad& load = loads[deliverer];
    ++load.messages;
    for (std::size_t i = message.first; i < message.end; ++i) {
      const auto& [member, count] = division.contributors[i];
      load.elements += count;
      if (message.end - message.first > 1) load.combined += count;
      if (member != message.deliverer) {
        handed[static_cast<std::size_t>(member) * size + deliverer] += count;
      }
    }
  }
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      const Index count = handed[from * size + to];
      if (count == 0) continue;
      const bool shared = costs.shares_memory(members_[from].rank, members_[to].rank);
      for (const std::size_t member : {from, to}) {
        MemberLoad& load = loads[member];
        ++(shared ? load.shared_partners : load.message_partners);
        if (!shared) load.handed += std::min(count, members_[from].distinct);
      }
    }
  }
  return grouped_seconds(loads, costs.element_bytes, costs.profile);
}

std::vector<std::vector<int>> CommonNeighbors::groups(int size) const {
  auto groups = form(size);
  for (auto& group : groups) {
    for (int& member : group) member = members_[static_cast<std::size_t>(member)].rank;
  }
  return groups;
}

std::vector<Delivery> CommonNeighbors::deliveries(int size) const {
  const Division division = divide(size);
  const auto rank = [&](int member) { return members_[static_cast<std::size_t>(member)].rank; };
  std::vector<Delivery> deliveries;
  deliveries.reserve(division.messages.size());
  for (const Message& message : division.messages) {
    Delivery& delivery = deliveries.emplace_back();
    delivery.destination = message.destination;
    delivery.deliverer = rank(message.deliverer);
    for (std::size_t i = message.first; i < message.end; ++i) {
      delivery.contributors.push_back(rank(division.contributors[i].member));
    }
  }
  return deliveries;
}

int CommonNeighbors::cheapest_size(const GroupingCosts& costs) const {
  const auto all = static_cast<int>(members_.size());
  int best = 1;
  double least = seconds(divide(1), costs);
  for (int size = 2; size / 2 < all; size *= 2) {
    const int tried = std::min(size, all);
    const double taken = seconds(divide(tried), costs);
    if (taken < least) {
      least = taken;
      best = tried;
    }
  }
  return best;
}

}  // namespace vicinal::common_neighbor

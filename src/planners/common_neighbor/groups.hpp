// Who delivers for whom: the ranks of a region in groups of ranks that send to the same others, and
// for each destination of a group the member that sends to it. It follows from what all members of
// the region know of each other, so that each of them computes the same.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"
#include "cost/profile.hpp"

namespace vicinal::common_neighbor {

struct OutgoingLink {
  int destination = 0;
  Index count = 0;
};
void fields(auto&& take, Is<OutgoingLink> auto& it) { take(it.destination, it.count); }

struct GroupMember {
  int rank = 0;
  Index distinct = 0;             ///< elements of all its links, each item once
  std::vector<OutgoingLink> out;  ///< to other regions, by destination
};

/// One message of a group.
struct Delivery {
  int destination = 0;
  int deliverer = 0;              ///< one of the contributors
  std::vector<int> contributors;  ///< the members of the group with that neighbour, ascending
};

struct GroupingCosts {
  Index element_bytes = 1;
  Profile profile = default_profile();
  std::function<bool(int, int)> shares_memory;  ///< two ranks hand over through shared memory
};

class CommonNeighbors {
 public:
  /// Of the members of a region, given by rank, ascending.
  explicit CommonNeighbors(std::vector<GroupMember> members);

  /// Groups of at most `size` ranks; each member is in one. Greedy: a group begins with the two
  /// that have most neighbours in common and takes in whoever has most in common with the whole
  /// group, as long as anybody has.
  [[nodiscard]] std::vector<std::vector<int>> groups(int size) const;

  /// The messages of groups of at most `size` ranks. The common neighbours of a group are divided
  /// among those that have them, so that each sends about as many messages, and then as many
  /// elements.
  [[nodiscard]] std::vector<Delivery> deliveries(int size) const;

  /// The size, of 1, 2, 4, ... up to all members, whose deliveries take least time.
  [[nodiscard]] int cheapest_size(const GroupingCosts& costs) const;

 private:
  using Set = std::vector<std::uint64_t>;  ///< a bit for each destination
  struct Contributor {
    int member = 0;  ///< its place among the members, as everywhere in here
    Index count = 0;
  };
  struct Link {
    int destination = 0;
    Contributor from;
  };
  struct Message {
    int destination = 0;
    int deliverer = 0;
    std::size_t first = 0;  ///< of its contributors
    std::size_t end = 0;
  };
  struct Division {
    std::vector<Contributor> contributors;  ///< of all messages, one after the other
    std::vector<Message> messages;
  };

  [[nodiscard]] std::vector<std::vector<int>> form(int size) const;
  [[nodiscard]] Division divide(int size) const;
  void choose_deliverers(Division& division, const std::vector<int>& group_of) const;
  [[nodiscard]] double seconds(const Division& division, const GroupingCosts& costs) const;

  std::vector<GroupMember> members_;
  std::vector<Link> links_;                 ///< by destination, then by member
  std::vector<Set> sets_;                   ///< by member
  std::vector<std::pair<int, int>> pairs_;  ///< with neighbours in common, those with most first
};

}  // namespace vicinal::common_neighbor

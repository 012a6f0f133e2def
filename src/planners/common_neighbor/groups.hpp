// Groups of ranks in a region that send to the same destinations; for each destination of a group,
// one member delivers. All members of the region compute the same groups, since they know each
// other's links. An estimate chooses how many ranks deliver for each other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"
#include "cost/profile.hpp"

namespace vicinal {

/// Work of one rank of a region to send its own and its group's elements.
struct MemberLoad {
  Index messages = 0;          ///< sent to other regions
  Index elements = 0;          ///< in these messages
  Index combined = 0;          ///< those in messages with elements of several ranks
  Index shared_partners = 0;   ///< ranks that it exchanges elements with through shared memory
  Index message_partners = 0;  ///< ranks that it exchanges elements with by messages
  Index handed = 0;            ///< elements exchanged with partners by messages
};

/// Returns the seconds until the last message of the region has arrived.
double grouped_seconds(std::span<const MemberLoad> members, Index element_bytes,
                       const Profile& profile);

}  // namespace vicinal

namespace vicinal::common_neighbor {

struct OutgoingLink {
  int destination = 0;
  Index count = 0;
};
void fields(auto&& take, Is<OutgoingLink> auto& it) { take(it.destination, it.count); }

struct GroupMember {
  int rank = 0;
  Index distinct = 0;             ///< elements of all links, each item once
  std::vector<OutgoingLink> out;  ///< to other regions, by destination
};

/// One message of a group.
struct Delivery {
  int destination = 0;
  int deliverer = 0;              ///< one of the contributors
  std::vector<int> contributors;  ///< members of the group with that destination, ascending
};

struct GroupingCosts {
  Index element_bytes = 1;
  Profile profile = default_profile();
  std::function<bool(int, int)> shares_memory;  ///< two ranks hand over through shared memory
};

class CommonNeighbors {
 public:
  /// Takes the members of a region, by rank, ascending.
  explicit CommonNeighbors(std::vector<GroupMember> members);

  /// Returns groups of at most `size` ranks; each member is in one. Greedy: a group begins with the
  /// two members that have most neighbours in common. It then adds the member with most neighbours
  /// in common with the whole group, as long as there is any.
  [[nodiscard]] std::vector<std::vector<int>> groups(int size) const;

  /// Returns the messages of groups of at most `size` ranks. The common neighbours of a group are
  /// divided among the members that have them. Each member sends about as many messages, and then
  /// as many elements.
  [[nodiscard]] std::vector<Delivery> deliveries(int size) const;

  /// Returns the size of 1, 2, 4, ... up to all members whose deliveries take the least time.
  [[nodiscard]] int cheapest_size(const GroupingCosts& costs) const;

 private:
  using Set = std::vector<std::uint64_t>;  ///< a bit for each destination
  struct Contributor {
    int member = 0;  ///< its place among the members, as everywhere in this class
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
  std::vector<std::pair<int, int>> pairs_;  ///< with common neighbours, those with most first
};

}  // namespace vicinal::common_neighbor

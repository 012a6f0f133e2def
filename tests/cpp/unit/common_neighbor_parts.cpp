// Tests the parts of the common-neighbor planner: groups, deliverers, the choice of the group size,
// and the message layout.
#include <algorithm>
#include <iterator>

#include "check.hpp"
#include "planners/common_neighbor/groups.hpp"
#include "planners/common_neighbor/layout.hpp"

namespace vicinal::common_neighbor::common_neighbor_parts_tests {

TEST(groups_are_formed_by_common_neighbours) {
  const auto link = [](const std::vector<int>& destinations) {
    std::vector<OutgoingLink> out;
    for (const int it : destinations) out.push_back({it, 1});
    return out;
  };
  const CommonNeighbors region({{0, 1, link({10, 11, 12, 13})},
                                {1, 1, link({20, 21, 22})},
                                {2, 1, link({11, 12, 13})},
                                {3, 1, link({13, 20, 21})},
                                {4, 1, {}},
                                {5, 1, link({30})}});
  using Groups = std::vector<std::vector<int>>;
  CHECK((region.groups(1) == Groups{{0}, {1}, {2}, {3}, {4}, {5}}));
  CHECK((region.groups(2) == Groups{{0, 2}, {1, 3}, {4}, {5}}));
  // Rank 3 has one neighbour in common with the group of 0 and 2. Rank 1 then has two in common
  // with rank 3.
  CHECK((region.groups(3) == Groups{{0, 2, 3}, {1}, {4}, {5}}));
  CHECK((region.groups(6) == Groups{{0, 1, 2, 3}, {4}, {5}}));

  const auto deliveries = region.deliveries(2);
  const auto of = [&](int destination) {
    std::vector<Delivery> found;
    std::copy_if(deliveries.begin(), deliveries.end(), std::back_inserter(found),
                 [&](const Delivery& it) { return it.destination == destination; });
    return found;
  };
  CHECK_EQUAL(deliveries.size(), std::size_t{9});  // 4 of {0, 2}, 4 of {1, 3}, 1 of {5}
  CHECK_EQUAL(of(10).front().deliverer, 0);
  CHECK_EQUAL(of(11).front().deliverer, 2);  // 0 already has a message
  CHECK((of(12).front().contributors == std::vector<int>{0, 2}));
  CHECK_EQUAL(of(13).size(), std::size_t{2});  // one message from each of two groups
}

TEST(the_group_size_follows_the_costs) {
  // 16 ranks with 64 common neighbours. Short messages: fewer are better. If a handover costs more
  // than a message between regions, no rank should deliver for another.
  std::vector<GroupMember> members;
  for (int rank = 0; rank < 16; ++rank) {
    GroupMember& member = members.emplace_back();
    member.rank = rank;
    member.distinct = 8;
    for (int destination = 100; destination < 164; ++destination) {
      member.out.push_back({destination, 8});
    }
  }
  const CommonNeighbors region(members);
  GroupingCosts costs{1, default_profile(), [](int, int) { return true; }};
  CHECK_EQUAL(region.cheapest_size(costs), 16);
  costs.profile.handover = 1;
  CHECK_EQUAL(region.cheapest_size(costs), 1);
  costs.profile = default_profile();
  costs.element_bytes = 1 << 20;
  CHECK_EQUAL(region.cheapest_size(costs), 1);
  costs.element_bytes = 1;
  costs.shares_memory = [](int, int) { return false; };
  costs.profile.levels[static_cast<std::size_t>(Level::node)].protocols.front().latency = 1;
  CHECK_EQUAL(region.cheapest_size(costs), 1);
}

TEST(a_message_part_holds_each_item_once_in_link_order) {
  // The link carries items D A B C B C, which are stored in the buffer as A B C . D.
  const MessagePart part = lay_out({{1, 0, 3}, {4, 1, 2}, {0, 4, 1}}, 100);
  CHECK_EQUAL(part.count, 4);
  CHECK((part.picks == std::vector<CopyRun>{{4, 100, 1}, {0, 101, 3}}));
  std::vector<Index> places(6, -1);
  for (const LinkPiece& piece : part.pieces) {
    for (Index i = 0; i < piece.count; ++i) {
      places[static_cast<std::size_t>(piece.offset + i)] = piece.position + i;
    }
  }
  CHECK((places == std::vector<Index>{100, 101, 102, 103, 102, 103}));
}

}  // namespace vicinal::common_neighbor::common_neighbor_parts_tests

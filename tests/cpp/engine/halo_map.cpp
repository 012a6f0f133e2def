// Halos formed from global indices, compared with a reference that every rank computes from all
// lists.
#include "discovery/halo_map.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::halo_map_tests {
namespace {

constexpr std::array methods{Method::personalized, Method::nonblocking, Method::locality,
                             Method::locality_personalized};

using Indices = std::vector<Index>;

std::shared_ptr<mpi::Communicator> world() { return mpi::Communicator::of(MPI_COMM_WORLD); }

/// Returns every rank's list. Its collectives poll, since ranks may outnumber cores.
std::vector<Indices> gather_all(Indices mine) {
  const Index count = static_cast<Index>(mine.size());
  const Indices counts = mpi::allgather(world()->handle(), std::span(&count, 1));
  const auto longest = static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()));
  mine.resize(longest);
  const Indices all = mpi::allgather(world()->handle(), mine);
  std::vector<Indices> lists;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto begin = all.begin() + static_cast<Index>(rank * longest);
    lists.emplace_back(begin, begin + counts[rank]);
  }
  return lists;
}

/// Returns the distinct needed indices by owner, ascending.
std::map<int, std::set<Index>> by_owner(const Indices& needed, const std::map<Index, int>& owner) {
  std::map<int, std::set<Index>> result;
  for (const Index index : needed) result[owner.at(index)].insert(index);
  return result;
}

template <class List>
Indices slice(const List& values, const Indices& offsets, std::size_t edge) {
  return {values.begin() + offsets[edge], values.begin() + offsets[edge + 1]};
}

void check_receiving(const HaloMap& map, const Indices& needed, const std::map<Index, int>& owner) {
  const auto expected = by_owner(needed, owner);
  CHECK_EQUAL(map.pattern.in.size(), expected.size());
  CHECK_EQUAL(map.receive_ranks.size(), expected.size());
  CHECK_EQUAL(map.receive_offsets.size(), expected.size() + 1);
  std::size_t e = 0;
  for (const auto& [rank, distinct] : expected) {
    const InEdge& edge = map.pattern.in[e];
    CHECK_EQUAL(edge.rank, rank);
    CHECK_EQUAL(map.receive_ranks[e], rank);
    CHECK_EQUAL(edge.count, static_cast<Index>(distinct.size()));
    const Indices carried(distinct.begin(), distinct.end());
    Indices slots;
    Indices filled;
    for (std::size_t slot = 0; slot < needed.size(); ++slot) {
      if (distinct.contains(needed[slot])) slots.push_back(static_cast<Index>(slot));
    }
    for (const CopyRun& run : edge.slots) {
      for (Index i = 0; i < run.count; ++i) {
        filled.push_back(run.target + i);
        CHECK_EQUAL(needed[static_cast<std::size_t>(run.target + i)],
                    carried[static_cast<std::size_t>(run.source + i)]);
      }
    }
    CHECK(filled == slots);
    CHECK(slice(map.receive_positions, map.receive_offsets, e) == slots);
    ++e;
  }
}

void check_sending(const HaloMap& map, const Indices& owned, const std::vector<Indices>& needed,
                   const std::map<Index, int>& owner) {
  std::size_t e = 0;
  for (std::size_t peer = 0; peer < needed.size(); ++peer) {
    const auto wanted = by_owner(needed[peer], owner);
    const auto mine = wanted.find(world()->rank());
    if (mine == wanted.end()) continue;
    Indices positions;
    for (const Index index : mine->second) {
      positions.push_back(std::find(owned.begin(), owned.end(), index) - owned.begin());
    }
    CHECK(e < map.pattern.out.size());
    const OutEdge& edge = map.pattern.out[e];
    CHECK_EQUAL(edge.rank, static_cast<int>(peer));
    CHECK_EQUAL(map.send_ranks[e], static_cast<int>(peer));
    Indices sent;
    for (std::size_t i = 0; i < edge.items.size(); ++i) {
      const ItemRun& run = edge.items[i];
      CHECK_EQUAL(run.identity, run.position);
      if (i > 0) CHECK(edge.items[i - 1].identity + edge.items[i - 1].count != run.identity);
      for (Index k = 0; k < run.count; ++k) sent.push_back(run.position + k);
    }
    CHECK(sent == positions);
    CHECK(slice(map.send_indices, map.send_offsets, e) == positions);
    ++e;
  }
  CHECK_EQUAL(map.pattern.out.size(), e);
  CHECK_EQUAL(map.send_ranks.size(), e);
  CHECK_EQUAL(map.send_offsets.size(), e + 1);
}

void check_map(const HaloMap& map, const Indices& owned, const Indices& needed) {
  const std::vector<Indices> all_owned = gather_all(owned);
  std::map<Index, int> owner;
  for (std::size_t rank = 0; rank < all_owned.size(); ++rank) {
    for (const Index index : all_owned[rank]) owner[index] = static_cast<int>(rank);
  }
  CHECK(map.pattern.identity);
  CHECK_EQUAL(map.owned_count, static_cast<Index>(owned.size()));
  CHECK_EQUAL(map.ghost_count, static_cast<Index>(needed.size()));
  check(map.pattern, world()->size());
  check_receiving(map, needed, owner);
  check_sending(map, owned, gather_all(needed), owner);
}

/// Draws some of the existing indices, with duplicates, in one of several orders.
Indices random_needed(std::mt19937& random, Index limit, const std::vector<Index>& existing) {
  Indices needed;
  if (limit == 0 || random() % 4 == 0) return needed;
  const std::size_t stretches = random() % 5;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t first = random() % existing.size();
    const std::size_t count = 1 + random() % 12;
    for (std::size_t i = first; i < std::min(first + count, existing.size()); ++i) {
      needed.push_back(existing[i]);
    }
  }
  if (random() % 2 == 0) std::shuffle(needed.begin(), needed.end(), random);
  return needed;
}

TEST(halo_of_ranges_matches_a_reference) {
  const auto communicator = world();
  const int size = communicator->size();
  std::mt19937 shared(5);
  std::mt19937 own(static_cast<unsigned>(communicator->rank() + 77));
  for (int round = 0; round < 12; ++round) {
    // Ranges of random length in a random order of ranks, some of them empty, with gaps between.
    std::vector<int> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    if (round % 2 == 1) std::shuffle(order.begin(), order.end(), shared);
    Indices existing;
    Indices owned;
    Index next = 0;
    Index first = 0;
    for (const int rank : order) {
      next += round % 3 == 0 ? 0 : static_cast<Index>(shared() % 5);
      const Index count = static_cast<Index>(shared() % 3 == 0 ? 0 : shared() % 40);
      if (rank == communicator->rank()) first = next;
      for (Index i = 0; i < count; ++i) {
        existing.push_back(next + i);
        if (rank == communicator->rank()) owned.push_back(next + i);
      }
      next += count;
    }
    const Indices needed = random_needed(own, static_cast<Index>(existing.size()), existing);
    const Index last = first + static_cast<Index>(owned.size());
    for (const Method method : methods) {
      check_map(form_halo(*communicator, {first, last}, needed, method), owned, needed);
    }
    check_map(form_halo(*communicator, owned, needed), owned, needed);
  }
}

TEST(halo_of_arbitrary_indices_matches_a_reference) {
  const auto communicator = world();
  const auto size = static_cast<std::size_t>(communicator->size());
  std::mt19937 shared(6);
  std::mt19937 own(static_cast<unsigned>(communicator->rank() + 99));
  for (int round = 0; round < 12; ++round) {
    // Stretches of indices dealt to random ranks, with large gaps in some rounds.
    Indices existing;
    Indices owned;
    std::map<Index, int> owner;
    Index next = static_cast<Index>(shared() % 100);
    for (std::size_t stretch = 0; stretch < 6 * size; ++stretch) {
      const int rank = static_cast<int>(shared() % size);
      for (Index count = static_cast<Index>(shared() % 8); count > 0; --count) {
        existing.push_back(next);
        owner[next] = rank;
        if (rank == communicator->rank()) owned.push_back(next);
        ++next;
      }
      if (round % 2 == 1) next += static_cast<Index>(shared()) << (shared() % 20);
    }
    if (round % 3 == 1) std::shuffle(owned.begin(), owned.end(), own);
    if (round % 3 == 2) std::reverse(owned.begin(), owned.end());
    const Indices needed = random_needed(own, static_cast<Index>(existing.size()), existing);
    std::vector<int> owners;
    for (const Index index : needed) owners.push_back(owner.at(index));
    for (const Method method : methods) {
      check_map(form_halo(*communicator, owned, needed, method), owned, needed);
      check_map(form_halo(*communicator, owned, needed, owners, method), owned, needed);
    }
  }
}

TEST(halo_runs_are_as_long_as_they_can_be) {
  const auto communicator = world();
  const int size = communicator->size();
  const Index first = Index{100} * communicator->rank();
  const Index next = Index{100} * ((communicator->rank() + 1) % size);
  // The first fifty indices of the next rank, twice, and then five of them backwards.
  Indices needed;
  for (Index i = 0; i < 100; ++i) needed.push_back(next + i % 50);
  for (Index i = 0; i < 5; ++i) needed.push_back(next + 49 - i);
  const HaloMap map = form_halo(*communicator, {first, first + 100}, needed);
  CHECK_EQUAL(map.pattern.out.size(), std::size_t{1});
  CHECK(map.pattern.out.front().items == std::vector<ItemRun>({{0, 0, 50}}));
  CHECK_EQUAL(map.pattern.in.front().count, 50);
  CHECK_EQUAL(map.pattern.in.front().slots.size(), std::size_t{2 + 5});
}

/// Checks that the culprit throws `fault` and the other ranks Fault::elsewhere, all with `text`.
template <class Action>
void check_agreed(int culprit, Fault fault, const std::string& text, Action form) {
  CHECK_THROWS(world()->rank() == culprit ? fault : Fault::elsewhere, form(), text);
  if (world()->rank() != culprit) {
    CHECK_THROWS(Fault::elsewhere, form(), "rank " + std::to_string(culprit) + " reports");
  } else {
    CHECK_THROWS(fault, form(), text);
  }
}

TEST(halo_faults_reach_every_rank) {
  const auto communicator = world();
  const int size = communicator->size();
  const int rank = communicator->rank();
  const int culprit = size / 2;
  const bool mine = rank == culprit;
  const Index first = Index{10} * rank;
  const Index beyond = Index{10} * size;
  Indices owned(10);
  std::iota(owned.begin(), owned.end(), first);
  const Indices good{0, 1, 5};
  for (const Method method : methods) {
    const auto by_range = [&](const Indices& needed) {
      return form_halo(*communicator, {first, first + 10}, mine ? needed : good, method);
    };
    const auto by_array = [&](const Indices& own, const Indices& needed) {
      return form_halo(*communicator, mine ? own : owned, mine ? needed : good, method);
    };
    const auto given = [&](const Indices& needed, const std::vector<int>& owners) {
      return form_halo(*communicator, owned, mine ? needed : good,
                       mine ? owners : std::vector<int>(3, 0), method);
    };
    const std::string nobody =
        "needed[1] is index " + std::to_string(beyond) + ", which no rank owns";
    check_agreed(culprit, Fault::argument, nobody, [&] { return by_range({0, beyond}); });
    check_agreed(culprit, Fault::argument, nobody, [&] { return by_array(owned, {0, beyond}); });
    const std::string negative = "needed[1] is -3";
    check_agreed(culprit, Fault::argument, negative, [&] { return by_range({0, -3}); });
    check_agreed(culprit, Fault::argument, negative, [&] { return by_array(owned, {0, -3}); });
    check_agreed(culprit, Fault::argument, negative, [&] { return given({0, -3}, {0, 0}); });
    check_agreed(culprit, Fault::argument, "owned[0] is -1", [&] { return by_array({-1}, {}); });
    check_agreed(culprit, Fault::argument, "at most", [&] { return by_array({INT64_MAX}, {}); });
    check_agreed(culprit, Fault::argument, "owned[0] and owned[2] are both index 999",
                 [&] { return by_array({999, 1000, 999}, {}); });
    check_agreed(culprit, Fault::rank, "owners[1] is " + std::to_string(size),
                 [&] { return given({0, 1}, {0, size}); });
    check_agreed(culprit, Fault::rank, "owners[0] is -1", [&] { return given({0}, {-1}); });
    check_agreed(culprit, Fault::argument, "1 owners were given for 2",
                 [&] { return given({0, 1}, {0}); });
    CHECK_THROWS(Fault::argument, given({1, beyond}, {0, 0}),
                 "rank " + std::to_string(culprit) + " needs index " + std::to_string(beyond) +
                     " from rank 0, which does not own it");
    if (size == 1) continue;
    check_agreed(culprit, Fault::argument, "said to be owned by rank 0 and by rank 1",
                 [&] { return given({3, 3}, {0, 1}); });
    const int other = culprit == 0 ? 1 : 0;
    const Index stolen = Index{10} * other + 3;
    const std::string both = "ranks " + std::to_string(std::min(culprit, other)) + " and " +
                             std::to_string(std::max(culprit, other)) + " both own index " +
                             std::to_string(stolen);
    CHECK_THROWS(Fault::argument, by_array({beyond, stolen}, {}), both);
    CHECK_THROWS(Fault::argument,
                 form_halo(*communicator, {mine ? stolen : first, mine ? stolen + 1 : first + 10},
                           good, method),
                 both);
  }
}

TEST(halo_of_nothing) {
  const auto communicator = world();
  const Indices none;
  for (const Method method : methods) {
    check_map(form_halo(*communicator, {0, 0}, none, method), none, none);
    check_map(form_halo(*communicator, none, none, method), none, none);
    check_map(form_halo(*communicator, none, none, std::vector<int>(), method), none, none);
    CHECK_THROWS(Fault::argument, form_halo(*communicator, none, Indices{4}, method),
                 "needed[0] is index 4, which no rank owns");
  }
}

}  // namespace
}  // namespace vicinal::halo_map_tests

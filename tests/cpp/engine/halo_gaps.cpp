// Indices in a gap between those that a rank owns are not its own, however the halo is formed.
#include <vector>

#include "world.hpp"

namespace vicinal::halo_gaps_tests {
namespace {

using namespace testing;
using Indices = std::vector<std::int64_t>;

/// Rank r owns 100 r + 0, 1, 2 and 7, 8, and 20.
Indices owned_by(int rank) {
  Indices owned;
  for (const int i : {0, 1, 2, 7, 8, 20}) owned.push_back(100 * rank + i);
  return owned;
}

int create(MPI_Comm comm, const Indices& needed, bool with_owners, vicinal_halo* halo) {
  const Indices owned = owned_by(rank_in(comm));
  const auto mine = static_cast<std::int64_t>(owned.size());
  const auto count = static_cast<std::int64_t>(needed.size());
  std::vector<int> owners;
  for (const std::int64_t index : needed) owners.push_back(static_cast<int>(index / 100));
  if (with_owners) {
    return vicinal_halo_create_with_owners(comm, mine, owned.data(), count, needed.data(),
                                           owners.data(), MPI_INFO_NULL, halo);
  }
  return vicinal_halo_create_indexed(comm, mine, owned.data(), count, needed.data(), MPI_INFO_NULL,
                                     halo);
}

}  // namespace

TEST(halo_refuses_indices_in_gaps_of_what_is_owned) {
  const Duplicate comm;
  const int next = around(world_rank() + 1, world_size());
  const bool mine = world_rank() == world_size() / 2;
  for (const bool with_owners : {false, true}) {
    // Before a run, after one, in the middle of a gap, and a run of needed indices that extends
    // into a gap.
    for (const Indices& wrong : {Indices{6}, Indices{3}, Indices{12}, Indices{1, 2, 3, 4},
                                 Indices{2, 3, 7}, Indices{8, 9}, Indices{21}}) {
      Indices needed{100 * next + 7};
      for (const std::int64_t index : wrong) {
        if (mine) needed.push_back(100 * next + index);
      }
      HaloHandle halo;
      if (create(comm, needed, with_owners, &halo) == MPI_SUCCESS) {
        fail_check(__FILE__, __LINE__, "index ", wrong.back(), " lies in a gap, but ",
                   with_owners ? "its owner was believed" : "an owner was found");
      }
    }
    HaloHandle halo;
    const Indices needed{100 * next + 8, 100 * next, 100 * next + 20, 100 * next + 7};
    SUCCEEDS(create(comm, needed, with_owners, &halo));
    Indices values = owned_by(world_rank()), ghosts(needed.size());
    SUCCEEDS(vicinal_halo_exchange(halo, values.data(), ghosts.data(), 1, MPI_INT64_T));
    CHECK(ghosts == needed);
  }
}

TEST(halo_refuses_indices_in_gaps_between_ranges) {
  const Duplicate comm;
  const std::int64_t first = 10 * world_rank();
  for (const std::int64_t wrong : {5, 9, 7}) {
    HaloHandle halo;
    const Indices needed{10 * around(world_rank() + 1, world_size()) + wrong};
    const std::int64_t count = world_rank() == 0 ? 1 : 0;
    const int code =
        vicinal_halo_create(comm, first, first + 5, count, needed.data(), MPI_INFO_NULL, &halo);
    CHECK(code != MPI_SUCCESS);
  }
}

}  // namespace vicinal::halo_gaps_tests

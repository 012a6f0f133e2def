// Random distributions of indices, and the value of each index.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "completion.hpp"
#include "families.hpp"
#include "image.hpp"
#include "wiring.hpp"

namespace fuzz {

/// The indices that each rank owns and needs, known to all ranks.
struct Distribution {
  std::vector<std::vector<std::int64_t>> owned, needed;  ///< by rank, in order
  bool ranges = false;                                   ///< a rank owns contiguous indices
  std::map<std::int64_t, int> owner;                     ///< by index
  /// By index: the ranks that need it, each with the position among its ghosts.
  std::map<std::int64_t, std::vector<std::pair<int, std::int64_t>>> ghosts;

  Distribution(Trial& trial, int size) {
    Random& common = trial.common();
    ranges = common.chance(40);
    const int most = common.pick(std::vector<int>{0, 3, 20, 300});
    const int stride = ranges ? 1 : common.pick(std::vector<int>{1, 1, 3, 1000003});
    const bool dealt = !ranges && common.chance(50);
    std::vector<std::int64_t> all;
    std::int64_t next = common.chance(30) ? 1000000007 : 0;
    std::vector<int> order(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) order[at(rank)] = rank;
    if (common.chance(50)) common.shuffle(order);
    owned.resize(at(size));
    needed.resize(at(size));
    for (const int rank : order) {
      for (int count = common.below(most + 1); count > 0; --count) {
        owned[at(dealt ? common.below(size) : rank)].push_back(next);
        all.push_back(next);
        // Adds gaps between owned indices now and then.
        next += stride + (!ranges && common.chance(10) ? common.below(50) : 0);
      }
    }
    for (int rank = 0; rank < size; ++rank) {
      if (!ranges && common.chance(50)) common.shuffle(owned[at(rank)]);
      for (const std::int64_t index : owned[at(rank)]) owner[index] = rank;
      if (all.empty() || common.chance(15)) continue;
      const int wanted = common.below(2 * most + 2);
      const bool near = common.chance(50);
      int from = common.below(static_cast<int>(all.size()));
      for (int i = 0; i < wanted; ++i) {
        if (!near || common.chance(20)) from = common.below(static_cast<int>(all.size()));
        ghosts[all[at(from)]].emplace_back(rank, i);
        needed[at(rank)].push_back(all[at(from)]);
        from = (from + 1) % static_cast<int>(all.size());
      }
    }
    trial.note("indices: ", all.size(), " of up to ", most, " per rank, stride ", stride,
               ranges ? ", ranges" : "", dealt ? ", dealt" : "");
  }
};

/// A basic type in which values are written and read.
struct Number {
  MPI_Datatype type;
  int bytes;
  const char* name;

  void write(std::uint8_t* to, std::int64_t value) const {
    if (type == MPI_DOUBLE) {
      const auto number = static_cast<double>(value);
      std::memcpy(to, &number, sizeof number);
    } else if (type == MPI_INT64_T) {
      std::memcpy(to, &value, sizeof value);
    } else if (type == MPI_INT) {
      const auto number = static_cast<int>(value);
      std::memcpy(to, &number, sizeof number);
    } else {
      *to = static_cast<std::uint8_t>(value);
    }
  }
};

/// Layout of all values on one side of a rank: blocks, perhaps in several vectors.
struct Shape {
  std::int64_t values = 1, vectors = 1, stride = 0;  ///< stride in values

  [[nodiscard]] std::int64_t place(std::int64_t index, std::int64_t vector, std::int64_t k) const {
    return vector * stride + index * values + k;
  }
};

/// Returns the value of an index on a rank, or on its owner for rank -1. Small, so that sums fit.
inline std::int64_t value_of(std::int64_t index, std::int64_t inner, std::int64_t round, int rank) {
  return static_cast<std::int64_t>(
      scrambled(scrambled(static_cast<std::uint64_t>(index)) ^
                static_cast<std::uint64_t>(inner * 131 + round * 7 + rank)) %
      1000);
}

}  // namespace fuzz

// Halos in reverse, with MPI's operators and user-defined ones. Each contribution counts once, and
// each execution gives the same bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "world.hpp"

namespace vicinal::reverse_tests {
namespace {

using namespace testing;

constexpr std::int64_t per_rank = 5;
constexpr std::int64_t prime = 1000003;

/// Each rank needs all indices of the ranks 1, 2 and 3 ahead, one of them twice, and one of its
/// own.
struct Mesh {
  std::int64_t rank;
  std::int64_t size;
  HaloHandle halo;

  Mesh(MPI_Comm comm, const char* strategy, const char* local)
      : rank(rank_in(comm)), size(size_of(comm)) {
    const auto needed = needed_by(rank);
    const Hints hints{{"vicinal_strategy", strategy},
                      {"vicinal_local", local},
                      {"vicinal_regions", few_regions(static_cast<int>(size))}};
    SUCCEEDS(vicinal_halo_create(comm, rank * per_rank, (rank + 1) * per_rank,
                                 static_cast<std::int64_t>(needed.size()), needed.data(), hints,
                                 &halo));
  }
  std::vector<std::int64_t> needed_by(std::int64_t who) const {
    std::vector<std::int64_t> needed{who * per_rank + 4};
    for (const std::int64_t shift : {3, 1, 2}) {
      for (std::int64_t i = 0; i < per_rank; ++i) {
        needed.push_back((who + shift) % size * per_rank + i);
      }
    }
    needed.push_back((who + 1) % size * per_rank + 2);
    return needed;
  }
  /// Calls visit(i, contributor, ghost) for each ghost, on any rank, of the owned element i.
  template <class Visit>
  void for_each_contribution(Visit visit) const {
    for (std::int64_t who = 0; who < size; ++who) {
      const auto needed = needed_by(who);
      for (std::size_t g = 0; g < needed.size(); ++g) {
        if (needed[g] / per_rank == rank)
          visit(static_cast<std::size_t>(needed[g] % per_rank), who, g);
      }
    }
  }
};

struct Variant {
  const char* strategy;
  const char* local;
};
constexpr std::array<Variant, 10> variants{{{"direct", "shared"},
                                            {"aggregate", "shared"},
                                            {"two-step", "messages"},
                                            {"split", "shared"},
                                            {"common-neighbor", "shared"},
                                            {"common-neighbor", "messages"},
                                            {"distance-halving-pruned", "shared"},
                                            {"distance-halving-pruned", "messages"},
                                            {"cascade", "shared"},
                                            {"cascade", "messages"}}};

std::int64_t ghost_value(std::int64_t who, std::size_t ghost, int round) {
  return (who * 7919 + static_cast<std::int64_t>(ghost) * 104729 + std::int64_t{31} * round) %
             100003 -
         50000;
}

std::int64_t combined(MPI_Op op, std::int64_t a, std::int64_t b) {
  if (op == MPI_SUM) return a + b;
  if (op == MPI_MIN) return std::min(a, b);
  if (op == MPI_MAX) return std::max(a, b);
  return a ^ b;
}

/// Composition of maps x -> ax + b modulo a prime: associative, but not commutative.
struct Affine {
  std::int64_t a, b;
};

void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* left = static_cast<const Affine*>(in);
  auto* right = static_cast<Affine*>(inout);
  for (int i = 0; i < *count; ++i) {
    right[i] = {left[i].a * right[i].a % prime, (left[i].a * right[i].b + left[i].b) % prime};
  }
}

void add_modulo(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* left = static_cast<const std::int64_t*>(in);
  auto* right = static_cast<std::int64_t*>(inout);
  for (int i = 0; i < *count; ++i) right[i] = (left[i] + right[i]) % prime;
}

class Operator {
 public:
  Operator(MPI_User_function* function, int commutes) { MPI_Op_create(function, commutes, &op_); }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  ~Operator() { MPI_Op_free(&op_); }
  operator MPI_Op() const { return op_; }

 private:
  MPI_Op op_ = MPI_OP_NULL;
};

}  // namespace

TEST(reverse_combines_by_mpis_operators) {
  const Duplicate comm;
  for (const Variant& variant : variants) {
    Mesh test(comm, variant.strategy, variant.local);
    const std::size_t ghosts = test.needed_by(test.rank).size();
    int round = 0;
    for (const MPI_Op op : {MPI_SUM, MPI_MIN, MPI_MAX, MPI_BXOR}) {
      ++round;
      std::vector<std::int64_t> owned(per_rank), expected(per_rank), given(ghosts);
      for (std::size_t i = 0; i < owned.size(); ++i)
        owned[i] = expected[i] = static_cast<std::int64_t>(i) * 100;
      for (std::size_t g = 0; g < ghosts; ++g) given[g] = ghost_value(test.rank, g, round);
      test.for_each_contribution([&](std::size_t i, std::int64_t who, std::size_t g) {
        expected[i] = combined(op, expected[i], ghost_value(who, g, round));
      });
      SUCCEEDS(vicinal_halo_reverse(test.halo, owned.data(), given.data(), 1, MPI_INT64_T, op));
      CHECK(owned == expected);
    }
  }
}

TEST(reverse_replaces_by_the_same_ghost_each_time) {
  const Duplicate comm;
  for (const Variant& variant : variants) {
    Mesh test(comm, variant.strategy, variant.local);
    const std::size_t ghosts = test.needed_by(test.rank).size();
    std::vector<std::int64_t> given(ghosts), first;
    for (std::size_t g = 0; g < ghosts; ++g) given[g] = ghost_value(test.rank, g, 0);
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::vector<std::int64_t> owned(per_rank, 77777777);
      SUCCEEDS(
          vicinal_halo_reverse(test.halo, owned.data(), given.data(), 1, MPI_INT64_T, MPI_REPLACE));
      std::vector<bool> found(per_rank, false);
      test.for_each_contribution([&](std::size_t i, std::int64_t who, std::size_t g) {
        if (owned[i] == ghost_value(who, g, 0)) found[i] = true;
      });
      for (const bool one : found) CHECK(one);
      if (repeat == 0) first = owned;
      CHECK(owned == first);
    }
  }
}

TEST(reverse_combines_by_the_users_operators) {
  const Duplicate comm;
  const Operator modulo(add_modulo, 1), composition(compose, 0);
  MPI_Datatype affine = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT64_T, &affine);
  MPI_Type_commit(&affine);
  for (const Variant& variant : variants) {
    Mesh test(comm, variant.strategy, variant.local);
    const std::size_t ghosts = test.needed_by(test.rank).size();

    // Two values per index, with a commutative operator.
    std::vector<std::int64_t> sums(per_rank * 2, 5), given(ghosts * 2), expected(per_rank * 2, 5);
    for (std::size_t g = 0; g < given.size(); ++g) given[g] = ghost_value(test.rank, g, 1) + 50000;
    test.for_each_contribution([&](std::size_t i, std::int64_t who, std::size_t g) {
      for (std::size_t v : {0U, 1U}) {
        expected[2 * i + v] =
            (expected[2 * i + v] + ghost_value(who, 2 * g + v, 1) + 50000) % prime;
      }
    });
    SUCCEEDS(vicinal_halo_reverse(test.halo, sums.data(), given.data(), 2, MPI_INT64_T, modulo));
    CHECK(sums == expected);

    // The product of the factors shows that each map counts once; the constant terms depend on the
    // order.
    std::vector<Affine> maps(ghosts);
    std::vector<std::int64_t> product(per_rank, 3);
    for (std::size_t g = 0; g < ghosts; ++g) {
      const std::int64_t value = ghost_value(test.rank, g, 2) + 60000;
      maps[g] = {value, value + 1};
    }
    test.for_each_contribution([&](std::size_t i, std::int64_t who, std::size_t g) {
      product[i] = product[i] * (ghost_value(who, g, 2) + 60000) % prime;
    });
    std::vector<std::int64_t> first;
    for (int repeat = 0; repeat < 4; ++repeat) {
      std::vector<Affine> owned(per_rank, Affine{3, 4});
      SUCCEEDS(vicinal_halo_reverse(test.halo, owned.data(), maps.data(), 1, affine, composition));
      std::vector<std::int64_t> rest;
      for (std::size_t i = 0; i < owned.size(); ++i) {
        CHECK_EQUAL(owned[i].a, product[i]);
        rest.push_back(owned[i].b);
      }
      if (repeat == 0) first = rest;
      CHECK(rest == first);
    }
  }
  MPI_Type_free(&affine);
}

TEST(reverse_combines_pairs_of_values_and_places) {
  struct Pair {
    double value;
    int place;
  };
  const Duplicate comm;
  for (const Variant& variant : variants) {
    Mesh test(comm, variant.strategy, variant.local);
    const std::size_t ghosts = test.needed_by(test.rank).size();
    const auto pair_of = [](std::int64_t who, std::size_t g) {
      return Pair{static_cast<double>(ghost_value(who, g, 0)),
                  static_cast<int>(100 * who) + static_cast<int>(g)};
    };
    std::vector<Pair> owned(per_rank, Pair{1e9, -1}), given(ghosts), filled(ghosts);
    std::vector<Pair> expected = owned;
    for (std::size_t g = 0; g < ghosts; ++g) given[g] = pair_of(test.rank, g);
    test.for_each_contribution([&](std::size_t i, std::int64_t who, std::size_t g) {
      const Pair pair = pair_of(who, g);
      if (pair.value < expected[i].value) expected[i] = pair;
    });
    SUCCEEDS(
        vicinal_halo_reverse(test.halo, owned.data(), given.data(), 1, MPI_DOUBLE_INT, MPI_MINLOC));
    for (std::size_t i = 0; i < owned.size(); ++i) {
      CHECK_EQUAL(owned[i].value, expected[i].value);
      CHECK_EQUAL(owned[i].place, expected[i].place);
    }
    SUCCEEDS(vicinal_halo_exchange(test.halo, owned.data(), filled.data(), 1, MPI_DOUBLE_INT));
    CHECK_EQUAL(filled[0].value, owned[4].value);  // a ghost that this rank owns
    CHECK_EQUAL(filled[0].place, owned[4].place);
  }
}

TEST(reverse_sums_have_the_same_bits_each_time) {
  const Duplicate comm;
  for (const Variant& variant : variants) {
    Mesh test(comm, variant.strategy, variant.local);
    const std::size_t ghosts = test.needed_by(test.rank).size();
    std::vector<double> given(ghosts), first;
    for (std::size_t g = 0; g < ghosts; ++g) {
      // Magnitudes differ so much that another order would give another sum.
      given[g] = std::ldexp(1.0 + static_cast<double>(ghost_value(test.rank, g, 0)) / 7.0,
                            static_cast<int>((g * 13 + static_cast<std::size_t>(test.rank)) % 60));
    }
    const int repeats = world_size() <= 8 ? 40 : 10;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      std::vector<double> owned(per_rank, 0.1);
      SUCCEEDS(vicinal_halo_reverse(test.halo, owned.data(), given.data(), 1, MPI_DOUBLE, MPI_SUM));
      if (repeat == 0) first = owned;
      CHECK(owned == first);
    }
  }
}

TEST(reverse_refuses_what_cannot_combine) {
  const Duplicate comm;
  Mesh test(comm, "aggregate", "shared");
  std::vector<double> owned(per_rank), given(test.needed_by(test.rank).size());
  FAILS(MPI_ERR_OP,
        vicinal_halo_reverse(test.halo, owned.data(), given.data(), 1, MPI_DOUBLE, MPI_OP_NULL),
        "MPI_OP_NULL");
  FAILS(MPI_ERR_TYPE,
        vicinal_halo_reverse(test.halo, owned.data(), given.data(), 1, MPI_DATATYPE_NULL, MPI_SUM),
        "MPI_DATATYPE_NULL");
  FAILS(MPI_ERR_ARG,
        vicinal_halo_reverse(test.halo, owned.data(), given.data(), 0, MPI_DOUBLE, MPI_SUM),
        "must be positive");
  SUCCEEDS(vicinal_halo_reverse(test.halo, owned.data(), given.data(), 1, MPI_DOUBLE, MPI_SUM));
}

}  // namespace vicinal::reverse_tests

// Typical user buffers: derived datatypes that differ between sides but match, displacements in any
// order, and overlaps where allowed. Several edges between two ranks, and self-edges. Results must
// equal those of MPI_Neighbor_alltoallv.
#include <algorithm>

#include "world.hpp"

namespace vicinal::layouts_tests {
namespace {

using namespace testing;

/// A datatype that is committed, and freed at the end of its scope.
class Type {
 public:
  explicit Type(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  ~Type() { MPI_Type_free(&type_); }
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_;
};

MPI_Datatype vector_of(int count, int block, int stride, MPI_Datatype of) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, block, stride, of, &type);
  return type;
}

MPI_Datatype resized(MPI_Datatype of, MPI_Aint lower_bound, MPI_Aint extent) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(of, lower_bound, extent, &type);
  return type;
}

/// Returns blocks of `of`, with the given lengths and places.
MPI_Datatype indexed(std::vector<int> lengths, std::vector<int> places, MPI_Datatype of) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), of, &type);
  return type;
}

/// Returns an int and a double at the given byte offsets, in `extent` bytes.
MPI_Datatype pair_type(MPI_Aint number_at, MPI_Aint value_at, MPI_Aint extent) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {number_at, value_at};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype packed = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &packed);
  const MPI_Datatype type = resized(packed, 0, extent);
  MPI_Type_free(&packed);
  return type;
}

struct Side {
  std::vector<int> ranks;
  std::vector<int> counts;
  std::vector<int> displacements;
  MPI_Datatype type;
};

constexpr std::size_t buffer_bytes = 16384;
constexpr std::size_t middle = buffer_bytes / 2;

std::vector<unsigned char> pattern_of(int rank, int round) {
  std::vector<unsigned char> bytes(buffer_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(static_cast<std::size_t>(rank) * 37 + i * 11 + i / 251 +
                                          static_cast<std::size_t>(round));
  }
  return bytes;
}

/// Compares each strategy with MPI, twice each, also in the `_c` form.
void compare_with_mpi(const Side& send, const Side& receive, bool weights_empty = false) {
  const int rank = world_rank();
  const auto in = static_cast<int>(receive.ranks.size());
  const auto out = static_cast<int>(send.ranks.size());
  Duplicate comm;
  MPI_Comm reference = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(comm, in, receive.ranks.data(), MPI_UNWEIGHTED, out,
                                 send.ranks.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &reference);
  GraphHandle graph;
  int* const weights = weights_empty && in == 0 && out == 0 ? MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED;
  SUCCEEDS(vicinal_graph_create_adjacent(
      comm, in, receive.ranks.data(), weights, out, send.ranks.data(), weights,
      Hints{{"vicinal_regions", few_regions(world_size())}}, 1, &graph));
  const std::vector<MPI_Count> send_counts(send.counts.begin(), send.counts.end());
  const std::vector<MPI_Count> receive_counts(receive.counts.begin(), receive.counts.end());
  const std::vector<MPI_Aint> send_places(send.displacements.begin(), send.displacements.end());
  const std::vector<MPI_Aint> receive_places(receive.displacements.begin(),
                                             receive.displacements.end());
  for (const char* strategy : {"direct", "aggregate", "two-step"}) {
    std::vector<unsigned char> source(buffer_bytes), target(buffer_bytes), large(buffer_bytes);
    const Hints hints{{"vicinal_strategy", strategy}};
    RequestHandle request, request_c;
    SUCCEEDS(vicinal_neighbor_alltoallv_init(
        source.data() + middle, send.counts.data(), send.displacements.data(), send.type,
        target.data() + middle, receive.counts.data(), receive.displacements.data(), receive.type,
        graph, hints, &request));
    SUCCEEDS(vicinal_neighbor_alltoallv_init_c(source.data() + middle, send_counts.data(),
                                               send_places.data(), send.type, large.data() + middle,
                                               receive_counts.data(), receive_places.data(),
                                               receive.type, graph, hints, &request_c));
    for (int round = 0; round < 2; ++round) {
      const std::vector<unsigned char> values = pattern_of(rank, round);
      std::copy(values.begin(), values.end(), source.begin());  // in place
      std::fill(target.begin(), target.end(), static_cast<unsigned char>(0xee));
      std::copy(target.begin(), target.end(), large.begin());
      std::vector<unsigned char> expected = target;
      MPI_Neighbor_alltoallv(source.data() + middle, send.counts.data(), send.displacements.data(),
                             send.type, expected.data() + middle, receive.counts.data(),
                             receive.displacements.data(), receive.type, reference);
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_start(&request_c));
      SUCCEEDS(vicinal_wait(&request));
      SUCCEEDS(vicinal_wait(&request_c));
      if (target != expected) fail_check(__FILE__, __LINE__, strategy, ": the buffers differ");
      if (large != expected) fail_check(__FILE__, __LINE__, strategy, ": the _c form differs");
      CHECK(source == values);
    }
  }
  MPI_Comm_free(&reference);
}

/// One ahead, two ahead, one behind, the rank itself, and one ahead again.
const std::vector<int> shifts{1, 2, -1, 0, 1};

std::vector<int> peers(int sign) {
  std::vector<int> ranks;
  for (const int shift : shifts) ranks.push_back(around(world_rank() + sign * shift, world_size()));
  return ranks;
}

std::vector<int> times(std::vector<int> values, int factor) {
  for (int& value : values) value *= factor;
  return values;
}

}  // namespace

TEST(plain_types_in_any_place) {
  // Zero counts, gaps, negative and descending displacements; they overlap on the send side.
  compare_with_mpi({peers(1), {3, 0, 5, 2, 4}, {-7, 0, -5, -7, -6}, MPI_DOUBLE},
                   {peers(-1), {3, 0, 5, 2, 4}, {40, 0, -60, 7, -3}, MPI_DOUBLE});
  compare_with_mpi({peers(1), {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, MPI_INT},
                   {peers(-1), {0, 0, 0, 0, 0}, {1, 2, 3, 4, 5}, MPI_INT});
  // 64-bit integers, with overlapping send displacements.
  compare_with_mpi({peers(1), {2, 1, 1, 1, 2}, {0, 2, 0, 0, 1}, MPI_INT64_T},
                   {peers(-1), {2, 1, 1, 1, 2}, {0, 2, 3, 4, 5}, MPI_INT64_T});
}

TEST(derived_types_on_either_side) {
  const Type column(vector_of(4, 1, 3, MPI_DOUBLE));
  const Type spaced(resized(column, 0, 128));
  const std::vector<int> counts{2, 0, 1, 1, 3};
  const std::vector<int> apart{0, 4, 4, -3, 8};
  const std::vector<int> wide{-40, 0, 40, 60, 80};
  compare_with_mpi({peers(1), counts, {0, 1, -2, 0, 1}, spaced},
                   {peers(-1), times(counts, 4), wide, MPI_DOUBLE});
  compare_with_mpi({peers(1), times(counts, 4), wide, MPI_DOUBLE},
                   {peers(-1), counts, apart, spaced});
  // Different layouts of the same four doubles.
  const Type picked(indexed({1, 2, 1}, {7, 0, 4}, MPI_DOUBLE));
  const Type padded(resized(picked, 0, 128));
  compare_with_mpi({peers(1), counts, apart, spaced}, {peers(-1), counts, apart, padded});
}

TEST(structures_with_holes) {
  const Type user(pair_type(0, 8, 16));
  const Type reordered(pair_type(8, 0, 24));
  const Type dense(pair_type(0, 4, 12));
  const std::vector<int> counts{2, 1, 0, 4, 3};
  const std::vector<int> places{0, 12, 0, -8, 20};
  compare_with_mpi({peers(1), counts, places, user}, {peers(-1), counts, places, user});
  compare_with_mpi({peers(1), counts, places, user}, {peers(-1), counts, places, reordered});
  compare_with_mpi({peers(1), counts, places, reordered}, {peers(-1), counts, places, dense});
  compare_with_mpi({peers(1), counts, places, dense}, {peers(-1), counts, places, user});
}

TEST(types_with_other_bounds) {
  MPI_Datatype three = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(3, MPI_INT, &three);
  const Type dense(three);
  const Type shrunk(resized(three, 4, 4));  // each element begins inside the one before
  const Type below(resized(three, -8, 32));
  const std::vector<int> counts{2, 1, 0, 1, 2};
  const std::vector<int> places{0, 9, 20, 12, 5};
  compare_with_mpi({peers(1), counts, places, shrunk}, {peers(-1), counts, places, dense});
  compare_with_mpi({peers(1), counts, places, below}, {peers(-1), counts, places, below});
  const Type nothing(indexed({}, {}, MPI_INT));
  compare_with_mpi({peers(1), counts, places, nothing}, {peers(-1), counts, places, nothing});
}

TEST(ranks_without_neighbours_skip_everything) {
  const int rank = world_rank(), size = world_size();
  const Duplicate comm;
  // Every third rank sends to the next such rank; all others have no edges.
  const int with = (size + 2) / 3;
  const bool active = rank % 3 == 0;
  std::vector<int> sources, destinations;
  if (active) {
    destinations.push_back((rank / 3 + 1) % with * 3);
    sources.push_back((rank / 3 + with - 1) % with * 3);
  }
  GraphHandle graph;
  SUCCEEDS(vicinal_graph_create_adjacent(
      comm, static_cast<int>(sources.size()), active ? sources.data() : nullptr,
      active ? MPI_UNWEIGHTED : MPI_WEIGHTS_EMPTY, static_cast<int>(destinations.size()),
      active ? destinations.data() : nullptr, active ? MPI_UNWEIGHTED : MPI_WEIGHTS_EMPTY,
      Hints{{"vicinal_regions", few_regions(size)}}, 0, &graph));
  if (!active) return;
  Edges send({4}), receive({4});
  for (const char* strategy : {"aggregate", "direct"}) {
    RequestHandle request;
    SUCCEEDS(plan_exchange(send, receive, graph, Hints{{"vicinal_strategy", strategy}}, &request));
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 4; ++i) send.at(0, i) = rank * 100 + i * 10 + round;
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      for (int i = 0; i < 4; ++i) CHECK_EQUAL(receive.at(0, i), sources[0] * 100 + i * 10 + round);
    }
  }
}

TEST(ranks_without_neighbours_may_plan_too) {
  compare_with_mpi({{}, {}, {}, MPI_INT}, {{}, {}, {}, MPI_INT}, true);
  const Duplicate comm;
  const GraphHandle graph = graph_of(comm, {}, {}, "node");
  RequestHandle request;
  SUCCEEDS(vicinal_neighbor_alltoallv_init(nullptr, nullptr, nullptr, MPI_DATATYPE_NULL, nullptr,
                                           nullptr, nullptr, MPI_DATATYPE_NULL, graph,
                                           MPI_INFO_NULL, &request));
  SUCCEEDS(vicinal_start(&request));
  SUCCEEDS(vicinal_wait(&request));
}

TEST(elements_of_one_identity_travel_once) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  // All edges of a rank carry the same three values, each in its own order.
  const std::vector<int> to = peers(1), from = peers(-1);
  const GraphHandle graph = graph_of(comm, from, to, few_regions(size));
  Edges send(std::vector<int>(to.size(), 3)), receive(std::vector<int>(from.size(), 3));
  std::vector<std::int64_t> items;
  for (int e = 0; e < static_cast<int>(to.size()); ++e) {
    for (int i = 0; i < 3; ++i) items.push_back(1000000007 * std::int64_t{(i + e) % 3});
  }
  for (const char* strategy : {"direct", "aggregate", "aggregate-plain", "two-step", "split"}) {
    RequestHandle request;
    SUCCEEDS(vicinal_neighbor_alltoallv_items_init(
        send.data.data(), send.counts.data(), send.displacements.data(), items.data(), MPI_INT64_T,
        receive.data.data(), receive.counts.data(), receive.displacements.data(), MPI_INT64_T,
        graph, Hints{{"vicinal_strategy", strategy}}, &request));
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        send.data[i] = items[i] / 1000000007 * 10 + std::int64_t{1000} * rank + round;
      }
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      for (std::size_t e = 0; e < from.size(); ++e) {
        for (int i = 0; i < 3; ++i) {
          CHECK_EQUAL(receive.at(e, i),
                      (i + static_cast<int>(e)) % 3 * 10 + from[e] * 1000 + round);
        }
      }
    }
  }
}

TEST(identities_are_any_numbers_of_64_bits) {
  const Duplicate comm;
  const int size = world_size();
  const std::vector<int> to = peers(1), from = peers(-1);
  const GraphHandle graph = graph_of(comm, from, to, few_regions(size));
  // Numbers that become equal when multiplied by 8, and the limits of 64 bits.
  constexpr std::int64_t wraps = std::int64_t{1} << 61;
  const std::vector<std::int64_t> identities{
      5, 5 + wraps, 5 - wraps, 5 + 2 * wraps, 5 + 3 * wraps, -1, INT64_MAX, INT64_MIN, 6};
  const auto count = static_cast<int>(identities.size());
  Edges send(std::vector<int>(to.size(), count)), receive(std::vector<int>(from.size(), count));
  std::vector<std::int64_t> items;
  // Each edge starts with another identity, so that the places of identities differ.
  const auto which = [&](int edge, int i) { return (i + edge) % count; };
  for (int e = 0; e < static_cast<int>(to.size()); ++e) {
    for (int i = 0; i < count; ++i) {
      items.push_back(identities[static_cast<std::size_t>(which(e, i))]);
      send.at(static_cast<std::size_t>(e), i) = world_rank() * 100 + which(e, i);
    }
  }
  for (const char* strategy : {"direct", "aggregate", "two-step", "split"}) {
    std::fill(receive.data.begin(), receive.data.end(), -1);
    RequestHandle request;
    SUCCEEDS(vicinal_neighbor_alltoallv_items_init(
        send.data.data(), send.counts.data(), send.displacements.data(), items.data(), MPI_INT64_T,
        receive.data.data(), receive.counts.data(), receive.displacements.data(), MPI_INT64_T,
        graph, Hints{{"vicinal_strategy", strategy}}, &request));
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    for (std::size_t e = 0; e < from.size(); ++e) {
      for (int i = 0; i < count; ++i) {
        CHECK_EQUAL(receive.at(e, i), from[e] * 100 + which(static_cast<int>(e), i));
      }
    }
  }
}

}  // namespace vicinal::layouts_tests

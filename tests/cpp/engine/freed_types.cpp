// Datatypes that are freed while an exchange uses them, as MPI allows. A new type with the same
// handle must not be mistaken for the one given.
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "tight_address_space.hpp"
#include "world.hpp"

namespace vicinal::freed_types_tests {
namespace {

using namespace testing;

constexpr int values = 40;  // in a block, at every other place
constexpr int places = 2 * values;

MPI_Datatype make(MPI_Datatype layout) {
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(layout, 0, places * 8, &block);
  MPI_Type_commit(&block);
  MPI_Type_free(&layout);
  return block;
}

/// Returns a type of every other value, with as many bytes as `decoy`, which holds the first
/// values.
MPI_Datatype strided() {
  MPI_Datatype layout = MPI_DATATYPE_NULL;
  MPI_Type_vector(values, 1, 2, MPI_INT64_T, &layout);
  return make(layout);
}

MPI_Datatype decoy() {
  MPI_Datatype layout = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(values, MPI_INT64_T, &layout);
  return make(layout);
}

/// Frees a type and makes others. One of them gets its handle, if MPI reuses handles.
class Freed {
 public:
  explicit Freed(MPI_Datatype& type) {
    MPI_Type_free(&type);
    for (MPI_Datatype& other : decoys_) other = decoy();
  }
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
  ~Freed() {
    for (MPI_Datatype& other : decoys_) MPI_Type_free(&other);
  }

 private:
  MPI_Datatype decoys_[4];
};

/// A ring in both directions. Edge e of a rank is edge e at the other end.
struct Ring {
  int rank = world_rank();
  int size = world_size();
  Duplicate comm;
  std::vector<int> sources{around(rank - 1, size), around(rank + 1, size)};
  std::vector<int> destinations{around(rank + 1, size), around(rank - 1, size)};
  GraphHandle graph;
  std::vector<std::int64_t> send, receive;

  explicit Ring(const char* strategy) {
    SUCCEEDS(create_graph(
        comm, sources, destinations,
        Hints{{"vicinal_strategy", strategy}, {"vicinal_regions", few_regions(size)}}, &graph));
    for (int i = 0; i < 2 * places; ++i) send.push_back(value(rank, i));
    receive.assign(send.size(), -1);
  }
  static std::int64_t value(int of, int place) { return of * 1000 + place; }
  void verify() const {
    for (int i = 0; i < 2 * places; ++i) {
      const int from = sources[static_cast<std::size_t>(i / places)];
      CHECK_EQUAL(receive[static_cast<std::size_t>(i)], i % 2 == 0 ? value(from, i) : -1);
    }
  }
};

const int ones[] = {1, 1};
const int in_types[] = {0, 1};
const MPI_Aint in_bytes[] = {0, places * 8};

int copies_of_attribute = 0;

int count_copy(MPI_Datatype, int, void*, void*, void*, int* flag) {
  ++copies_of_attribute;
  *flag = 0;
  return MPI_SUCCESS;
}

}  // namespace

TEST(a_type_may_be_freed_while_a_persistent_request_uses_it) {
  for (const char* strategy : {"direct", "aggregate"}) {
    Ring ring(strategy);
    int key = MPI_KEYVAL_INVALID;
    MPI_Type_create_keyval(count_copy, MPI_TYPE_NULL_DELETE_FN, &key, nullptr);
    MPI_Datatype type = strided();
    MPI_Type_set_attr(type, key, nullptr);
    copies_of_attribute = 0;
    const MPI_Datatype types[] = {type, type};
    RequestHandle request;
    SUCCEEDS(vicinal_neighbor_alltoallw_init(ring.send.data(), ones, in_bytes, types,
                                             ring.receive.data(), ones, in_bytes, types, ring.graph,
                                             Hints{{"vicinal_strategy", strategy}}, &request));
    CHECK_EQUAL(copies_of_attribute, 0);
    const Freed freed(type);
    for (int round = 0; round < 3; ++round) {
      std::fill(ring.receive.begin(), ring.receive.end(), -1);
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      ring.verify();
    }
    MPI_Type_free_keyval(&key);
  }
}

TEST(a_type_may_be_freed_while_a_call_waits_for_its_turn) {
  // Rank 0's first call fails, and cannot allocate memory for what the other ranks send. Its later
  // calls use other tags, or wait, and each call gets its own data.
  Ring ring("direct");
  if (ring.size < 2) skip("needs 2 ranks");
  constexpr int calls = 20;
  constexpr std::int64_t step = 1'000'000;
  if (ring.rank != 0) MPI_Recv(nullptr, 0, MPI_INT, 0, 0, ring.comm, MPI_STATUS_IGNORE);
  std::vector<std::vector<std::int64_t>> send(calls, ring.send), receive(calls, ring.receive);
  std::vector<RequestHandle> requests(calls);
  std::deque<Freed> freed;
  const int wrong[] = {1, -1};
  for (int call = 0; call < calls; ++call) {
    const auto at = static_cast<std::size_t>(call);
    for (std::int64_t& value : send[at]) value += call * step;
    MPI_Datatype type = strided();
    const bool bad = ring.rank == 0 && call == 0;
    std::optional<TightAddressSpace> tight;
    if (bad) tight.emplace(std::int64_t{1} << 30);
    const int code = vicinal_ineighbor_alltoallv(send[at].data(), bad ? wrong : ones, in_types,
                                                 type, receive[at].data(), ones, in_types, type,
                                                 ring.graph, &requests[at]);
    if (bad) {
      FAILS(MPI_ERR_COUNT, code, "-1");
    } else {
      SUCCEEDS(code);
    }
    freed.emplace_back(type);
  }
  for (int other = 1; ring.rank == 0 && other < ring.size; ++other) {
    MPI_Send(nullptr, 0, MPI_INT, other, 0, ring.comm);
  }
  for (int call = 0; call < calls; ++call) {
    const auto at = static_cast<std::size_t>(call);
    if (requests[at] == VICINAL_REQUEST_NULL) continue;  // of the failed call
    const bool spoilt = call == 0 && (ring.sources[0] == 0 || ring.sources[1] == 0);
    const int code = vicinal_wait(&requests[at]);
    CHECK_EQUAL(code != MPI_SUCCESS, spoilt);
    for (int i = 0; !spoilt && i < 2 * places; i += 2) {
      const int from = ring.sources[static_cast<std::size_t>(i / places)];
      CHECK_EQUAL(receive[at][static_cast<std::size_t>(i)], Ring::value(from, i) + call * step);
    }
  }
}

TEST(a_type_may_be_freed_while_a_call_is_in_flight) {
  using Begin = std::function<int(Ring&, MPI_Datatype, vicinal_request*)>;
  const Begin alltoall = [](Ring& ring, MPI_Datatype type, vicinal_request* request) {
    return vicinal_ineighbor_alltoall(ring.send.data(), 1, type, ring.receive.data(), 1, type,
                                      ring.graph, request);
  };
  const Begin alltoallv = [](Ring& ring, MPI_Datatype type, vicinal_request* request) {
    return vicinal_ineighbor_alltoallv(ring.send.data(), ones, in_types, type, ring.receive.data(),
                                       ones, in_types, type, ring.graph, request);
  };
  for (const char* strategy : {"direct", "aggregate"}) {
    for (const Begin& begin : {alltoall, alltoallv}) {
      Ring ring(strategy);
      for (int round = 0; round < 10; ++round) {
        std::fill(ring.receive.begin(), ring.receive.end(), -1);
        MPI_Datatype type = strided();
        vicinal_request request = VICINAL_REQUEST_NULL;
        SUCCEEDS(begin(ring, type, &request));
        const Freed freed(type);
        SUCCEEDS(vicinal_wait(&request));
        ring.verify();
      }
    }
  }
}

namespace {

MPI_Datatype seen_by_operator = MPI_DATATYPE_NULL;

void add_pairs(void* in, void* inout, int* count, MPI_Datatype* type) {
  seen_by_operator = *type;
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const auto* from = static_cast<const std::int64_t*>(in);
  auto* to = static_cast<std::int64_t*>(inout);
  for (int i = 0; i < *count * bytes / 8; ++i) to[i] += from[i];
}

}  // namespace

TEST(a_type_may_be_freed_while_an_operator_is_to_use_it) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const std::int64_t needed[] = {around(rank + 1, size), around(rank - 1, size)};
  HaloHandle halo;
  SUCCEEDS(vicinal_halo_create(comm, rank, rank + 1, 2, needed, MPI_INFO_NULL, &halo));
  MPI_Op sum = MPI_OP_NULL;
  MPI_Op_create(add_pairs, 1, &sum);
  for (int round = 0; round < 5; ++round) {
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT64_T, &pair);
    MPI_Type_commit(&pair);
    const MPI_Datatype given = pair;
    std::vector<std::int64_t> owned{1, 2}, ghosts{10, 20, 30, 40};
    vicinal_request request = VICINAL_REQUEST_NULL;
    seen_by_operator = MPI_DATATYPE_NULL;
    SUCCEEDS(vicinal_halo_reverse_start(halo, owned.data(), ghosts.data(), 1, pair, sum, &request));
    {
      const Freed freed(pair);
      SUCCEEDS(vicinal_wait(&request));
    }
    CHECK(seen_by_operator == given);
    CHECK(owned == (std::vector<std::int64_t>{41, 62}));
  }
  MPI_Op_free(&sum);
}

}  // namespace vicinal::freed_types_tests

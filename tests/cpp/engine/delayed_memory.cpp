// Users' buffers that MPI cannot touch, through the C interface: what works, and what is refused.
#include <mpi.h>

#include <numeric>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "world.hpp"

namespace vicinal {
namespace {

using namespace testing;

constexpr std::int64_t untouched = -77;

std::vector<std::int64_t> numbers(int count, std::int64_t first) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

std::vector<std::int64_t> repeated(int count, std::int64_t value) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), value);
}

/// Each rank owns three indices and needs those of the next two ranks, in another order.
struct Mesh {
  int rank = world_rank();
  int size = world_size();
  std::vector<std::int64_t> needed;
  HaloHandle halo;

  Mesh(MPI_Comm comm, const char* strategy) {
    for (const int ahead : {2, 1}) {
      for (const int i : {2, 0, 1}) needed.push_back((rank + ahead) % size * 3 + i);
    }
    const Hints hints{{"vicinal_strategy", strategy}, {"vicinal_regions", few_regions(size)}};
    SUCCEEDS(vicinal_halo_create(comm, rank * 3, rank * 3 + 3,
                                 static_cast<std::int64_t>(needed.size()), needed.data(), hints,
                                 &halo));
  }
  [[nodiscard]] int ghosts() const { return static_cast<int>(needed.size()); }
};

/// The operator of a user.
void add_modulo_seven(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const std::int64_t*>(in);
  auto* to = static_cast<std::int64_t*>(inout);
  for (int i = 0; i < *count; ++i) to[i] = (to[i] + from[i]) % 7;
}

}  // namespace

TEST(halos_of_delayed_memory) {
  const Duplicate comm;
  MPI_Op modulo_seven = MPI_OP_NULL;
  MPI_Op_create(add_modulo_seven, 1, &modulo_seven);
  for (const char* strategy : {"direct", "aggregate", "split"}) {
    const Mesh mesh(comm, strategy);
    for (int round = 0; round < 4; ++round) {
      const int owned_count = 3, ghosts = mesh.ghosts();
      const DelayedArray owned(numbers(owned_count, mesh.rank * 3 + 1000 * round));
      const DelayedArray into(repeated(ghosts, untouched));
      SUCCEEDS(vicinal_halo_exchange(mesh.halo, owned.data(), into.data(), 1, MPI_INT64_T));
      std::vector<std::int64_t> expected;
      for (const std::int64_t index : mesh.needed) expected.push_back(index + 1000 * round);
      CHECK(into.values() == expected);

      // Each index is a ghost of two ranks, which give its number.
      std::vector<std::int64_t> given;
      for (const std::int64_t index : mesh.needed) given.push_back(index + round);
      const DelayedArray ghost_side(given);
      for (const bool users : {false, true}) {
        const DelayedArray sums(repeated(owned_count, 5));
        SUCCEEDS(vicinal_halo_reverse(mesh.halo, sums.data(), ghost_side.data(), 1, MPI_INT64_T,
                                      users ? modulo_seven : MPI_SUM));
        std::vector<std::int64_t> added;
        for (int i = 0; i < owned_count; ++i) {
          const std::int64_t sum = 5 + 2 * (mesh.rank * 3 + i + round);
          added.push_back(users ? sum % 7 : sum);
        }
        CHECK(sums.values() == added);
      }
    }
  }
  MPI_Op_free(&modulo_seven);
}

TEST(calls_on_delayed_memory) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  const GraphHandle graph = graph_of(comm, {last}, {next}, few_regions(size));
  for (int round = 0; round < 3; ++round) {
    const DelayedArray send(numbers(4, rank * 100 + round));
    const DelayedArray receive(repeated(4, untouched));
    SUCCEEDS(vicinal_neighbor_alltoall(send.data(), 4, MPI_INT64_T, receive.data(), 4, MPI_INT64_T,
                                       graph));
    CHECK(receive.values() == numbers(4, last * 100 + round));
  }
  RequestHandle request;
  const DelayedArray send(numbers(4, rank)), receive(repeated(4, untouched));
  SUCCEEDS(vicinal_neighbor_allgather_init(send.data(), 4, MPI_INT64_T, receive.data(), 4,
                                           MPI_INT64_T, graph, MPI_INFO_NULL, &request));
  for (int round = 0; round < 3; ++round) {
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    CHECK(receive.values() == numbers(4, last));
  }
}

TEST(what_cannot_be_done_with_delayed_memory_is_refused) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const GraphHandle graph =
      graph_of(comm, {(rank + size - 1) % size}, {(rank + 1) % size}, few_regions(size));
  const DelayedArray send(numbers(8, rank)), receive(repeated(8, untouched));
  const int count = 4, displacement = 0;
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION,
        vicinal_neighbor_alltoallv(send.data(), &count, &displacement, MPI_INT64_T, receive.data(),
                                   &count, &displacement, MPI_INT64_T, graph),
        "delayed memory");
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT64_T, &gaps);
  MPI_Type_commit(&gaps);
  RequestHandle request;
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION,
        vicinal_neighbor_alltoall_init(send.data(), 1, gaps, receive.data(), 1, gaps, graph,
                                       MPI_INFO_NULL, &request),
        "delayed memory");
  MPI_Type_free(&gaps);
}

}  // namespace vicinal

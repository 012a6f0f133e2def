// Sparse exchanges of data in GPU memory, with the driver double.
#include <string>
#include <vector>

#include "unreachable_exchanges.hpp"

namespace vicinal::device_sparse_tests {
namespace {

using namespace testing;

using ReceivedHandle = Owned<vicinal_received, vicinal_received_free>;

/// Each rank sends two messages to the next rank, one of them empty, and one to the rank after
/// that.
struct Messages {
  int rank = world_rank();
  int size = world_size();
  std::vector<int> to{around(rank + 1, size), around(rank + 1, size), around(rank + 2, size)};
  std::vector<int> counts{3, 0, 2};
  std::vector<int> places{4, 9, 0};

  [[nodiscard]] std::vector<std::int64_t> values(int of) const {
    return numbers(7, std::int64_t{of} * 100);
  }
  /// Data that this rank receives, by sender and in sending order.
  [[nodiscard]] std::vector<std::int64_t> expected() const {
    std::vector<std::int64_t> all;
    for (int from = 0; from < size; ++from) {
      if (around(from + 1, size) == rank) append(all, numbers(3, std::int64_t{from} * 100 + 4));
      if (around(from + 2, size) == rank) append(all, numbers(2, std::int64_t{from} * 100));
    }
    return all;
  }
  static void append(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }
};

std::vector<std::int64_t> data_of(vicinal_received received) {
  int messages = 0;
  const std::int64_t* places = nullptr;
  const void* data = nullptr;
  SUCCEEDS(vicinal_received_get(received, &messages, nullptr, nullptr, &places, &data));
  const auto* const first = static_cast<const std::int64_t*>(data);
  return {first, first + places[messages]};
}

int exchange(const Messages& it, const std::int64_t* from, MPI_Comm comm,
             vicinal_received* received) {
  return vicinal_sparse_alltoallv(from, 3, it.to.data(), it.counts.data(), it.places.data(),
                                  MPI_INT64_T, MPI_INT64_T, comm, MPI_INFO_NULL, received);
}

/// Makes driver call number `ahead` fail on rank 0, and returns whether rank 0 reached it.
bool exchange_with_a_failure(const DriverDouble& gpu, long ahead) {
  const long held = gpu.held();
  bool came_to_it = false;
  {
    const Duplicate comm;
    const Messages it;
    const DeviceArray send(gpu.memory(), it.values(it.rank)), to(gpu.memory(), repeated(5, 0));
    const long at = gpu.get("calls") + ahead;
    if (it.rank == 0) gpu.set("fail_at", at);
    ReceivedHandle received;
    const int error = exchange(it, send.data(), comm, &received);
    int copied = MPI_SUCCESS;
    if (error == MPI_SUCCESS) {
      copied = vicinal_received_copy(received, to.data(), 5, MPI_INT64_T);
    }
    const std::string said = vicinal_error_message();
    gpu.set("fail_at", 0);
    came_to_it = it.rank == 0 && gpu.get("calls") >= at;
    if (error != MPI_SUCCESS || copied != MPI_SUCCESS) {
      CHECK(said.find(" has failed with ") != std::string::npos);
    } else {
      CHECK(to.values() == it.expected());
    }
    int all = 0;
    const int mine = error == MPI_SUCCESS ? 0 : 1;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 0 || all == it.size);
    ReceivedHandle again;
    SUCCEEDS(exchange(it, send.data(), comm, &again));
    CHECK(data_of(again) == it.expected());
  }
  settle(gpu, held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
  MPI_Bcast(&came_to_it, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
  return came_to_it;
}

}  // namespace

TEST(sparse_exchanges_of_device_memory) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    {
      const Duplicate comm;
      const Messages it;
      for (int round = 0; round < 4; ++round) {
        const DeviceArray send(gpu.memory(), it.values(it.rank)),
            to(gpu.memory(), repeated(6, untouched));
        ReceivedHandle received;
        SUCCEEDS(exchange(it, send.data(), comm, &received));
        CHECK(data_of(received) == it.expected());
        SUCCEEDS(vicinal_received_copy(received, to.data(), 6, MPI_INT64_T));
        auto expected = it.expected();
        expected.push_back(untouched);
        CHECK(to.values() == expected);
      }
    }
    settle(gpu, held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(sparse_blocks_of_device_memory) {
  const DriverDouble gpu;
  const Duplicate comm;
  const Messages it;
  const DeviceArray send(gpu.memory(), it.values(it.rank));
  ReceivedHandle received;
  SUCCEEDS(vicinal_sparse_alltoall(send.data(), 3, it.to.data(), 2, MPI_INT64_T, MPI_INT64_T, comm,
                                   MPI_INFO_NULL, &received));
  std::vector<std::int64_t> expected;
  for (int from = 0; from < it.size; ++from) {
    const std::int64_t first = from * 100;
    if (around(from + 1, it.size) == it.rank) Messages::append(expected, numbers(4, first));
    if (around(from + 2, it.size) == it.rank) Messages::append(expected, numbers(2, first + 4));
  }
  CHECK(data_of(received) == expected);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(sparse_queries_and_answers_of_device_memory) {
  const DriverDouble gpu;
  const Duplicate comm;
  const int rank = world_rank(), next = around(rank + 1, world_size()), one = 1, zero = 0;
  const DeviceArray question(gpu.memory(), {rank}), reply(gpu.memory(), {rank * 1000});
  ReceivedHandle requests, replies;
  SUCCEEDS(vicinal_sparse_query(question.data(), 1, &next, &one, &zero, MPI_INT64_T, MPI_INT64_T,
                                comm, MPI_INFO_NULL, &requests));
  CHECK(data_of(requests) == std::vector<std::int64_t>{around(rank - 1, world_size())});
  SUCCEEDS(vicinal_sparse_answer(requests, reply.data(), &one, &zero, MPI_INT64_T, MPI_INT64_T,
                                 &replies));
  CHECK(data_of(replies) == std::vector<std::int64_t>{next * 1000});
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(sparse_exchanges_with_gaps_in_device_memory_are_refused_to_all) {
  const DriverDouble gpu;
  const Duplicate comm;
  const Messages it;
  const DeviceArray send(gpu.memory(), it.values(it.rank));
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT64_T, 0, 16, &gaps);
  MPI_Type_commit(&gaps);
  ReceivedHandle received;
  const int next = around(it.rank + 1, it.size), one = 1, zero = 0;
  FAILS(it.rank == 0 ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_ERR_OTHER,
        vicinal_sparse_alltoallv(send.data(), 1, &next, &one, &zero,
                                 it.rank == 0 ? gaps : MPI_INT64_T, MPI_INT64_T, comm,
                                 MPI_INFO_NULL, &received),
        "datatype with gaps");
  SUCCEEDS(exchange(it, send.data(), comm, &received));
  CHECK(data_of(received) == it.expected());
  MPI_Type_free(&gaps);
}

TEST(a_driver_that_fails_at_any_call_of_a_sparse_exchange_is_told_to_all) {
  const DriverDouble gpu;
  long ahead = 1;
  while (exchange_with_a_failure(gpu, ahead)) ++ahead;
  CHECK(ahead > 10);
}

}  // namespace vicinal::device_sparse_tests

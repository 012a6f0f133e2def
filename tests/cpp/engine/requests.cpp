// Persistent requests, started and tested in ranges.
#include "mpi/requests.hpp"

#include <algorithm>
#include <vector>

#include "check.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::mpi::requests_tests {
namespace {

TEST(requests_exchange_with_neighbours_again_and_again) {
  const auto communicator = Communicator::of(MPI_COMM_WORLD);
  const int size = communicator->size();
  const int rank = communicator->rank();
  const std::int64_t tag = communicator->acquire_tag();
  constexpr std::size_t pairs = 3;
  // Ranks may have acquired different numbers of tags, so they agree on one first.
  std::int64_t agreed = tag;
  MPI_Allreduce(MPI_IN_PLACE, &agreed, 1, MPI_INT64_T, MPI_MAX, communicator->handle());
  std::vector<std::int64_t> out(pairs * 10);
  std::vector<std::int64_t> in(pairs * 10);
  RequestSet set(communicator->handle(), 2 * pairs);
  CHECK_EQUAL(set.size(), 2 * pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const int step = static_cast<int>(i) + 1;
    const int mpi_tag = Communicator::data_tag(agreed, static_cast<int>(i), false);
    set.receive_init(i, &in[i * 10], 80, (rank + step * size - step) % size, mpi_tag);
    set.send_init(pairs + i, &out[i * 10], 80, (rank + step) % size, mpi_tag);
  }
  RequestSet moved = std::move(set);
  for (int round = 0; round < 50; ++round) {
    std::fill(out.begin(), out.end(), rank * 1000 + round);
    std::fill(in.begin(), in.end(), -1);
    int which[pairs];
    CHECK_EQUAL(moved.test_some(0, pairs, which), 0);
    CHECK(moved.test_all(0, pairs));
    moved.start_range(0, pairs);
    for (std::size_t i = 0; i < pairs; ++i) moved.start(pairs + i);
    int completed = 0;
    std::vector<bool> seen(pairs);
    poll_until([&] {
      const int some = moved.test_some(0, pairs, which);
      for (int i = 0; i < some; ++i) {
        CHECK(!seen[static_cast<std::size_t>(which[i])]);
        seen[static_cast<std::size_t>(which[i])] = true;
      }
      completed += some;
      return completed == static_cast<int>(pairs);
    });
    poll_until([&] { return moved.test_all(pairs, pairs) && moved.test(pairs); });
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int step = static_cast<int>(i / 10) + 1;
      CHECK_EQUAL(in[i], ((rank + step * size - step) % size) * 1000 + round);
    }
  }
  communicator->release_tag(tag);
}

TEST(requests_of_nothing) {
  const auto communicator = Communicator::of(MPI_COMM_WORLD);
  RequestSet none(communicator->handle(), 0);
  none.start_range(0, 0);
  CHECK(none.test_all(0, 0));
  CHECK_EQUAL(none.test_some(0, 0, nullptr), 0);
  const RequestSet unused(communicator->handle(), 4);
  CHECK_EQUAL(unused.size(), std::size_t{4});
}

}  // namespace
}  // namespace vicinal::mpi::requests_tests

// The user's own messages on the same communicator. Users may use any tag, and a wildcard receive
// never matches a message of the library.
#include <array>
#include <deque>

#include "world.hpp"

namespace vicinal::user_messages_tests {
namespace {

using namespace testing;

int largest_tag() {
  int* largest = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  return found != 0 ? *largest : 32767;
}

using Parcel = std::array<int, 3>;  ///< sender, tag, number

}  // namespace

TEST(user_messages_of_any_tag_never_meet_ours) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size(), top = largest_tag();
  const std::vector<int> tags{0, 1, 2, 3, 4, 16, 17, 18, 24, 32, 33, 48, 1000, top - 1, top};
  const int next = around(rank + 1, size);

  // Wildcard receives are pending before the graph is created.
  std::vector<Parcel> received(tags.size());
  std::vector<MPI_Request> receives(tags.size());
  for (std::size_t i = 0; i < tags.size(); ++i) {
    MPI_Irecv(received[i].data(), 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receives[i]);
  }
  const Shifts shifts(comm, {1, 2, -3}, few_regions(size));
  std::deque<Exchange> exchanges;
  exchanges.emplace_back(shifts, "aggregate");
  exchanges.emplace_back(shifts, "direct");

  std::vector<Parcel> sent(tags.size());
  std::vector<MPI_Request> sends(tags.size());
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const int round = static_cast<int>(i);
    for (Exchange& exchange : exchanges) exchange.start(round);
    sent[i] = {rank, tags[i], round};
    MPI_Isend(sent[i].data(), 3, MPI_INT, next, tags[i], comm, &sends[i]);
    for (Exchange& exchange : exchanges) exchange.wait();
  }
  std::vector<MPI_Status> statuses(tags.size());
  MPI_Waitall(static_cast<int>(tags.size()), receives.data(), statuses.data());
  MPI_Waitall(static_cast<int>(tags.size()), sends.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    CHECK_EQUAL(received[i][0], around(rank - 1, size));
    CHECK_EQUAL(received[i][1], tags[i]);
    CHECK_EQUAL(received[i][2], static_cast<int>(i));
    CHECK_EQUAL(statuses[i].MPI_TAG, tags[i]);
  }
  int pending = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &pending, MPI_STATUS_IGNORE);
  CHECK_EQUAL(pending, 0);
}

}  // namespace vicinal::user_messages_tests

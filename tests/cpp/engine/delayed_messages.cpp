// Control messages of one sender whose receives complete in another order than sent. MPI may do
// that, but rarely does. So this test forces the order through MPI's profiling interface: it
// reports receives of long control messages as incomplete for a while.
#include <mpi.h>

#include <map>
#include <mutex>
#include <vector>

#include "check.hpp"
#include "collectives/graph_tags.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "mpi/mailbox.hpp"
#include "world.hpp"

namespace {

/// Delayed receives, each with the number of tests that still report it as incomplete.
struct Delay {
  std::mutex mutex;
  bool on = false;
  std::map<MPI_Request, int> held;
};

Delay delay;
constexpr int long_message = 100;
constexpr int looks = 50;

}  // namespace

extern "C" {

int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  const int code = PMPI_Imrecv(buffer, count, type, message, request);
  const std::lock_guard lock(delay.mutex);
  if (delay.on && count > long_message) delay.held[*request] = looks;
  return code;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  {
    const std::lock_guard lock(delay.mutex);
    const auto found = delay.held.find(*request);
    if (found != delay.held.end()) {
      if (--found->second > 0) {
        *flag = 0;
        return MPI_SUCCESS;
      }
      delay.held.erase(found);
    }
  }
  return PMPI_Test(request, flag, status);
}

}  // extern "C"

namespace vicinal::delayed_messages_tests {

using namespace testing;

TEST(mailbox_messages_keep_their_order_when_long_ones_take_long) {
  const auto communicator = mpi::Communicator::of(MPI_COMM_WORLD);
  mpi::Mailbox& mailbox = communicator->mailbox();
  const mpi::ConversationKey key{next_graph_number(*communicator), 0};
  {
    const std::lock_guard lock(delay.mutex);
    delay.on = true;
  }
  const std::vector<std::size_t> lengths{500, 1, 400, 2, 3};
  for (const std::size_t length : lengths) {
    for (int peer = 0; peer < communicator->size(); ++peer) {
      mailbox.post(key, 1, {peer, Words(length, communicator->rank())});
    }
  }
  const auto expected = lengths.size() * static_cast<std::size_t>(communicator->size());
  mpi::poll_until([&] {
    mailbox.collect();
    return mailbox.count(key, 1) >= expected && mailbox.unsent() == 0;
  });
  {
    const std::lock_guard lock(delay.mutex);
    delay.on = false;
  }
  const std::vector<ControlMessage> control_messages = mailbox.take(key, 1);
  CHECK_EQUAL(control_messages.size(), expected);
  for (std::size_t i = 0; i < control_messages.size(); ++i) {
    CHECK_EQUAL(control_messages[i].peer, static_cast<int>(i / lengths.size()));
    CHECK_EQUAL(control_messages[i].words.size(), lengths[i % lengths.size()]);
  }
}

}  // namespace vicinal::delayed_messages_tests

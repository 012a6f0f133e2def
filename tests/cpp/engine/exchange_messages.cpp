// Compares the number of messages that exchanges post with cost/exchange_method.hpp. This program
// replaces MPI_Isend and others through MPI's profiling interface.
#include "cost/exchange_method.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "sparse_messages.hpp"
#include "world.hpp"

namespace {

struct Posted {
  int peer;
  int tag;
  std::int64_t bytes;
  bool synchronous;  ///< completes only once the receiver has matched it
};

/// Records messages and reductions that this process has posted since begin().
class Watch {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    watching_ = true;
    posted_.clear();
    reductions_ = 0;
  }
  std::vector<Posted> end() {
    const std::lock_guard lock(mutex_);
    watching_ = false;
    return posted_;
  }
  [[nodiscard]] int reductions() const { return reductions_; }

  void saw_message(int count, MPI_Datatype type, int peer, int tag, bool synchronous) {
    const std::lock_guard lock(mutex_);
    if (!watching_) return;
    int size = 0;
    MPI_Type_size(type, &size);
    posted_.push_back({peer, tag, std::int64_t{count} * size, synchronous});
  }
  void saw_reduction() {
    const std::lock_guard lock(mutex_);
    if (watching_) ++reductions_;
  }

 private:
  std::mutex mutex_;
  bool watching_ = false;
  std::vector<Posted> posted_;
  int reductions_ = 0;
};

Watch watch;

}  // namespace

extern "C" {

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  watch.saw_message(count, type, peer, tag, false);
  return PMPI_Isend(buffer, count, type, peer, tag, comm, request);
}

int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request* request) {
  watch.saw_message(count, type, peer, tag, true);
  return PMPI_Issend(buffer, count, type, peer, tag, comm, request);
}

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  watch.saw_reduction();
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

}  // extern "C"

namespace vicinal::exchange_messages_tests {
namespace {

using namespace testing;

/// Returns whether a message between regions only reports that no data follow.
bool is_empty(Method method, const Posted& message) {
  return method == Method::locality_personalized &&
         message.bytes == static_cast<std::int64_t>(sizeof(std::int64_t));
}

/// Returns messages between few ranks, so that some regions send nothing to some others.
std::vector<Bytes> sparsely(int from, int to, int round, std::size_t most) {
  if ((from + 3 * to + round) % 7 != 0) return {};
  return between(from, to, round, most);
}

void check_exchange(const ExchangeOptions& options, const std::string& regions, int round,
                    std::size_t most) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  const auto machine = communicator->machine(regions);
  const std::string where = text_of(options) + ", regions " + regions + ": ";

  std::vector<SentMessage> all;
  std::vector<Message> mine;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      for (Bytes& bytes : sparsely(from, to, round, most)) {
        all.push_back({from, to, static_cast<std::int64_t>(bytes.size())});
        if (from == rank) mine.push_back({to, std::move(bytes)});
      }
    }
  }
  watch.begin();
  exchange(*communicator, parcels_of(mine), options);
  std::int64_t payload = 0, protocol = 0;
  for (const Posted& message : watch.end()) {
    if (machine->same_region(rank, message.peer)) continue;
    const bool counts = message.tag == mpi::tag_counts || message.tag == mpi::tag_consensus;
    ++(counts || is_empty(options.method, message) ? protocol : payload);
  }

  const bool shared = options.shared_memory && communicator->arena() != nullptr;
  const ExchangeMessages expected = count_messages(options.method, *machine, all, shared);
  const auto place = static_cast<std::size_t>(rank);
  if (payload != expected.payload[place] || protocol != expected.protocol[place]) {
    fail_check(__FILE__, __LINE__, where, payload, " + ", protocol, " messages, not ",
               expected.payload[place], " + ", expected.protocol[place]);
  }
  if (machine->regions() == 1) return;
  const auto& inside = expected.inside_mpi;
  const bool reduces = std::accumulate(inside.begin(), inside.end(), std::int64_t{0}) > 0;
  if (watch.reductions() != (reduces ? 1 : 0)) {
    fail_check(__FILE__, __LINE__, where, watch.reductions(), " reductions of MPI's");
  }
}

}  // namespace

TEST(sparse_exchange_posts_as_many_messages_as_are_counted) {
  for (const std::string& regions : region_kinds(world_size())) {
    // For flat methods, too, the destinations' regions count.
    std::vector<ExchangeOptions> all(flat_methods.begin(), flat_methods.end());
    for (const Method method : locality_methods) {
      for (const bool shared : {true, false}) {
        ExchangeOptions& options = all.emplace_back(method);
        options.regions = regions;
        options.shared_memory = shared;
      }
    }
    for (const ExchangeOptions& options : all) {
      exchange(*world(), {}, options);  // set-up is not part of an exchange
      check_exchange(options, regions, 1, 100);
      check_exchange(options, regions, 2, 200'000);
    }
  }
}

/// Every message before a consensus must be synchronous. Otherwise the consensus could report
/// completion while a message is still in flight.
TEST(sparse_exchange_sends_what_a_consensus_waits_for_synchronously) {
  const auto communicator = world();
  const int rank = communicator->rank(), size = communicator->size();
  for (const std::string& regions : region_kinds(size)) {
    for (const Method method : {Method::nonblocking, Method::locality}) {
      ExchangeOptions options(method);
      options.regions = regions;
      const auto machine = communicator->machine(regions);
      std::vector<Message> mine;
      for (int to = 0; to < size; ++to) mine.push_back({to, Bytes(8)});
      watch.begin();
      exchange(*communicator, parcels_of(mine), options);
      for (const Posted& message : watch.end()) {
        const bool inside = machine->same_region(rank, message.peer);
        if (method == Method::locality && (inside || message.tag == mpi::tag_consensus)) continue;
        // sent by the first exchange with such regions
        if (message.tag == mpi::tag_allgather) continue;
        CHECK(message.synchronous);
      }
    }
  }
}

}  // namespace vicinal::exchange_messages_tests

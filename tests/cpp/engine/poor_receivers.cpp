// A rank that fails to allocate memory for received data. It fails alone, once no rank waits for
// it, and all other ranks get their data.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/setting.hpp"
#include "tight_address_space.hpp"
#include "world.hpp"

// The sanitizers allocate address space of their own at any time.
#if !defined(SANITIZED)
namespace vicinal::poor_receivers_tests {
namespace {

using namespace testing;

using ReceivedHandle = Owned<vicinal_received, vicinal_received_free>;

/// Zeros without memory behind them.
class Zeros {
 public:
  explicit Zeros(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) skip("needs address space");
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() { munmap(data_, bytes_); }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

constexpr int large = 1 << 27;  ///< malloc() keeps no free block of this size, nor of half of it
constexpr std::array methods{"personalized", "nonblocking", "locality", "locality-personalized"};

/// Each rank sends the next one a few bytes. Rank 0 may also send the last rank more than it can
/// allocate.
struct Sending {
  Duplicate comm;
  Zeros zeros{large};
  int rank = world_rank(), size = world_size();
  bool poor = rank == size - 1;
  std::array<int, 2> destinations{around(rank + 1, size), size - 1};
  std::array<int, 2> starts{0, 0};
  ReceivedHandle received, replies;

  [[nodiscard]] std::array<int, 2> counts(bool too_much) const {
    return {3, rank == 0 && too_much ? large : 0};
  }
  int send(MPI_Info info, bool too_much) {
    const auto its = counts(too_much);
    return vicinal_sparse_alltoallv(zeros.data(), 2, destinations.data(), its.data(), starts.data(),
                                    MPI_BYTE, MPI_BYTE, comm, info, &received);
  }
  int ask(MPI_Info info, bool too_much) {
    const auto its = counts(too_much);
    return vicinal_sparse_query(zeros.data(), 2, destinations.data(), its.data(), starts.data(),
                                MPI_BYTE, MPI_BYTE, comm, info, &received);
  }
  int answer() {
    int messages = 0;
    SUCCEEDS(vicinal_received_get(received, &messages, nullptr, nullptr, nullptr, nullptr));
    const std::vector<int> ones(static_cast<std::size_t>(messages), 1);
    const std::vector<int> places(static_cast<std::size_t>(messages), 0);
    return vicinal_sparse_answer(received, zeros.data(), ones.data(), places.data(), MPI_BYTE,
                                 MPI_BYTE, &replies);
  }
  void verify_received() const {
    const std::int64_t* places = nullptr;
    int messages = 0;
    SUCCEEDS(vicinal_received_get(received, &messages, nullptr, nullptr, &places, nullptr));
    CHECK_EQUAL(messages, poor ? 1 + size : 1);
    CHECK_EQUAL(places[messages], std::int64_t{3});
  }
};

/// The message concerns one received message, or all, if memory sufficed for that one.
constexpr const char* no_memory = "no memory for ";

/// Limits a poor rank's address space to grow by half of what it is sent.
std::unique_ptr<TightAddressSpace> poverty(bool poor) {
  return poor ? std::make_unique<TightAddressSpace>(large / 2) : nullptr;
}

}  // namespace

TEST(who_has_no_memory_for_a_message_fails_alone) {
  if (world_size() < 2) skip("needs 2 ranks");
  for (const char* method : methods) {
    Sending at;
    const Hints hints{{"vicinal_exchange", method}, {"vicinal_regions", few_regions(at.size)}};
    SUCCEEDS(at.send(hints, false));
    at.received.free();
    {
      const auto tight = poverty(at.poor);
      const int code = at.send(hints, true);
      if (at.poor) {
        FAILS(MPI_ERR_NO_MEM, code, no_memory);
      } else {
        SUCCEEDS(code);
        at.verify_received();
      }
    }
    at.received.free();
    SUCCEEDS(at.send(hints, false));
    at.verify_received();
  }
}

TEST(who_has_no_memory_for_a_request_refuses_to_answer_it) {
  if (world_size() < 2) skip("needs 2 ranks");
  for (const char* method : methods) {
    Sending at;
    const Hints hints{{"vicinal_exchange", method}, {"vicinal_regions", few_regions(at.size)}};
    const bool all_meet = std::string(method).starts_with("locality");
    {
      const auto tight = poverty(at.poor);
      const int code = at.ask(hints, true);
      if (at.poor) {
        FAILS(MPI_ERR_NO_MEM, code, no_memory);
      } else {
        // Every rank has sent the last rank a request.
        SUCCEEDS(code);
        FAILS(MPI_ERR_OTHER, at.answer(), all_meet ? "reports a fault" : "could not answer");
      }
    }
    at.received.free();
    at.replies.free();
    SUCCEEDS(at.ask(hints, false));
    SUCCEEDS(at.answer());
  }
}

TEST(who_has_no_memory_for_a_reply_fails_alone) {
  if (world_size() < 2) skip("needs 2 ranks");
  for (const char* method : methods) {
    Sending at;
    const Hints hints{{"vicinal_exchange", method}, {"vicinal_regions", few_regions(at.size)}};
    // The next rank after the last one is rank 0.
    const int one = at.poor ? 1 : 0, none = 0;
    SUCCEEDS(vicinal_sparse_query(at.zeros.data(), one, at.destinations.data(), &one, &none,
                                  MPI_BYTE, MPI_BYTE, at.comm, hints, &at.received));
    {
      const auto tight = poverty(at.poor);
      const int code = vicinal_sparse_answer(at.received, at.zeros.data(), &large, &none, MPI_BYTE,
                                             MPI_BYTE, &at.replies);
      if (at.poor) {
        FAILS(MPI_ERR_NO_MEM, code, "memory");
      } else {
        SUCCEEDS(code);
      }
    }
    at.received.free();
    at.replies.free();
    SUCCEEDS(at.ask(hints, false));
    SUCCEEDS(at.answer());
  }
}

TEST(who_has_no_memory_for_its_edges_has_all_go_without_the_graph) {
  need_tight_heap();
  if (world_size() < 2) skip("needs 2 ranks");
  const Duplicate comm;
  const int rank = world_rank(), poor = world_size() - 1;
  const std::vector<int> destinations(2 << 20, poor);
  const auto create = [&](int degree, vicinal_graph* graph) {
    return vicinal_graph_create_from_destinations(comm, rank == 0 ? degree : 0, destinations.data(),
                                                  MPI_INFO_NULL, graph);
  };
  GraphHandle small, graph;
  SUCCEEDS(create(1, &small));
  {
    const auto tight = rank == poor ? std::make_unique<TightAddressSpace>(16 << 20) : nullptr;
    const int code = create(2 << 20, &graph);
    FAILS(rank == poor ? MPI_ERR_NO_MEM : MPI_ERR_OTHER, code,
          rank == poor ? "no memory for" : "rank " + std::to_string(poor) + " reports a fault");
  }
  SUCCEEDS(create(2, &graph));
}

TEST(who_has_no_memory_for_what_others_need_has_all_go_without_the_halo) {
  need_tight_heap();
  if (world_size() < 2) skip("needs 2 ranks");
  const Duplicate comm;
  const int rank = world_rank(), poor = world_size() - 1;
  constexpr std::int64_t many = 3 << 20;
  const std::int64_t first = rank == 0 ? 0 : rank + 1;
  const std::int64_t last = rank == poor ? rank + 2 * many : rank + 2;
  std::vector<std::int64_t> needed;
  for (std::int64_t i = 0; rank == 0 && i < many; ++i) needed.push_back(poor + 1 + 2 * i);
  const auto create = [&](std::int64_t count, vicinal_halo* halo) {
    return vicinal_halo_create(comm, first, last, rank == 0 ? count : 0, needed.data(),
                               MPI_INFO_NULL, halo);
  };
  HaloHandle small, halo;
  SUCCEEDS(create(1, &small));
  {
    const auto tight = rank == poor ? std::make_unique<TightAddressSpace>(16 << 20) : nullptr;
    const int code = create(many, &halo);
    FAILS(rank == poor ? MPI_ERR_NO_MEM : MPI_ERR_OTHER, code,
          rank == poor ? "no memory for" : "rank " + std::to_string(poor));
  }
  SUCCEEDS(create(2, &halo));
}

/// The last rank has to store the owner of part of rank 0's indices.
TEST(who_has_no_memory_to_keep_owners_has_all_go_without_the_halo) {
  need_tight_heap();
  if (world_size() < 2 || world_size() > 8) skip("needs 2 to 8 ranks, since one owns all");
  const Duplicate comm;
  const int rank = world_rank(), poor = world_size() - 1;
  std::vector<std::int64_t> owned;
  const std::int64_t all = std::int64_t{3 << 20} * world_size();
  for (std::int64_t i = 0; rank == 0 && i < all; ++i) owned.push_back(2 * i);
  const auto create = [&](std::size_t count, vicinal_halo* halo) {
    return vicinal_halo_create_indexed(comm,
                                       static_cast<std::int64_t>(std::min(count, owned.size())),
                                       owned.data(), 0, nullptr, MPI_INFO_NULL, halo);
  };
  HaloHandle small, halo;
  SUCCEEDS(create(1, &small));
  {
    const auto tight = rank == poor ? std::make_unique<TightAddressSpace>(12 << 20) : nullptr;
    const int code = create(owned.size(), &halo);
    FAILS(rank == poor ? MPI_ERR_NO_MEM : MPI_ERR_OTHER, code,
          rank == poor ? "memory" : "rank " + std::to_string(poor));
  }
  SUCCEEDS(create(2, &halo));
}

}  // namespace vicinal::poor_receivers_tests
#endif

// Calls with counts on a ring of ranks. Each call has its own buffers, which end at a guard page.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "world.hpp"

namespace vicinal::counted {

using namespace testing;

/// A buffer of `bytes` that ends at a guard page, so that an access beyond its end crashes.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + page - 1) / page * page;
    length_ = used + page;
    void* const mapped =
        mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    pages_ = static_cast<std::byte*>(mapped);
    CHECK_EQUAL(mprotect(pages_ + used, page, PROT_NONE), 0);
    data_ = pages_ + used - bytes;
  }
  Guarded(Guarded&& other) noexcept
      : pages_(std::exchange(other.pages_, nullptr)), length_(other.length_), data_(other.data_) {}
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (pages_ != nullptr) munmap(pages_, length_);
  }
  [[nodiscard]] std::int64_t* values() const { return reinterpret_cast<std::int64_t*>(data_); }

 private:
  std::byte* pages_ = nullptr;
  std::size_t length_ = 0;
  std::byte* data_ = nullptr;
};

/// Number of values that the `parallel`-th edge between two ranks carries in a call.
using Sizes = std::function<int(int number, int from, int to, int parallel)>;

/// A ring of ranks with its graph. Each rank sends to the next rank by two edges, and to the rank
/// after that by one.
struct Circle {
  int rank = world_rank();
  int size = world_size();
  Duplicate comm;
  std::vector<int> destinations{around(rank + 1, size), around(rank + 1, size),
                                around(rank + 2, size)};
  std::vector<int> sources{around(rank - 1, size), around(rank - 1, size), around(rank - 2, size)};
  GraphHandle graph;

  explicit Circle(const char* strategy = "aggregate", const char* local = "shared",
                  const char* in_flight = "4") {
    SUCCEEDS(create_graph(comm, sources, destinations,
                          Hints{{"vicinal_strategy", strategy},
                                {"vicinal_local", local},
                                {"vicinal_in_flight", in_flight},
                                {"vicinal_regions", few_regions(size)}},
                          &graph));
  }
  /// Returns the index of an edge among the edges with the same peer.
  [[nodiscard]] static int parallel(const std::vector<int>& peers, std::size_t edge) {
    return static_cast<int>(
        std::count(peers.begin(), peers.begin() + static_cast<long>(edge), peers[edge]));
  }
  [[nodiscard]] bool hears(int other) const {
    return std::find(sources.begin(), sources.end(), other) != sources.end();
  }
};

inline std::int64_t value(int number, int from, int to, int parallel, int i) {
  return (((std::int64_t{number} * 64 + from) * 64 + to) * 4 + parallel) * 4096 + i;
}

enum class Form { alltoallv, alltoallw, allgatherv };
inline constexpr Form forms[] = {Form::alltoallv, Form::alltoallw, Form::allgatherv};

/// One call with its own buffers, which end at a guard page.
struct Call {
  const Circle& circle;
  Form form;
  int number;
  std::vector<int> send_counts, send_places, receive_counts, receive_places;
  std::vector<MPI_Aint> send_offsets, receive_offsets;
  std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(3, MPI_INT64_T);
  std::optional<Guarded> sent, received;
  int sent_in_all = 0, received_in_all = 0;
  std::optional<DeviceArray> sent_there, received_there;
  RequestHandle request;

  Call(const Circle& where, Form what, int call, const Sizes& sizes)
      : circle(where), form(what), number(call) {
    int out = 0, in = 0;
    for (std::size_t e = 0; e < 3; ++e) {
      const int to = circle.destinations[e], from = circle.sources[e];
      send_counts.push_back(
          size_of(sizes, circle.rank, to, Circle::parallel(circle.destinations, e)));
      send_places.push_back(out);
      receive_counts.push_back(
          size_of(sizes, from, circle.rank, Circle::parallel(circle.sources, e)));
      receive_places.push_back(in);
      send_offsets.push_back(out * 8);
      receive_offsets.push_back(in * 8);
      out += send_counts.back();
      in += receive_counts.back();
    }
    sent_in_all = out;
    received_in_all = in;
    sent.emplace(static_cast<std::size_t>(out) * 8);
    received.emplace(static_cast<std::size_t>(in) * 8);
    for (std::size_t e = 0; e < 3; ++e) {
      for (int i = 0; i < send_counts[e]; ++i) {
        sent->values()[send_places[e] + i] =
            gathers() ? value(number, circle.rank, 0, 0, i)
                      : value(number, circle.rank, circle.destinations[e],
                              Circle::parallel(circle.destinations, e), i);
      }
    }
    std::fill_n(received->values(), in, -1);
  }
  /// Moves a side into memory of another kind; null leaves it where it is.
  void move_to(MemoryKind* sends, MemoryKind* receives) {
    const auto all = [](const Guarded& of, int count) {
      std::vector<std::int64_t> values(of.values(), of.values() + count);
      values.push_back(-1);  // no array is empty
      return values;
    };
    if (sends != nullptr) sent_there.emplace(*sends, all(*sent, sent_in_all));
    if (receives != nullptr) received_there.emplace(*receives, all(*received, received_in_all));
  }
  [[nodiscard]] const std::int64_t* source() const {
    return sent_there ? sent_there->data() : sent->values();
  }
  [[nodiscard]] std::int64_t* target() const {
    return received_there ? received_there->data() : received->values();
  }
  [[nodiscard]] bool gathers() const { return form == Form::allgatherv; }
  /// Returns an edge's size; in an allgatherv, all edges of a rank have one size.
  [[nodiscard]] int size_of(const Sizes& sizes, int from, int to, int parallel) const {
    return gathers() ? sizes(number, from, 0, 0) : sizes(number, from, to, parallel);
  }

  int begin(bool bad = false) {
    std::vector<int> counts = send_counts;
    if (bad) counts.front() = -3;
    vicinal_request* to = &request;
    switch (form) {
      case Form::alltoallv:
        return vicinal_ineighbor_alltoallv(source(), counts.data(), send_places.data(), MPI_INT64_T,
                                           target(), receive_counts.data(), receive_places.data(),
                                           MPI_INT64_T, circle.graph, to);
      case Form::alltoallw:
        return vicinal_ineighbor_alltoallw(source(), counts.data(), send_offsets.data(),
                                           types.data(), target(), receive_counts.data(),
                                           receive_offsets.data(), types.data(), circle.graph, to);
      case Form::allgatherv:
        return vicinal_ineighbor_allgatherv(source(), counts.front(), MPI_INT64_T, target(),
                                            receive_counts.data(), receive_places.data(),
                                            MPI_INT64_T, circle.graph, to);
    }
    return MPI_ERR_INTERN;
  }
  int run() {
    if (form != Form::alltoallv) {
      const int code = begin();
      return code != MPI_SUCCESS ? code : vicinal_wait(&request);
    }
    return vicinal_neighbor_alltoallv(source(), send_counts.data(), send_places.data(), MPI_INT64_T,
                                      target(), receive_counts.data(), receive_places.data(),
                                      MPI_INT64_T, circle.graph);
  }
  void verify() const {
    if (received_there) {
      const std::vector<std::int64_t> came = received_there->values();
      CHECK_EQUAL(came.back(), -1);
      std::copy_n(came.begin(), received_in_all, received->values());
    }
    for (std::size_t e = 0; e < 3; ++e) {
      for (int i = 0; i < receive_counts[e]; ++i) {
        const int from = circle.sources[e], parallel = Circle::parallel(circle.sources, e);
        const std::int64_t expected = gathers() ? value(number, from, 0, 0, i)
                                                : value(number, from, circle.rank, parallel, i);
        const std::int64_t found = received->values()[receive_places[e] + i];
        if (found == expected) continue;
        fail_check(__FILE__, __LINE__, "call ", number, ", form ", static_cast<int>(form),
                   ": element ", i, " of edge ", e, " is ", found, ", not ", expected);
      }
    }
  }
  void wait() {
    SUCCEEDS(vicinal_wait(&request));
    verify();
  }
};

/// A size that all ranks compute alike, and that changes from call to call.
inline int random_size(int number, int from, int to, int parallel) {
  const unsigned mixed =
      static_cast<unsigned>(((number * 37 + from) * 41 + to) * 43 + parallel) * 2654435761U;
  return static_cast<int>((mixed >> 16U) % 40U);
}
inline int constant_size(int, int from, int to, int parallel) {
  return 3 + (from + 2 * to + parallel) % 5;
}

inline void for_each_setting(const std::function<void(const Circle&)>& test) {
  for (const char* strategy : {"aggregate", "automatic"}) {
    for (const char* local : {"shared", "messages"}) test(Circle(strategy, local));
  }
  test(Circle("split", "shared", "1"));
  test(Circle("two-step", "shared", "8"));
}

/// Runs blocking calls in a loop that spans several replans.
inline void run_loop(const Circle& circle, Form form, const Sizes& sizes, int calls = 40) {
  for (int number = 0; number < calls; ++number) {
    Call call(circle, form, number, sizes);
    SUCCEEDS(call.run());
    call.verify();
  }
}

}  // namespace vicinal::counted

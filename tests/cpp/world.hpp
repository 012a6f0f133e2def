// Shared parts of the C interface tests: ranks, handles that free themselves, and checks of MPI
// error classes. Arguments are vectors, so that a test reads like the call under test.
#pragma once

#include <mpi.h>
#include <vicinal/vicinal.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace vicinal::testing {

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

inline int world_rank() { return rank_in(MPI_COMM_WORLD); }
inline int world_size() { return size_of(MPI_COMM_WORLD); }

/// Returns whether all ranks may share memory.
inline bool all_on_one_host() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  const int here = size_of(host);
  MPI_Comm_free(&host);
  return here == world_size();
}

/// Returns `rank` modulo `size`, in 0..size-1.
inline int around(int rank, int size) { return ((rank % size) + size) % size; }

/// Makes the world's error handler return: MPICH reports errors found while testing there.
struct Forgiving {
  Forgiving() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }
  Forgiving(const Forgiving&) = delete;
  Forgiving& operator=(const Forgiving&) = delete;
  ~Forgiving() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); }
};

/// A duplicated communicator that returns errors.
class Duplicate {
 public:
  explicit Duplicate(MPI_Comm of = MPI_COMM_WORLD) {
    MPI_Comm_dup(of, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
  ~Duplicate() { free(); }
  void free() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  operator MPI_Comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Info keys and values.
class Hints {
 public:
  Hints(std::initializer_list<std::pair<std::string, std::string>> hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
  }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;
  ~Hints() { MPI_Info_free(&info_); }
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

/// A handle of the C interface, which its function frees.
template <class Handle, int (*release)(Handle*)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { free(); }
  void free() {
    if (handle_ != nullptr) release(&handle_);
  }
  Handle* operator&() { return &handle_; }
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using GraphHandle = Owned<vicinal_graph, vicinal_graph_free>;
using RequestHandle = Owned<vicinal_request, vicinal_request_free>;
using HaloHandle = Owned<vicinal_halo, vicinal_halo_free>;

inline void check_success(const char* file, int line, const char* text, int code) {
  if (code != MPI_SUCCESS) fail_check(file, line, text, ": ", vicinal_error_message());
}

inline void check_fails(const char* file, int line, const char* text, int expected, int code,
                        const std::string& part) {
  const std::string message = vicinal_error_message();
  if (code == MPI_SUCCESS) fail_check(file, line, text, " succeeded; expected \"", part, '"');
  if (code != expected) {
    fail_check(file, line, text, " gave class ", code, ", not ", expected, ": ", message);
  }
  if (message.find(part) == std::string::npos) {
    fail_check(file, line, text, " says \"", message, "\", without \"", part, '"');
  }
}

}  // namespace vicinal::testing

#define SUCCEEDS(call) vicinal::testing::check_success(__FILE__, __LINE__, #call, (call))

/// Checks that the call returns the given MPI error class, with `part` in the message.
#define FAILS(expected, call, part) \
  vicinal::testing::check_fails(__FILE__, __LINE__, #call, expected, (call), part)

namespace vicinal::testing {

inline int create_graph(MPI_Comm comm, const std::vector<int>& sources,
                        const std::vector<int>& destinations, MPI_Info info, vicinal_graph* graph) {
  return vicinal_graph_create_adjacent(comm, static_cast<int>(sources.size()), sources.data(),
                                       MPI_UNWEIGHTED, static_cast<int>(destinations.size()),
                                       destinations.data(), MPI_UNWEIGHTED, info, 0, graph);
}

inline GraphHandle graph_of(MPI_Comm comm, const std::vector<int>& sources,
                            const std::vector<int>& destinations, const std::string& regions) {
  GraphHandle graph;
  SUCCEEDS(create_graph(comm, sources, destinations, Hints{{"vicinal_regions", regions}}, &graph));
  return graph;
}

/// Returns regions that make planners relay, of unequal sizes where the number of ranks allows.
inline std::string few_regions(int size) {
  return "blocks:" + std::to_string(size < 4 ? 1 : size < 7 ? 2 : size < 8 ? 3 : 4);
}

/// One side of an all-to-all, edge after edge without gaps.
struct Edges {
  std::vector<int> counts;
  std::vector<int> displacements;
  std::vector<std::int64_t> data;

  explicit Edges(std::vector<int> given, std::int64_t fill = -1) : counts(std::move(given)) {
    int next = 0;
    for (const int count : counts) {
      displacements.push_back(next);
      next += count;
    }
    data.assign(static_cast<std::size_t>(next), fill);
  }
  std::int64_t& at(std::size_t edge, int i) {
    return data[static_cast<std::size_t>(displacements[edge]) + static_cast<std::size_t>(i)];
  }
};

inline int plan_exchange(Edges& send, Edges& receive, vicinal_graph graph, MPI_Info info,
                         vicinal_request* request) {
  return vicinal_neighbor_alltoallv_init(
      send.data.data(), send.counts.data(), send.displacements.data(), MPI_INT64_T,
      receive.data.data(), receive.counts.data(), receive.displacements.data(), MPI_INT64_T, graph,
      info, request);
}

/// A graph in which rank r sends to r + shift for each shift. Counts and values of an exchange over
/// it depend on the edge's two ranks; values also depend on the round.
class Shifts {
 public:
  Shifts(MPI_Comm comm, const std::vector<int>& shifts, const std::string& regions, int salt = 0)
      : rank_(rank_in(comm)), salt_(salt) {
    const int size = size_of(comm);
    for (const int shift : shifts) {
      sources_.push_back(around(rank_ - shift, size));
      destinations_.push_back(around(rank_ + shift, size));
    }
    graph_ = graph_of(comm, sources_, destinations_, regions);
  }
  [[nodiscard]] vicinal_graph graph() const { return graph_; }
  [[nodiscard]] Edges sending() const { return edges(destinations_, true); }
  [[nodiscard]] Edges receiving() const { return edges(sources_, false); }
  void free_graph() { graph_.free(); }

  void fill(Edges& send, int round) const {
    for (std::size_t e = 0; e < destinations_.size(); ++e) {
      for (int i = 0; i < send.counts[e]; ++i) {
        send.at(e, i) = value(rank_, destinations_[e], static_cast<int>(e), i, round);
      }
    }
  }
  /// Throws if anything else arrived.
  void verify(Edges& receive, int round) const {
    for (std::size_t e = 0; e < sources_.size(); ++e) {
      for (int i = 0; i < receive.counts[e]; ++i) {
        const std::int64_t expected = value(sources_[e], rank_, static_cast<int>(e), i, round);
        if (receive.at(e, i) == expected) continue;
        fail_check(__FILE__, __LINE__, "round ", round, ": element ", i, " from rank ", sources_[e],
                   " is ", receive.at(e, i), ", not ", expected);
      }
    }
  }

 private:
  [[nodiscard]] Edges edges(const std::vector<int>& peers, bool sends) const {
    std::vector<int> counts;
    for (std::size_t e = 0; e < peers.size(); ++e) {
      const int from = sends ? rank_ : peers[e];
      const int to = sends ? peers[e] : rank_;
      counts.push_back((from * 3 + to + static_cast<int>(e) + salt_) % 4);  // sometimes none
    }
    return Edges(counts);
  }
  [[nodiscard]] std::int64_t value(int from, int to, int edge, int i, int round) const {
    return ((((std::int64_t{salt_} * 100 + from) * 100 + to) * 10 + edge) * 10 + i) * 10000 + round;
  }

  int rank_;
  int salt_;
  std::vector<int> sources_, destinations_;
  GraphHandle graph_;
};

/// One persistent exchange over such a graph, which checks itself.
class Exchange {
 public:
  Exchange(const Shifts& shifts, const std::string& strategy, const std::string& local = "shared")
      : shifts_(shifts), send_(shifts.sending()), receive_(shifts.receiving()) {
    const Hints hints{{"vicinal_strategy", strategy}, {"vicinal_local", local}};
    SUCCEEDS(plan_exchange(send_, receive_, shifts.graph(), hints, &request_));
  }
  void start(int round) {
    round_ = round;
    shifts_.fill(send_, round);
    SUCCEEDS(vicinal_start(&request_));
  }
  void wait() {
    SUCCEEDS(vicinal_wait(&request_));
    verify();
  }
  void run(int round) {
    start(round);
    wait();
  }
  void verify() { shifts_.verify(receive_, round_); }
  [[nodiscard]] vicinal_request handle() const { return request_; }
  void free() { request_.free(); }

 private:
  const Shifts& shifts_;
  Edges send_, receive_;
  RequestHandle request_;
  int round_ = 0;
};

}  // namespace vicinal::testing

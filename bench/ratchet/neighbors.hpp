// Exchanges with neighbors that the ratchet measures, by a library and by MPI.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bare_exchange.hpp"
#include "works.hpp"

namespace bench {

using Setting = std::string;  ///< a strategy by name; empty: the library's default
constexpr int from_the_first = 200;

enum class Form { persistent, blocking, nonblocking };

class Info {
 public:
  Info(const char* key, const Setting& value) {
    if (value.empty()) return;
    MPI_Info_create(&info_);
    MPI_Info_set(info_, key, value.c_str());
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  [[nodiscard]] MPI_Info handle() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Exchanges with neighbors, on one graph.
class Neighbors : public Worker {
 public:
  Neighbors(const World& world, const Pattern& pattern)
      : world_(world),
        identified_(pattern.identified),
        arguments_(pattern, world.rank(), world.size()) {}

  [[nodiscard]] bool is_right() const override {
    return arguments_.received == arguments_.expected;
  }

 protected:
  [[nodiscard]] int indegree() const { return static_cast<int>(arguments_.sources.size()); }
  [[nodiscard]] int outdegree() const { return static_cast<int>(arguments_.destinations.size()); }

  const World& world_;
  bool identified_;
  Arguments arguments_;
};

class ByLibrary : public Neighbors {
 public:
  ByLibrary(const Library& library, const World& world, const Pattern& pattern, Form form,
            Setting strategy)
      : Neighbors(world, pattern), library_(library), form_(form), strategy_(std::move(strategy)) {
    create();
  }
  ~ByLibrary() override { free(); }
  void run() override { execute(); }

 protected:
  void create() {
    library_.check(library_.graph_create_adjacent(
        world_.handle(), indegree(), arguments_.sources.data(), MPI_UNWEIGHTED, outdegree(),
        arguments_.destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_));
    if (form_ == Form::persistent) plan();
  }
  void free() {
    if (request_ != VICINAL_REQUEST_NULL) library_.check(library_.request_free(&request_));
    library_.check(library_.graph_free(&graph_));
  }
  void execute() {
    Arguments& it = arguments_;
    if (form_ == Form::persistent) {
      library_.check(library_.start(&request_));
      library_.check(library_.wait(&request_));
    } else if (form_ == Form::blocking) {
      library_.check(library_.neighbor_alltoallv(it.sent.data(), it.send_counts.data(),
                                                 it.send_offsets.data(), MPI_DOUBLE,
                                                 it.received.data(), it.receive_counts.data(),
                                                 it.receive_offsets.data(), MPI_DOUBLE, graph_));
    } else {
      vicinal_request request = VICINAL_REQUEST_NULL;
      library_.check(library_.ineighbor_alltoallv(
          it.sent.data(), it.send_counts.data(), it.send_offsets.data(), MPI_DOUBLE,
          it.received.data(), it.receive_counts.data(), it.receive_offsets.data(), MPI_DOUBLE,
          graph_, &request));
      library_.check(library_.wait(&request));
    }
  }

  const Library& library_;
  vicinal_graph graph_ = VICINAL_GRAPH_NULL;
  vicinal_request request_ = VICINAL_REQUEST_NULL;
  Form form_;

 private:
  void plan() {
    const Info info("vicinal_strategy", strategy_);
    Arguments& it = arguments_;
    if (identified_) {
      library_.check(library_.neighbor_alltoallv_items_init(
          it.sent.data(), it.send_counts.data(), it.send_offsets.data(), it.items.data(),
          MPI_DOUBLE, it.received.data(), it.receive_counts.data(), it.receive_offsets.data(),
          MPI_DOUBLE, graph_, info.handle(), &request_));
    } else {
      library_.check(library_.neighbor_alltoallv_init(
          it.sent.data(), it.send_counts.data(), it.send_offsets.data(), MPI_DOUBLE,
          it.received.data(), it.receive_counts.data(), it.receive_offsets.data(), MPI_DOUBLE,
          graph_, info.handle(), &request_));
    }
  }

  Setting strategy_;
};

/// Creates a graph, executes `exchanges` exchanges, and frees it.
class WholeByLibrary : public ByLibrary {
 public:
  WholeByLibrary(const Library& library, const World& world, const Pattern& pattern, Form form,
                 int exchanges)
      : ByLibrary(library, world, pattern, form, {}), exchanges_(exchanges) {}
  void run() override {
    free();
    create();
    for (int i = 0; i < exchanges_; ++i) execute();
  }
  [[nodiscard]] bool is_right() const override { return exchanges_ == 0 || ByLibrary::is_right(); }

 private:
  int exchanges_;
};

class ByMpi : public Neighbors {
 public:
  ByMpi(const World& world, const Pattern& pattern, Form form)
      : Neighbors(world, pattern), form_(form) {
    create();
  }
  ~ByMpi() override { MPI_Comm_free(&graph_); }
  void run() override { execute(); }

 protected:
  void create() {
    MPI_Dist_graph_create_adjacent(world_.handle(), indegree(), arguments_.sources.data(),
                                   MPI_UNWEIGHTED, outdegree(), arguments_.destinations.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }
  void execute() {
    Arguments& it = arguments_;
    if (form_ == Form::nonblocking) {
      MPI_Request request;
      MPI_Ineighbor_alltoallv(it.sent.data(), it.send_counts.data(), it.send_offsets.data(),
                              MPI_DOUBLE, it.received.data(), it.receive_counts.data(),
                              it.receive_offsets.data(), MPI_DOUBLE, graph_, &request);
      World::wait(request);
    } else {
      MPI_Neighbor_alltoallv(it.sent.data(), it.send_counts.data(), it.send_offsets.data(),
                             MPI_DOUBLE, it.received.data(), it.receive_counts.data(),
                             it.receive_offsets.data(), MPI_DOUBLE, graph_);
    }
  }
  MPI_Comm graph_ = MPI_COMM_NULL;

 private:
  Form form_;
};

class WholeByMpi : public ByMpi {
 public:
  WholeByMpi(const World& world, const Pattern& pattern) : ByMpi(world, pattern, Form::blocking) {}
  void run() override {
    MPI_Comm_free(&graph_);
    create();
  }
  [[nodiscard]] bool is_right() const override { return true; }
};

class Bare : public Worker {
 public:
  Bare(const Library& library, const World& world, const Pattern& pattern)
      : exchange_(world, regions(library, world), pattern.wanted) {}
  void run() override { exchange_.run(); }
  [[nodiscard]] bool is_right() const override { return true; }

 private:
  static std::vector<int> regions(const Library& library, const World& world) {
    std::vector<int> region_of(static_cast<std::size_t>(world.size()));
    library.check(library.get_regions(world.handle(), region_of.data()));
    return region_of;
  }

  BareExchange exchange_;
};

}  // namespace bench

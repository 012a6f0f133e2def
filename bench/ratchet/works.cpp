#include "works.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neighbors.hpp"

namespace bench {
namespace {

/// Runs several parts in order, and then in reverse order: the levels of a V-cycle.
class InTurn : public Worker {
 public:
  explicit InTurn(std::vector<std::unique_ptr<Worker>> parts) : parts_(std::move(parts)) {}
  void run() override {
    for (const auto& part : parts_) part->run();
    for (std::size_t i = parts_.size(); i-- > 0;) parts_[i]->run();
  }
  [[nodiscard]] bool is_right() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->is_right(); });
  }

 private:
  std::vector<std::unique_ptr<Worker>> parts_;
};

/// A block of bytes from each rank to all.
class Allgather : public Worker {
 public:
  Allgather(const World& world, int bytes)
      : world_(world),
        bytes_(bytes),
        sent_(static_cast<std::size_t>(bytes), static_cast<char>(world.rank() + 1)),
        received_(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(world.size())) {}
  [[nodiscard]] bool is_right() const override {
    for (std::size_t i = 0; i < received_.size(); ++i) {
      if (received_[i] != static_cast<char>(i / static_cast<std::size_t>(bytes_) + 1)) return false;
    }
    return true;
  }

 protected:
  const World& world_;
  int bytes_;
  std::vector<char> sent_, received_;
};

class AllgatherByLibrary : public Allgather {
 public:
  AllgatherByLibrary(const Library& library, const World& world, int bytes, Form form,
                     const Setting& planner)
      : Allgather(world, bytes), library_(library), form_(form) {
    if (form != Form::persistent) return;
    const Info info("vicinal_allgather", planner);
    library_.check(library_.allgather_init(sent_.data(), bytes_, MPI_BYTE, received_.data(), bytes_,
                                           MPI_BYTE, world_.handle(), info.handle(), &request_));
  }
  ~AllgatherByLibrary() override {
    if (request_ != VICINAL_REQUEST_NULL) library_.check(library_.request_free(&request_));
  }
  void run() override {
    if (form_ == Form::persistent) {
      library_.check(library_.start(&request_));
      library_.check(library_.wait(&request_));
    } else {
      library_.check(library_.allgather(sent_.data(), bytes_, MPI_BYTE, received_.data(), bytes_,
                                        MPI_BYTE, world_.handle()));
    }
  }

 private:
  const Library& library_;
  Form form_;
  vicinal_request request_ = VICINAL_REQUEST_NULL;
};

class AllgatherByMpi : public Allgather {
 public:
  using Allgather::Allgather;
  void run() override {
    MPI_Allgather(sent_.data(), bytes_, MPI_BYTE, received_.data(), bytes_, MPI_BYTE,
                  world_.handle());
  }
};

/// Messages to ranks that do not expect them.
class Sparse : public Neighbors {
 public:
  Sparse(const Library& library, const World& world, const Pattern& pattern)
      : Neighbors(world, pattern), library_(library) {}
  void run() override {
    const Arguments& it = arguments_;
    vicinal_received received = VICINAL_RECEIVED_NULL;
    library_.check(library_.sparse_alltoallv(
        it.sent.data(), outdegree(), it.destinations.data(), it.send_counts.data(),
        it.send_offsets.data(), MPI_DOUBLE, MPI_DOUBLE, world_.handle(), MPI_INFO_NULL, &received));
    library_.check(library_.received_get(received, &messages_, nullptr, nullptr, nullptr, nullptr));
    library_.check(library_.received_free(&received));
  }
  [[nodiscard]] bool is_right() const override { return messages_ == indegree(); }

 private:
  const Library& library_;
  int messages_ = 0;
};

template <class Made, class... Arguments>
std::unique_ptr<Worker> make(Arguments&&... arguments) {
  return std::make_unique<Made>(std::forward<Arguments>(arguments)...);
}

void add_exchanges(std::vector<Work>& all, const World& world, const Pattern& pattern) {
  const auto add = [&](const std::string& name, Form form, const Setting& strategy) {
    const bool by_mpi = strategy.empty() && form != Form::persistent;
    all.push_back({pattern.name + ": " + name,
                   260,  // until the contest is decided
                   3,
                   [&world, pattern, form, strategy](const Library& library) {
                     return make<ByLibrary>(library, world, pattern, form, strategy);
                   },
                   {}});
    if (by_mpi)
      all.back().by_mpi = [&world, pattern, form] { return make<ByMpi>(world, pattern, form); };
  };
  add("persistent", Form::persistent, {});
  for (const char* strategy : {"direct", "aggregate", "split"}) {
    add(std::string("persistent, ") + strategy, Form::persistent, strategy);
  }
  add("calls", Form::blocking, {});
  add("nonblocking calls", Form::nonblocking, {});
}

void add_set_up(std::vector<Work>& all, const World& world, const Pattern& pattern) {
  const auto add = [&](const std::string& name, Form form, int exchanges, int warm_up, int least) {
    all.push_back({pattern.name + ": " + name,
                   warm_up,
                   least,
                   [&world, pattern, form, exchanges](const Library& library) {
                     return make<WholeByLibrary>(library, world, pattern, form, exchanges);
                   },
                   {}});
    if (exchanges > 0) return;  // MPI's own takes as long as its calls
    all.back().by_mpi = [&world, pattern] { return make<WholeByMpi>(world, pattern); };
  };
  add("graph", Form::blocking, 0, 3, 2);
  add("graph and plan", Form::persistent, 0, 3, 2);
  add("graph, plan and 200 executions", Form::persistent, from_the_first, 1, 1);
  add("graph and 200 calls", Form::blocking, from_the_first, 1, 1);
}

void add_allgathers(std::vector<Work>& all, const World& world, int bytes) {
  const auto add = [&](const std::string& name, Form form, const Setting& planner) {
    all.push_back({"allgather of " + std::to_string(bytes) + " B: " + name,
                   260,  // until the contest is decided
                   3,
                   [&world, bytes, form, planner](const Library& library) {
                     return make<AllgatherByLibrary>(library, world, bytes, form, planner);
                   },
                   {}});
    if (planner.empty())
      all.back().by_mpi = [&world, bytes] { return make<AllgatherByMpi>(world, bytes); };
  };
  add("persistent", Form::persistent, {});
  for (const char* planner : {"hierarchical", "locality-bruck"}) {
    add(std::string("persistent, ") + planner, Form::persistent, planner);
  }
  add("calls", Form::blocking, {});
}

void add_cycle(std::vector<Work>& all, const World& world, const std::vector<Pattern>& levels) {
  const auto add = [&](const std::string& name, Form form) {
    const int warm_up = form == Form::persistent ? 260 : 100;
    all.push_back({"V-cycle of 4 levels: " + name, warm_up, 3,
                   [&world, levels, form](const Library& library) {
                     std::vector<std::unique_ptr<Worker>> parts;
                     for (const Pattern& level : levels)
                       parts.push_back(make<ByLibrary>(library, world, level, form, Setting{}));
                     return make<InTurn>(std::move(parts));
                   },
                   [&world, levels] {
                     std::vector<std::unique_ptr<Worker>> parts;
                     for (const Pattern& level : levels)
                       parts.push_back(make<ByMpi>(world, level, Form::blocking));
                     return make<InTurn>(std::move(parts));
                   }});
  };
  add("persistent", Form::persistent);
  add("calls", Form::blocking);
}

}  // namespace

std::vector<Work> works(const World& world) {
  const int ranks = world.size();
  const Pattern random = random_values(), cubes = stencil(ranks, 8), shock = folded(ranks);
  std::vector<Work> all;
  for (const Pattern& pattern : {random, eight_neighbors(ranks), cubes, shock})
    add_exchanges(all, world, pattern);
  all.front().by_mpi = [&world, random] { return make<ByMpi>(world, random, Form::blocking); };
  all.push_back(
      {"D: bare exchange",
       3,
       3,
       [&world, random](const Library& library) { return make<Bare>(library, world, random); },
       {}});
  add_cycle(all, world, {stencil(ranks, 16), cubes, stencil(ranks, 4), random});
  for (const int bytes : {8, 1024}) add_allgathers(all, world, bytes);
  all.push_back(
      {"D: sparse exchange",
       20,
       3,
       [&world, random](const Library& library) { return make<Sparse>(library, world, random); },
       {}});
  for (const Pattern& pattern : {random, cubes, shock}) add_set_up(all, world, pattern);
  return all;
}

}  // namespace bench

// The pieces of work that the ratchet measures: any build of the library does each of them, or MPI itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "library.hpp"
#include "measure.hpp"
#include "patterns.hpp"

namespace bench {

/// A piece of work as one contestant does it.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  virtual ~Worker() = default;
  virtual void run() = 0;
  /// Whether the last run delivered what it must.
  [[nodiscard]] virtual bool is_right() const = 0;
};

struct Work {
  std::string name;
  int warm_up = 200;  ///< runs until plans have taken effect and have been compared
  int least = 3;      ///< runs of a turn at least
  std::function<std::unique_ptr<Worker>(const Library&)> by_library;
  std::function<std::unique_ptr<Worker>()> by_mpi;  ///< empty where MPI itself takes no part
};

std::vector<Work> works(const World& world);

}  // namespace bench

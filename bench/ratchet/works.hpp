// The operations that the ratchet measures, each by any build of the library, or by MPI itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "library.hpp"
#include "measure.hpp"
#include "patterns.hpp"

namespace bench {

/// An operation as one contestant executes it.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  virtual ~Worker() = default;
  virtual void run() = 0;
  /// Returns whether the last run delivered correct values.
  [[nodiscard]] virtual bool is_right() const = 0;
};

struct Work {
  std::string name;
  /// Runs until plans are in effect and have been compared.
  int warm_up = 200;
  int least = 3;  ///< minimum of runs in a batch
  std::function<std::unique_ptr<Worker>(const Library&)> by_library;
  std::function<std::unique_ptr<Worker>()> by_mpi;  ///< empty if MPI itself is not measured
};

std::vector<Work> works(const World& world);

}  // namespace bench

// A communicator with neighbours whose exchanges vicinal carries out.
#pragma once

#include <mpi.h>

#include <memory>

#include "collectives/graph.hpp"
#include "mpi/attachment.hpp"

namespace vicinal::interpose {

/// Whose error handler hears of a communicator's faults: itself, as long as the program has it.
struct ErrorHandling {
  std::atomic<MPI_Comm> communicator = MPI_COMM_NULL;
};

class Served final : public mpi::Attachment {
 public:
  Served(MPI_Comm user, std::shared_ptr<Graph> graph)
      : graph_(std::move(graph)), errors_(std::make_shared<ErrorHandling>()) {
    errors_->communicator = user;
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() override { errors_->communicator = MPI_COMM_NULL; }

  /// What serves this communicator; null where MPI does.
  [[nodiscard]] static const Served* on(MPI_Comm user) noexcept {
    return static_cast<const Served*>(mpi::attached(user));
  }

  [[nodiscard]] const std::shared_ptr<Graph>& graph() const { return graph_; }
  [[nodiscard]] const std::shared_ptr<const ErrorHandling> errors() const { return errors_; }

 private:
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<ErrorHandling> errors_;
};

}  // namespace vicinal::interpose

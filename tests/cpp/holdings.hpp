// Checks that plans release all resources of their communicator.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "execute/slots.hpp"
#include "mpi/communicator.hpp"
#include "progress/activity.hpp"
#include "world.hpp"

namespace vicinal::testing {

/// This rank's arena bytes and tags, taken once all ranks have finished what they freed.
class Holdings {
 public:
  explicit Holdings(MPI_Comm comm) : communicator_(mpi::Communicator::of(comm)) {
    for (int i = 0; i < 1000 && active_count() > 0; ++i) vicinal_progress();
    MPI_Barrier(MPI_COMM_WORLD);
    before_ = now();
  }

  /// Checks that no more is held than at first. The progress thread may release the last of it a
  /// moment later, so this waits up to 10 s.
  void check_given_back() const {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    Held held = now();
    while (!is_given_back(held) && std::chrono::steady_clock::now() < patience) {
      vicinal_progress();
      held = now();
    }
    if (!is_given_back(held)) {
      fail_check(__FILE__, __LINE__, held.bytes, " bytes and ", held.tags,
                 " tags are held, and were ", before_.bytes, " and ", before_.tags);
    }
  }

 private:
  struct Held {
    std::int64_t bytes = 0;  ///< of the arena
    std::int64_t tags = 0;
  };

  [[nodiscard]] bool is_given_back(const Held& held) const {
    return held.bytes <= before_.bytes && held.tags <= before_.tags;
  }
  [[nodiscard]] Held now() const {
    sweep_retired();
    const auto& arena = communicator_->arena();
    return {arena != nullptr ? arena->allocated_bytes() : 0, communicator_->tags_in_use()};
  }

  std::shared_ptr<mpi::Communicator> communicator_;
  Held before_;
};

}  // namespace vicinal::testing

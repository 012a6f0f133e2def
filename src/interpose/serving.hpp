// The common part of all that vicinal serves: settings, progress, and leaving to MPI what vicinal
// cannot serve. Served is a communicator with neighbours whose exchanges vicinal carries out.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "collectives/graph.hpp"
#include "collectives/settings.hpp"
#include "interpose/call_profile.hpp"
#include "interpose/guarded_as.hpp"
#include "mpi/attachment.hpp"
#include "mpi/own_progress.hpp"

namespace vicinal::interpose {

// Reasons for which a communicator is left to MPI.
inline constexpr const char* on_one_host = "all its ranks are in one region";
inline constexpr const char* nobody_progresses =
    "nobody brings on what others depend on while the program waits in MPI";

/// Returns the settings for a communicator. Sets `fault` if they cannot be read; other ranks learn
/// of it when a graph is made. Progress is strict if nothing makes progress for other ranks while
/// the program waits in MPI.
[[nodiscard]] Settings settings_from(MPI_Info info, MPI_Comm comm, std::optional<Error>& fault);

/// Returns whether the environment defines the regions. Then ranks on one host may be in several
/// regions.
[[nodiscard]] bool has_regions_of_its_own() noexcept;

/// Leaves a communicator that cannot be served to MPI: tells the report, the user and the log.
void leave_to_mpi(const char* how, const std::exception& reason) noexcept;

/// Runs `body`, which makes vicinal serve a communicator. If that fails, on all ranks, MPI serves
/// it.
template <class Body>
void or_leave_to_mpi(const char* how, Body body) noexcept {
  const mpi::Inside inside;
  try {
    body();
  } catch (const std::exception& reason) {
    leave_to_mpi(how, reason);
  }
}

class Served final : public mpi::Attachment {
 public:
  /// `mpi_is_wrong`: whether MPI's own exchanges may be incorrect.
  Served(MPI_Comm user, std::shared_ptr<Graph> graph, bool mpi_is_wrong)
      : mpi_is_wrong_(mpi_is_wrong),
        graph_(std::move(graph)),
        errors_(std::make_shared<ErrorHandling>(user)) {}
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() override {
    forget_communicator();
    if (call_profile_) call_profile_->close();
  }

  /// Returns the object that serves this communicator; null if MPI does.
  [[nodiscard]] static const Served* on(MPI_Comm user) noexcept {
    const auto* const it =
        static_cast<const Served*>(mpi::attached(user, mpi::Attached::neighbors));
    if (it != nullptr) it->errors_->found(user);
    return it;
  }

  /// While it lives, the calling thread has MPI make a duplicate that exists only later.
  class Duplicating {
   public:
    explicit Duplicating(const char* function) { made_by_ = function; }
    Duplicating(const Duplicating&) = delete;
    Duplicating& operator=(const Duplicating&) = delete;
    ~Duplicating() { made_by_ = nullptr; }

   private:
    friend Served;
    static inline thread_local const char* made_by_ = nullptr;
  };
  [[nodiscard]] std::unique_ptr<mpi::Attachment> for_duplicate() noexcept override;
  /// Makes the object that is to serve a duplicate that exists only later, when ranks cannot
  /// communicate. Its graph has number `number`. Returns false if this rank has no memory or tags
  /// for it. Unless all ranks have one, they must give it up.
  bool keep_duplicate(std::int64_t number) noexcept;
  void give_up_duplicate() noexcept { duplicate_ = nullptr; }

  [[nodiscard]] const std::shared_ptr<Graph>& graph() const { return graph_; }
  [[nodiscard]] std::shared_ptr<const ErrorHandling> errors() const { return errors_; }
  /// Adds the communicator to the report, as made by this function of MPI's.
  void begin_call_profile(const char* made_by) noexcept;
  /// Null if no report is requested.
  [[nodiscard]] CallProfile* call_profile() const { return call_profile_.get(); }

  [[nodiscard]] bool mpi_is_wrong() const { return mpi_is_wrong_; }
  /// Notes that all ranks of the communicator have edges. Only then may they leave a call to MPI by
  /// a common decision, since MPI needs all ranks.
  void note_that_all_have_edges() noexcept {
    all_have_edges_ = true;
    if (duplicate_) duplicate_->note_that_all_have_edges();
  }
  [[nodiscard]] bool mpi_may_take_over() const { return all_have_edges_ && !mpi_is_wrong_; }

 private:
  void forget_communicator() noexcept override { errors_->communicator = MPI_COMM_NULL; }

  bool mpi_is_wrong_;
  bool all_have_edges_ = false;
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<ErrorHandling> errors_;
  std::shared_ptr<CallProfile> call_profile_;
  std::unique_ptr<Served> duplicate_;
};

}  // namespace vicinal::interpose

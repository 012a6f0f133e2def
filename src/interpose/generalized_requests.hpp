// The requests that the program gets for vicinal's operations. Any thread that makes progress
// completes them.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "collectives/request.hpp"
#include "interpose/guarded_as.hpp"
#include "mpi/generalized_requests.hpp"
#include "progress/activity.hpp"

namespace vicinal::interpose {

/// Source and receiver of a request's errors.
struct Errors {
  const void* ours;  ///< the function that made the request in place of MPI's
  std::shared_ptr<const ErrorHandling> handling;
};

class GeneralizedRequest : public Activity,
                           public std::enable_shared_from_this<GeneralizedRequest> {
 public:
  GeneralizedRequest() = default;
  GeneralizedRequest(const GeneralizedRequest&) = delete;
  GeneralizedRequest& operator=(const GeneralizedRequest&) = delete;
  ~GeneralizedRequest() override = default;

  /// Makes this represent `request`. `in_progress`: whether that has begun.
  void stand_for(std::unique_ptr<Request> request, Errors errors, bool in_progress) noexcept {
    request_ = std::move(request);
    errors_ = std::move(errors);
    in_progress_ = in_progress;
  }
  bool advance() noexcept final;
  void describe(std::ostream& out) const final;
  /// Waits until MPI's request is complete. An inactive request is.
  void finish() noexcept;
  [[nodiscard]] virtual bool is_persistent() const = 0;
  /// Begins an execution of a persistent request that MPI has started. Returns an error class.
  int start() noexcept;

 private:
  void end(int code) noexcept;
  /// Completes MPI's request, with an error class.
  virtual void complete(int code) noexcept = 0;
  [[nodiscard]] MPI_Comm error_communicator() const;

  std::unique_ptr<Request> request_;
  Errors errors_{};
  bool in_progress_ = false;  ///< whether MPI's request is incomplete; guarded by the lock
};

/// Returns MPI's request for a call that has begun.
[[nodiscard]] MPI_Request request_for_call(Errors errors, std::unique_ptr<Request> request);
/// Returns MPI's request for the executions of a persistent request.
[[nodiscard]] MPI_Request request_for_executions(Errors errors, std::unique_ptr<Request> request);

/// Returns the generalized request behind a request of the program; null if there is none, or if it
/// is complete for good.
[[nodiscard]] std::shared_ptr<GeneralizedRequest> generalized_request_behind(MPI_Request request);
/// Forgets a request that the program frees. Operations in progress continue.
void forget_generalized_request(MPI_Request request);

}  // namespace vicinal::interpose

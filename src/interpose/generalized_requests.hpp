// The requests that the program is given for what vicinal does, and who completes them: whoever progresses.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "collectives/request.hpp"
#include "execute/activity.hpp"
#include "interpose/error_handling.hpp"
#include "mpi/tokens.hpp"

namespace vicinal::interpose {

/// Whose errors those of a request are.
struct Errors {
  const void* ours;  ///< the function of MPI's that it stands for has made the request
  std::shared_ptr<const ErrorHandling> handling;
};

class Token : public Activity, public std::enable_shared_from_this<Token> {
 public:
  Token() = default;
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  ~Token() override = default;

  /// From now on it stands for the request. `under_way`: whether that has begun.
  void stand_for(std::unique_ptr<Request> request, Errors errors, bool under_way) noexcept {
    request_ = std::move(request);
    errors_ = std::move(errors);
    under_way_ = under_way;
  }
  bool advance() noexcept final;
  void describe(std::ostream& out) const final;
  /// Waits until MPI's request is complete. An inactive one is.
  void finish() noexcept;
  [[nodiscard]] virtual bool is_persistent() const = 0;
  /// Begins an execution, of a persistent one that MPI has started. Returns a class of errors.
  int start() noexcept;

 private:
  void end(int code) noexcept;
  /// MPI's request is complete, with that class of errors.
  virtual void complete(int code) noexcept = 0;
  [[nodiscard]] MPI_Comm error_communicator() const;

  std::unique_ptr<Request> request_;
  Errors errors_{};
  bool under_way_ = false;  ///< MPI's request is not complete; with the claim held
};

/// MPI's request for a call that has begun.
[[nodiscard]] MPI_Request token_for_call(Errors errors, std::unique_ptr<Request> request);
/// MPI's request for executions of a persistent one.
[[nodiscard]] MPI_Request token_for_executions(Errors errors, std::unique_ptr<Request> request);

/// The token behind a request of the program's; null where there is none, or it is complete for good.
[[nodiscard]] std::shared_ptr<Token> token_behind(MPI_Request request);
/// The program frees it. What is under way goes on.
void forget_token(MPI_Request request);

}  // namespace vicinal::interpose

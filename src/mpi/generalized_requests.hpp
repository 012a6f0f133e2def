// MPI requests that the library completes. A program that knows nothing of the library gets one for
// the library's operation. It tests, waits for and frees the request with any MPI function,
// together with other requests.
#pragma once

#include <mpi.h>

#include <memory>

namespace vicinal::mpi {

class Communicator;
struct Self;

/// A generalized request, for one operation that has begun.
class SingleUseRequest {
 public:
  SingleUseRequest();
  SingleUseRequest(const SingleUseRequest&) = delete;
  SingleUseRequest& operator=(const SingleUseRequest&) = delete;
  ~SingleUseRequest() = default;

  /// The request, which belongs to the program: valid until the program has freed it or seen it
  /// complete.
  [[nodiscard]] MPI_Request handle() const { return handle_; }
  /// Completes the request with that error class. Call once.
  void complete(int code) noexcept;

 private:
  std::shared_ptr<int> code_;  ///< shared with MPI, which may keep it longer
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

/// A persistent request: an empty receive from the own rank, which completes when the library sends
/// to it. The program frees it.
class RestartableRequest {
 public:
  /// `near` is a communicator of this process that lives as long as the request.
  explicit RestartableRequest(Communicator& near);
  RestartableRequest(const RestartableRequest&) = delete;
  RestartableRequest& operator=(const RestartableRequest&) = delete;
  /// Destroy it after the program has freed the request.
  ~RestartableRequest();

  [[nodiscard]] MPI_Request handle() const { return handle_; }
  /// Completes the execution that the program started last. For a failed one it sends too long a
  /// message, so that MPI's completion returns an error.
  void complete(bool failed) noexcept;

 private:
  Self& self_;
  MPI_Comm communicator_;
  int tag_;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

/// Lets MPI progress pending operations if no communicator is at hand.
void progress();

}  // namespace vicinal::mpi

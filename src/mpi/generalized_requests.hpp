// Requests of MPI's that are complete when we say so. A program that knows nothing of the library gets one for what
// the library does, and tests, waits for and frees it by any function of MPI's, together with others.
#pragma once

#include <mpi.h>

#include <memory>

namespace vicinal::mpi {

class Communicator;
struct Self;

/// A generalized request: of one operation that has begun.
class SingleToken {
 public:
  SingleToken();
  SingleToken(const SingleToken&) = delete;
  SingleToken& operator=(const SingleToken&) = delete;
  ~SingleToken() = default;

  /// MPI's, from now on the program's: valid until that has freed it, or seen it complete.
  [[nodiscard]] MPI_Request handle() const { return handle_; }
  /// It is complete, with that error class. Once.
  void complete(int code) noexcept;

 private:
  std::shared_ptr<int> code_;  ///< shared with MPI, which may keep it longer
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

/// A persistent request: a receive of nothing from oneself, complete when it is sent. It is freed by the program.
class PersistentToken {
 public:
  /// `near`: a communicator of this process, which lives as long as the token.
  explicit PersistentToken(Communicator& near);
  PersistentToken(const PersistentToken&) = delete;
  PersistentToken& operator=(const PersistentToken&) = delete;
  /// Once the program has freed the request.
  ~PersistentToken();

  [[nodiscard]] MPI_Request handle() const { return handle_; }
  /// The execution that the program has started last is complete. One that has failed is too long a message:
  /// MPI's completion then returns an error.
  void complete(bool failed) noexcept;

 private:
  Self& self_;
  MPI_Comm communicator_;
  int tag_;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

/// Lets MPI work on what is under way, where no communicator is at hand.
void progress();

}  // namespace vicinal::mpi

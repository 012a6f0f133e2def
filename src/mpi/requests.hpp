// The persistent requests of one channel of a plan. All MPI calls of an execution go through this
// class; set-up passes all arguments to MPI once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "mpi/errors.hpp"

namespace vicinal::mpi {

/// A fixed number of persistent requests on a private communicator, addressed by position. The
/// caller chooses which are polled together, by placing them next to each other.
class RequestSet {
 public:
  RequestSet() = default;
  RequestSet(MPI_Comm communicator, std::size_t count)
      : communicator_(communicator),
        requests_(count, MPI_REQUEST_NULL),
        prepared_(count),
        statuses_(count) {}
  RequestSet(RequestSet&& other) noexcept
      : communicator_(other.communicator_),
        requests_(std::exchange(other.requests_, {})),
        prepared_(std::exchange(other.prepared_, {})),
        statuses_(std::move(other.statuses_)),
        remembered_(std::exchange(other.remembered_, {})) {}
  RequestSet& operator=(RequestSet&& other) noexcept {
    std::swap(communicator_, other.communicator_);
    std::swap(requests_, other.requests_);
    std::swap(prepared_, other.prepared_);
    std::swap(statuses_, other.statuses_);
    std::swap(remembered_, other.remembered_);
    return *this;
  }
  RequestSet(const RequestSet&) = delete;
  RequestSet& operator=(const RequestSet&) = delete;
  /// Frees the requests. None may be active, unless MPI has ended.
  ~RequestSet();

  [[nodiscard]] std::size_t size() const { return requests_.size(); }

  /// Prepares request `index` for any number of raw bytes, in place of what it was prepared for
  /// before; it must not be active. Costs nothing if the arguments are unchanged. The caller keeps
  /// the buffer in place for the lifetime of the set.
  void send_init(std::size_t index, const void* buffer, std::int64_t bytes, int peer, int tag);
  void receive_init(std::size_t index, void* buffer, std::int64_t bytes, int peer, int tag);

  void start(std::size_t index) { check(MPI_Start(&requests_[index]), "MPI_Start"); }
  void start_range(std::size_t first, int count) {
    if (count > 0) check(MPI_Startall(count, &requests_[first]), "MPI_Startall");
  }

  /// Ensures that MPI no longer writes to the buffer of a receive.
  void cancel_receive(std::size_t index);

  // A message that was longer than its receive is a count fault.

  /// Returns whether the request is complete; an inactive one is.
  bool test(std::size_t index) {
    int done = 0;
    const int code = MPI_Test(&requests_[index], &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) [[unlikely]]
      throw_failed(index, code, "MPI_Test");
    return done != 0;
  }
  /// Returns whether all requests of a range are complete; inactive ones are. received() then gives
  /// the length of each.
  bool test_all(std::size_t first, int count);
  /// Returns whether one request of a range is complete, for reports between calls of test_all().
  /// Keeps its length for received(). MPI_Request_get_status is no alternative: MPICH 5.0.2 treats
  /// a request that it found complete as inactive.
  [[nodiscard]] bool test_early(std::size_t first, int count, std::size_t index);
  /// Writes the positions, relative to `first`, of newly completed requests, and returns their
  /// number; 0 also if none is active. received() then gives the length of each in turn.
  int test_some(std::size_t first, int count, int* completed);
  /// Returns the length of the `position`th message that the last test found complete; -1 if it was
  /// longer than the buffer.
  [[nodiscard]] std::int64_t received(std::size_t position) const {
    int bytes = 0;
    if (any_failed_ || !early_.empty() ||
        MPI_Get_count(&statuses_[position], MPI_BYTE, &bytes) != MPI_SUCCESS ||
        bytes == MPI_UNDEFINED) [[unlikely]] {
      return received_in_any_case(position);
    }
    return bytes;
  }

  // An exchange receives the same lengths each time, unless a rank has failed. A status is a few
  // bytes that determine the length of the message. While the statuses equal those of a checked
  // exchange, their lengths need no check.

  /// Remembers the statuses of the last test_all() as correct.
  void remember() { remembered_ = any_failed_ || !early_.empty() ? Statuses() : statuses_; }
  /// Returns whether the last test_all() found exactly the remembered statuses.
  [[nodiscard]] bool as_remembered() const {
    return !remembered_.empty() && !any_failed_ && early_.empty() &&
           std::memcmp(statuses_.data(), remembered_.data(),
                       statuses_.size() * sizeof(MPI_Status)) == 0;
  }

 private:
  using Statuses = std::vector<MPI_Status>;
  /// Arguments that a request was prepared with.
  struct Prepared {
    const void* buffer = nullptr;
    std::int64_t bytes = 0;
    int peer = MPI_PROC_NULL;
    int tag = -1;
    bool sends = false;
    friend bool operator==(const Prepared&, const Prepared&) = default;
  };
  static constexpr std::int64_t unknown = -2;

  [[noreturn]] void throw_failed(std::size_t index, int code, const char* what) const;
  /// Returns whether a request must be created: there is none yet, or one for other arguments,
  /// which it frees.
  bool renew(std::size_t index, const Prepared& message);
  void check_statuses(int code, std::size_t complete);
  [[nodiscard]] std::int64_t received_in_any_case(std::size_t position) const;
  [[nodiscard]] std::int64_t length(std::size_t position) const;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
  std::vector<Prepared> prepared_;
  Statuses statuses_;                ///< of the requests that the last test has found complete
  Statuses remembered_;              ///< correct statuses; empty if unknown
  bool any_failed_ = false;          ///< if false, the statuses have no valid error codes
  std::vector<std::int64_t> early_;  ///< lengths by request, after a failed test of all
  bool all_complete_ = false;
};

}  // namespace vicinal::mpi

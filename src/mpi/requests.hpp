// The persistent requests of one channel of a plan. All calls to MPI that an execution makes go
// through here; whatever MPI needs to know is said once, at set-up.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "mpi/errors.hpp"

namespace vicinal::mpi {

/// A fixed number of persistent requests on a private communicator, addressed by position. Which
/// are polled together is up to the caller: place them next to each other.
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

  /// Prepares request `index`: raw bytes, any number of them, in place of what it was prepared for
  /// before; it must not be active. Costs nothing where that was the same. The buffer is kept in place
  /// by the caller for the life of the set.
  void send_init(std::size_t index, const void* buffer, std::int64_t bytes, int peer, int tag);
  void receive_init(std::size_t index, void* buffer, std::int64_t bytes, int peer, int tag);

  void start(std::size_t index) { check(MPI_Start(&requests_[index]), "MPI_Start"); }
  void start_range(std::size_t first, int count) {
    if (count > 0) check(MPI_Startall(count, &requests_[first]), "MPI_Startall");
  }

  /// Sees to it that MPI does not write to the buffer of a receive any more.
  void cancel_receive(std::size_t index);

  // A message that was longer than its receive is a count fault.

  /// Whether this one is complete; an inactive one is.
  bool test(std::size_t index) {
    int done = 0;
    const int code = MPI_Test(&requests_[index], &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) [[unlikely]]
      throw_failed(index, code, "MPI_Test");
    return done != 0;
  }
  /// Whether all of a range are complete; inactive ones are. received() then tells of each.
  bool test_all(std::size_t first, int count);
  /// Whether one of that range is complete, for reports, between tests of all; what came is kept for received().
  /// MPI_Request_get_status will not do: what it has found complete MPICH 5.0.2 takes for inactive.
  [[nodiscard]] bool test_early(std::size_t first, int count, std::size_t index);
  /// Writes the positions, relative to `first`, of requests that have completed since, and returns
  /// how many; 0 also where none is active. received() then tells of each of them in turn.
  int test_some(std::size_t first, int count, int* completed);
  /// The length of what came, for the `position`th of those that the last test has found complete; -1
  /// where it was longer than the buffer.
  [[nodiscard]] std::int64_t received(std::size_t position) const {
    int bytes = 0;
    if (any_failed_ || !early_.empty() ||
        MPI_Get_count(&statuses_[position], MPI_BYTE, &bytes) != MPI_SUCCESS ||
        bytes == MPI_UNDEFINED) [[unlikely]] {
      return received_in_any_case(position);
    }
    return bytes;
  }

  // An exchange brings the same lengths each time, unless one is at fault. What MPI says of a message is a
  // few bytes, of which its length follows: while they are those of an exchange that was looked at, there is
  // no need to look again.

  /// All that the last test of all has found complete is as it should be, and would be so again.
  void remember() { remembered_ = any_failed_ || !early_.empty() ? Statuses() : statuses_; }
  /// Whether the last test of all has found just what is remembered.
  [[nodiscard]] bool as_remembered() const {
    return !remembered_.empty() && !any_failed_ && early_.empty() &&
           std::memcmp(statuses_.data(), remembered_.data(),
                       statuses_.size() * sizeof(MPI_Status)) == 0;
  }

 private:
  using Statuses = std::vector<MPI_Status>;
  /// What a request was prepared for.
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
  /// Whether a request is to be made: it is none as yet, or one for something else, which is freed.
  bool renew(std::size_t index, const Prepared& message);
  void check_statuses(int code, std::size_t complete);
  [[nodiscard]] std::int64_t received_in_any_case(std::size_t position) const;
  [[nodiscard]] std::int64_t length(std::size_t position) const;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
  std::vector<Prepared> prepared_;
  Statuses statuses_;                ///< of those that the last test has found complete
  Statuses remembered_;              ///< as they should be; empty where that is not known
  bool any_failed_ = false;          ///< of them; else the statuses say nothing of errors
  std::vector<std::int64_t> early_;  ///< lengths by request, where a test of all has failed
  bool all_complete_ = false;
};

}  // namespace vicinal::mpi

// Propagation of faults by planners. A failed rank continues with marked control messages, so that
// no rank waits for it in vain. At the end it throws its own fault; the ranks that learned of it
// throw a fault that names the failed rank.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/records.hpp"
#include "base/runs.hpp"

namespace vicinal {

/// The first fault that a rank knows of: its own, or one that it learned of.
class Status {
 public:
  void report(Fault fault, int rank) {
    if (fault_ < 0) {
      fault_ = static_cast<std::int64_t>(fault);
      rank_ = rank;
    }
  }
  void pass_on(Status& other) const {
    if (!good()) other.report(static_cast<Fault>(fault_), rank_);
  }
  [[nodiscard]] bool good() const { return fault_ < 0; }
  [[nodiscard]] std::int64_t fault() const { return fault_; }
  [[nodiscard]] int rank() const { return rank_; }
  friend void fields(auto&& take, Is<Status> auto& it) { take(it.fault_, it.rank_); }

 private:
  std::int64_t fault_ = -1;
  int rank_ = -1;
};

/// Returns the fault on all ranks for a rank that learned of another rank's fault in doing something.
Error fault_elsewhere(const Status& status, std::string_view doing = "planning");

/// Returns the fault of an edge whose ends give different counts.
Error counts_differ(int from, int to, Index sent, Index expected, std::string_view unit);

/// The faults that a rank knows of while it negotiates: the status that its control messages carry,
/// and its own first fault. The own fault may be a later one.
class FaultRecord {
 public:
  /// `unit` names the counted things in error messages; `doing` names the failed activity.
  FaultRecord(int rank, std::string_view unit, std::string_view doing = "planning")
      : rank_(rank), unit_(unit), doing_(doing) {}

  [[nodiscard]] Status& status() { return status_; }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] bool good() const { return status_.good(); }
  [[nodiscard]] bool own() const { return own_fault_.has_value(); }

  void blame(const std::exception& fault);
  /// Records a fault of this rank if the ends of an edge count differently.
  void compare(int from, int to, Index sent, Index expected);
  /// Returns the result of `make`. If that throws, records the fault and returns `otherwise`.
  template <class Value, class Make>
  Value attempt(Value otherwise, Make make) {
    try {
      return make();
    } catch (const std::exception& fault) {
      blame(fault);
      return otherwise;
    }
  }
  /// Returns the result of `make`; nothing if it fails to allocate, so that the caller can use a
  /// fallback. Records any other fault.
  template <class Make>
  auto attempt_if_room(Make make) -> std::optional<decltype(make())> {
    try {
      return make();
    } catch (const std::exception& fault) {
      if (as_error(fault).fault() != Fault::memory) blame(fault);
      return std::nullopt;
    }
  }
  /// Throws this rank's own fault, or one that names the failed rank, if there is any. It is on all
  /// ranks.
  void settle() const;

 private:
  int rank_;
  std::string_view unit_;
  std::string_view doing_;
  Status status_;
  std::optional<Error> own_fault_;
};

}  // namespace vicinal

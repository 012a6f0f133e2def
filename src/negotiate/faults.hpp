// How planners carry faults. A rank at fault goes on talking, with marked letters, so that nobody
// waits for it in vain; in the end it throws what it found, and whoever was told throws that.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/records.hpp"
#include "base/runs.hpp"

namespace vicinal {

/// A fault thrown by a rank that has said everything the others wait for. They come to their end as
/// well, whereas any other fault leaves them waiting for this rank.
class SettledFault : public Error {
 public:
  explicit SettledFault(const Error& error) : Error(error) {}
};

/// The first fault that a rank knows of: its own, or one that it was told.
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

/// What a rank throws that was told of another's fault in doing something.
SettledFault fault_elsewhere(const Status& status, std::string_view doing = "planning");

/// The fault of an edge whose ends give different counts.
Error counts_differ(int from, int to, Index sent, Index expected, std::string_view unit);

/// What one rank knows of faults while it negotiates: the status that its letters carry, and its own
/// first fault, which may be a later one.
class FaultRecord {
 public:
  /// `unit` is what messages to people call the things that are counted, `doing` what failed.
  FaultRecord(int rank, std::string_view unit, std::string_view doing = "planning")
      : rank_(rank), unit_(unit), doing_(doing) {}

  [[nodiscard]] Status& status() { return status_; }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] bool good() const { return status_.good(); }
  [[nodiscard]] bool own() const { return own_fault_.has_value(); }

  void blame(const std::exception& fault);
  /// Blames this rank if the ends of an edge count differently.
  void compare(int from, int to, Index sent, Index expected);
  /// What `make` gives; if that throws, `otherwise`, and the blame is this rank's.
  template <class Value, class Make>
  Value attempt(Value otherwise, Make make) {
    try {
      return make();
    } catch (const std::exception& fault) {
      blame(fault);
      return otherwise;
    }
  }
  /// What `make` gives; nothing where there is no memory for it, so that something else must serve. For
  /// any other fault the blame is this rank's.
  template <class Make>
  auto attempt_if_room(Make make) -> std::optional<decltype(make())> {
    try {
      return make();
    } catch (const std::exception& fault) {
      if (as_error(fault).fault() != Fault::memory) blame(fault);
      return std::nullopt;
    }
  }
  /// Throws the own fault, or one that names the rank at fault, if there is any.
  void settle() const;

 private:
  int rank_;
  std::string_view unit_;
  std::string_view doing_;
  Status status_;
  std::optional<Error> own_fault_;
};

}  // namespace vicinal

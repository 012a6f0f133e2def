// The call profile: a rank's record of the program's exchanges, for the report that VICINAL_REPORT
// requests. Nothing is recorded without such a request. The report is for people and for programs.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "base/records.hpp"
#include "collectives/gather_loops.hpp"
#include "collectives/graph.hpp"
#include "mpi/backoff.hpp"

namespace vicinal::interpose {

/// The calls of a function from one place of the program.
struct SiteRecord {
  std::string function;
  std::string place;
  std::int64_t calls = 0;
  std::int64_t nanoseconds = 0;   ///< time inside these calls
  std::int64_t calls_of_mpi = 0;  ///< carried out by MPI, for comparison
  std::int64_t nanoseconds_of_mpi = 0;
};
void fields(auto&& take, Is<SiteRecord> auto& it) {
  take(it.function, it.place, it.calls, it.nanoseconds, it.calls_of_mpi, it.nanoseconds_of_mpi);
}

/// The plan that calls of a kind used last, and this rank's part in an exchange by it.
struct PlanRecord {
  std::string kind;
  std::string planner;
  std::string reason;
  std::int64_t messages_far = 0;   ///< sent to other regions
  std::int64_t messages_near = 0;  ///< inside the region
  bool replaces_edges = false;     ///< without a plan, each edge would have a message
  std::int64_t edges_far = 0;
  std::int64_t edges_near = 0;
  std::int64_t bytes_far = 0;  ///< in messages to other regions, as large as planned
  /// expected time of its region's traffic with other regions; 0 if there was no estimate
  std::int64_t planned_ns = 0;
  /// expected time without the plan: by one message per edge, or by MPI
  std::int64_t without_ns = 0;
};
void fields(auto&& take, Is<PlanRecord> auto& it) {
  take(it.kind, it.planner, it.reason, it.messages_far, it.messages_near, it.replaces_edges,
       it.edges_far, it.edges_near, it.bytes_far, it.planned_ns, it.without_ns);
}

struct CommunicatorRecord {
  std::int64_t number = 0;  ///< identical on all ranks
  std::string made_by;
  std::int64_t ranks = 0;
  std::int64_t regions = 0;
  std::vector<SiteRecord> sites;
  std::vector<PlanRecord> plans;
};
void fields(auto&& take, Is<CommunicatorRecord> auto& it) {
  take(it.number, it.made_by, it.ranks, it.regions, it.sites, it.plans);
}

/// Communicators that are left to MPI.
struct LeftRecord {
  std::string made_by;
  std::string why;
  std::int64_t communicators = 0;
};
void fields(auto&& take, Is<LeftRecord> auto& it) { take(it.made_by, it.why, it.communicators); }

struct RankRecord {
  std::string progress;
  std::vector<CommunicatorRecord> communicators;
  std::vector<LeftRecord> left;
};
void fields(auto&& take, Is<RankRecord> auto& it) { take(it.progress, it.communicators, it.left); }

/// Returns the plans that a graph's calls use; none if there is no graph (any more).
[[nodiscard]] std::vector<PlanRecord> plans_of(const std::shared_ptr<Graph>& graph);
/// As above, for allgathers.
[[nodiscard]] std::vector<PlanRecord> plans_of(const std::shared_ptr<GatherLoops>& loops);

/// The record of one communicator. The report contains it once it has entered there.
class CallProfile : public std::enable_shared_from_this<CallProfile> {
 public:
  using Plans = std::function<std::vector<PlanRecord>()>;
  /// Returns null unless a report was requested.
  [[nodiscard]] static std::shared_ptr<CallProfile> if_asked_for() noexcept;
  /// Enters the report, as a served communicator. `made_by`: null if begin() tells it later.
  /// `source` has the plans in use.
  template <class Source>
  void enter(const Graph& graph, const char* made_by,
             const std::shared_ptr<Source>& source) noexcept {
    enter_report(graph, [it = std::weak_ptr(source)] { return plans_of(it.lock()); });
    begin(made_by);
  }

  void note(const void* ours, const void* caller, std::chrono::steady_clock::duration time,
            bool by_mpi) noexcept;
  /// The communicator exists, made by this function of MPI's. The report does not contain it
  /// before. Calls no MPI function.
  void begin(const char* made_by) noexcept { made_by_ = made_by; }
  [[nodiscard]] bool has_begun() const { return made_by_ != nullptr; }
  /// Keeps the plans of a communicator that is freed.
  void close() noexcept;
  [[nodiscard]] CommunicatorRecord record();

 private:
  void enter_report(const Graph& graph, Plans plans);

  struct Site {
    std::int64_t calls = 0, nanoseconds = 0, calls_of_mpi = 0, nanoseconds_of_mpi = 0;
  };
  std::atomic<const char*> made_by_ = nullptr;
  Mutex mutex_;
  /// Null before the communicator is served, and after it is freed.
  Plans plans_ VICINAL_GUARDED_BY(mutex_);
  CommunicatorRecord record_ VICINAL_GUARDED_BY(mutex_);
  std::map<std::pair<const void*, const void*>, Site> sites_ VICINAL_GUARDED_BY(mutex_);
};

/// Records a call, which lasts as long as this lives.
class Noted {
 public:
  Noted(CallProfile* call_profile, const void* ours, const void* caller, bool by_mpi = false)
      : call_profile_(call_profile), ours_(ours), caller_(caller), by_mpi_(by_mpi) {
    if (call_profile_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  ~Noted() {
    if (call_profile_ == nullptr) return;
    call_profile_->note(ours_, caller_, std::chrono::steady_clock::now() - begin_, by_mpi_);
  }

 private:
  CallProfile* call_profile_;
  const void* ours_;
  const void* caller_;
  bool by_mpi_;
  std::chrono::steady_clock::time_point begin_;
};

/// Records that a communicator is left to MPI, unless that fails to allocate.
void note_left(const char* made_by, std::string_view why) noexcept;
/// Records who makes progress for other ranks.
void note_progress(std::string_view who);

/// Writes the report, if one is requested. Collective over MPI_COMM_WORLD, before MPI ends.
void write_report() noexcept;

/// Adds up the records of all ranks (index = rank). Writes JSON to `path` and a table to
/// `path`.txt. Throws an argument fault if a file cannot be written.
void write_report_of(std::span<const RankRecord> ranks, const std::string& path);

}  // namespace vicinal::interpose

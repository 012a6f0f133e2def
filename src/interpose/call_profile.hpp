// What VICINAL_REPORT tells of: what a rank has seen of the program's exchanges. Nothing is noted where no report is asked for.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  std::int64_t nanoseconds = 0;   ///< inside of them
  std::int64_t calls_of_mpi = 0;  ///< carried out by MPI, for comparison
  std::int64_t nanoseconds_of_mpi = 0;
};
void fields(auto&& take, Is<SiteRecord> auto& it) {
  take(it.function, it.place, it.calls, it.nanoseconds, it.calls_of_mpi, it.nanoseconds_of_mpi);
}

/// The plan by which calls of a kind went at last, and what this rank does in an exchange by it.
struct PlanRecord {
  std::string kind;
  std::string planner;
  std::string reason;
  std::int64_t messages_far = 0;   ///< sent to other regions
  std::int64_t messages_near = 0;  ///< inside the region
  bool replaces_edges = false;     ///< there would be a message for each edge without a plan:
  std::int64_t edges_far = 0;
  std::int64_t edges_near = 0;
  std::int64_t bytes_far = 0;  ///< of those messages, as large as was planned for
  std::int64_t planned_ns =
      0;  ///< what its region was expected to take with others; 0 where nothing was
  std::int64_t without_ns = 0;  ///< the same without: one message for each edge, or by MPI
};
void fields(auto&& take, Is<PlanRecord> auto& it) {
  take(it.kind, it.planner, it.reason, it.messages_far, it.messages_near, it.replaces_edges,
       it.edges_far, it.edges_near, it.bytes_far, it.planned_ns, it.without_ns);
}

struct CommunicatorRecord {
  std::int64_t number = 0;  ///< the same on all ranks
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

/// The plans by which a graph's calls go; none where there is no graph (any more).
[[nodiscard]] std::vector<PlanRecord> plans_of(const std::shared_ptr<Graph>& graph);
/// The same of allgathers.
[[nodiscard]] std::vector<PlanRecord> plans_of(const std::shared_ptr<GatherLoops>& loops);

/// What is noted of one communicator. The report has it once it is entered there.
class Ledger : public std::enable_shared_from_this<Ledger> {
 public:
  using Plans = std::function<std::vector<PlanRecord>()>;
  /// Null where no report is asked for. Waits for memory, as enter() does: whose turn it is, all ranks count alike.
  [[nodiscard]] static std::shared_ptr<Ledger> if_asked_for() noexcept;
  /// MPI carries out every so many calls, none where it is 0.
  explicit Ledger(std::int64_t mpis_turn) : mpis_turn_(mpis_turn) {}
  /// The communicator is served. `made_by`: null where begin() is to say it. `source` has the plans in use.
  template <class Source>
  void enter(const Graph& graph, const char* made_by,
             const std::shared_ptr<Source>& source) noexcept {
    mpi::with_memory(
        [&] { enter_report(graph, [it = std::weak_ptr(source)] { return plans_of(it.lock()); }); });
    begin(made_by);
  }

  /// A call of the program's as it enters, of the function `ours` stands for. True where MPI is to carry it out, for
  /// comparison: the same on all ranks. Of blocking ones alone.
  [[nodiscard]] bool is_mpis_turn(const void* ours) noexcept;
  void note(const void* ours, const void* caller, std::chrono::steady_clock::duration time,
            bool by_mpi) noexcept;
  /// The communicator is there, made by that function of MPI's: before, a report does not tell of it. Calls nothing of MPI's.
  void begin(const char* made_by) noexcept { made_by_ = made_by; }
  [[nodiscard]] bool has_begun() const { return made_by_ != nullptr; }
  /// The communicator is freed.
  void close() noexcept;
  [[nodiscard]] CommunicatorRecord record();

 private:
  void enter_report(const Graph& graph, Plans plans);

  struct Site {
    std::int64_t calls = 0, nanoseconds = 0, calls_of_mpi = 0, nanoseconds_of_mpi = 0;
  };
  /// More than there are functions; who counts alike on all ranks must not do without memory.
  static constexpr std::size_t most_functions = 64;

  const std::int64_t mpis_turn_;
  std::atomic<const char*> made_by_ = nullptr;
  Mutex mutex_;
  /// None before the communicator is served, nor once it is freed.
  Plans plans_ VICINAL_GUARDED_BY(mutex_);
  CommunicatorRecord record_ VICINAL_GUARDED_BY(mutex_);
  std::map<std::pair<const void*, const void*>, Site> sites_ VICINAL_GUARDED_BY(mutex_);
  std::array<std::pair<const void*, std::int64_t>, most_functions> numbers_
      VICINAL_GUARDED_BY(mutex_){};
};

/// Notes calls while it lives.
class Noted {
 public:
  Noted(Ledger* ledger, const void* ours, const void* caller, bool by_mpi = false)
      : ledger_(ledger), ours_(ours), caller_(caller), by_mpi_(by_mpi) {
    if (ledger_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  ~Noted() {
    if (ledger_ == nullptr) return;
    ledger_->note(ours_, caller_, std::chrono::steady_clock::now() - begin_, by_mpi_);
  }

 private:
  Ledger* ledger_;
  const void* ours_;
  const void* caller_;
  bool by_mpi_;
  std::chrono::steady_clock::time_point begin_;
};

/// A communicator is left to MPI; without memory for that, it is not told.
void note_left(const char* made_by, std::string_view why) noexcept;
/// Who brings on what others depend on.
void note_progress(std::string_view who);

/// Writes the report, where one is asked for. Collective over MPI_COMM_WORLD, before MPI ends.
void write_report() noexcept;

}  // namespace vicinal::interpose

// Records the program's calls, and makes each rank's record at the end.
#include "interpose/call_profile.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <sstream>

#include "base/log.hpp"
#include "base/no_destructor.hpp"
#include "base/setting.hpp"
#include "execute/agreed_plan.hpp"
#include "interpose/own.hpp"
#include "mpi/collectives.hpp"
#include "mpi/environment.hpp"
#include "mpi/own_progress.hpp"
#include "plan/checks.hpp"

namespace vicinal::interpose {
namespace {

/// Never destroyed: the program may end MPI in the destructor of a static object.
struct Books {
  Mutex mutex;
  std::vector<std::shared_ptr<CallProfile>> all VICINAL_GUARDED_BY(mutex);
  std::map<std::pair<std::string, std::string>, std::int64_t> left VICINAL_GUARDED_BY(mutex);
  std::string progress VICINAL_GUARDED_BY(mutex);
};

Books& books() {
  static NoDestructor<Books> it;
  return *it;
}

bool is_asked_for() {
  static const bool is = environment_value("vicinal_report").has_value();
  return is;
}

/// Returns a text such as "main+0x1f3 of program".
std::string name_of_place(const void* address) {
  std::ostringstream text;
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  const std::string_view path(info.dli_fname);
  const void* const base = info.dli_sname != nullptr ? info.dli_saddr : info.dli_fbase;
  if (info.dli_sname != nullptr) text << info.dli_sname;
  text << "+0x" << std::hex << static_cast<const char*>(address) - static_cast<const char*>(base)
       << " of " << path.substr(path.rfind('/') + 1);
  return text.str();
}

constexpr std::array kinds = {"alltoallv", "allgatherv", "alltoall", "allgather"};

std::int64_t edges_to_other_ranks(const Neighborhood& ground, bool far) {
  std::int64_t count = 0;
  for (const int rank : ground.destinations) {
    count += rank != ground.rank && ground.machine->same_region(rank, ground.rank) != far;
  }
  return count;
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

PlanRecord record_of(std::string kind, const AgreedPlan& plan, double by_plan, double without) {
  const Plans& plans = plan.plans();
  const Statistics sent = statistics(plans.forward);
  PlanRecord record;
  record.kind = std::move(kind);
  record.planner = plans.forward.planner;
  record.reason = plans.reason;
  record.messages_far = sent.non_local.messages;
  record.messages_near = sent.local.messages;
  record.bytes_far = sent.non_local.elements * plans.element_bytes;
  record.planned_ns = nanoseconds(by_plan);
  record.without_ns = nanoseconds(without);
  return record;
}

RankRecord record_of_rank() {
  RankRecord record;
  std::vector<std::shared_ptr<CallProfile>> all;
  {
    const Lock lock(books().mutex);
    all = books().all;
    record.progress = books().progress;
    for (const auto& [what, count] : books().left)
      record.left.push_back({what.first, what.second, count});
  }
  for (const auto& call_profile : all) {
    if (call_profile->has_begun()) record.communicators.push_back(call_profile->record());
  }
  return record;
}

/// Returns this rank's record; empty if no report is requested.
Words words_of_rank() {
  Words words;
  if (is_asked_for()) WordWriter(words).write(record_of_rank());
  return words;
}

}  // namespace

std::vector<PlanRecord> plans_of(const std::shared_ptr<Graph>& graph) {
  std::vector<PlanRecord> records;
  if (!graph) return records;
  const Neighborhood& ground = graph->neighborhood();
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto plan = graph->plan_in_use(static_cast<CallKind>(kind));
    if (!plan) continue;
    const Forecast& forecast = plan->plans().forecast;
    PlanRecord record = record_of(kinds[kind], *plan, forecast.by_plan, forecast.by_message);
    record.replaces_edges = true;
    record.edges_far = edges_to_other_ranks(ground, true);
    record.edges_near = edges_to_other_ranks(ground, false);
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<PlanRecord> plans_of(const std::shared_ptr<GatherLoops>& loops) {
  std::vector<PlanRecord> records;
  if (!loops) return records;
  for (const GatherLoops::PlanInUse& it : loops->plans()) {
    if (!it.plan) continue;
    records.push_back(
        record_of("allgather, " + it.what, *it.plan, it.price.by_plan, it.price.by_mpi));
    if (!it.measured.empty()) records.back().reason = it.measured;
  }
  return records;
}

std::shared_ptr<CallProfile> CallProfile::if_asked_for() noexcept {
  return is_asked_for() ? std::make_shared<CallProfile>() : nullptr;
}

void CallProfile::enter_report(const Graph& graph, Plans plans) {
  CommunicatorRecord record;
  record.number = graph.number();
  record.ranks = graph.neighborhood().machine->size();
  record.regions = graph.neighborhood().machine->regions();
  {
    const Lock lock(books().mutex);
    books().all.push_back(shared_from_this());
  }
  const Lock lock(mutex_);
  record_ = std::move(record);
  plans_ = std::move(plans);
}

void CallProfile::note(const void* ours, const void* caller,
                       std::chrono::steady_clock::duration time, bool by_mpi) noexcept try {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  const Lock lock(mutex_);
  Site& site = sites_[{ours, caller}];
  (by_mpi ? site.calls_of_mpi : site.calls) += 1;
  (by_mpi ? site.nanoseconds_of_mpi : site.nanoseconds) += nanoseconds;
} catch (const std::exception&) {
  // The call is not recorded if that fails to allocate.
}

void CallProfile::close() noexcept {
  const Lock lock(mutex_);
  try {
    if (plans_) record_.plans = plans_();
  } catch (const std::exception&) {
    // The plans are not recorded if that fails to allocate.
  }
  plans_ = nullptr;
}

CommunicatorRecord CallProfile::record() {
  const Lock lock(mutex_);
  if (plans_) record_.plans = plans_();
  CommunicatorRecord record = record_;
  record.made_by = made_by_;
  for (const auto& [of, site] : sites_) {
    record.sites.push_back({function_of(of.first), name_of_place(of.second), site.calls,
                            site.nanoseconds, site.calls_of_mpi, site.nanoseconds_of_mpi});
  }
  return record;
}

void note_left(const char* made_by, std::string_view why) noexcept {
  try {
    if (!is_asked_for()) return;
    const Lock lock(books().mutex);
    ++books().left[{made_by, std::string(why)}];
  } catch (const std::exception&) {
    // The communicator is left to MPI nevertheless.
  }
}

void note_progress(std::string_view who) {
  const Lock lock(books().mutex);
  books().progress = who;
}

void write_report() noexcept {
  try {
    if (!mpi::is_alive()) return;
    if (!mpi::has_world()) {
      if (is_asked_for()) {
        warn_once(
            "the report that VICINAL_REPORT asks for is not written: the program has sessions "
            "alone, and it is gathered over MPI_COMM_WORLD");
      }
      return;
    }
    Words words;
    {
      const mpi::Inside inside;
      words = words_of_rank();
    }
    if (words.empty()) return;
    std::vector<RankRecord> ranks;
    for (const Words& of_rank : mpi::gather_in_world(words)) {
      WordReader reader(of_rank, "a report", static_cast<int>(ranks.size()));
      ranks.push_back(reader.read<RankRecord>());
    }
    if (!ranks.empty()) write_report_of(ranks, from_start(*environment_value("vicinal_report")));
  } catch (const std::exception& reason) {
    warn_once("the report that VICINAL_REPORT asks for is not written: ", reason.what());
  }
}

}  // namespace vicinal::interpose

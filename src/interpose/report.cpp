// Writes the report. The number of calls is that of the rank with most, and their time that of the
// slowest rank, for which the others wait. Messages are added up over all ranks.
#include "interpose/call_profile.hpp"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <map>
#include <set>
#include <utility>

#include "base/json.hpp"
#include "mpi/environment.hpp"

namespace vicinal::interpose {
namespace {

struct Site {
  std::int64_t calls = 0, calls_of_mpi = 0;
  double seconds = 0, seconds_of_mpi = 0;

  [[nodiscard]] double per_call() const {
    return calls > 0 ? seconds / static_cast<double>(calls) : 0;
  }
  [[nodiscard]] double per_call_of_mpi() const {
    return calls_of_mpi > 0 ? seconds_of_mpi / static_cast<double>(calls_of_mpi) : 0;
  }
};

struct PlanOfAll {
  std::string planner;
  std::set<std::string> reasons;
  std::int64_t messages_far = 0, messages_near = 0, edges_far = 0, edges_near = 0;
  std::int64_t bytes_far = 0;
  bool replaces_edges = false;
  double expected = 0, expected_without = 0;  ///< in seconds, of the slowest region
};

struct Communicator {
  std::string made_by;
  std::int64_t ranks = 0, regions = 0;
  std::map<std::pair<std::string, std::string>, Site> sites;  ///< by function and place
  std::map<std::string, PlanOfAll> plans;                     ///< by kind
};

using Communicators = std::map<std::int64_t, Communicator>;

Communicators added_up(std::span<const RankRecord> ranks) {
  constexpr double nano = 1e-9;
  Communicators all;
  for (const RankRecord& rank : ranks) {
    for (const CommunicatorRecord& record : rank.communicators) {
      Communicator& it = all[record.number];
      it.made_by = record.made_by;
      it.ranks = record.ranks;
      it.regions = record.regions;
      for (const SiteRecord& site : record.sites) {
        Site& sum = it.sites[{site.function, site.place}];
        sum.calls = std::max(sum.calls, site.calls);
        sum.calls_of_mpi = std::max(sum.calls_of_mpi, site.calls_of_mpi);
        sum.seconds = std::max(sum.seconds, static_cast<double>(site.nanoseconds) * nano);
        sum.seconds_of_mpi =
            std::max(sum.seconds_of_mpi, static_cast<double>(site.nanoseconds_of_mpi) * nano);
      }
      for (const PlanRecord& plan : record.plans) {
        PlanOfAll& sum = it.plans[plan.kind];
        sum.planner = plan.planner;
        sum.reasons.insert(plan.reason);
        sum.messages_far += plan.messages_far;
        sum.messages_near += plan.messages_near;
        sum.edges_far += plan.edges_far;
        sum.edges_near += plan.edges_near;
        sum.bytes_far += plan.bytes_far;
        sum.expected = std::max(sum.expected, static_cast<double>(plan.planned_ns) * nano);
        sum.replaces_edges = plan.replaces_edges;
        sum.expected_without =
            std::max(sum.expected_without, static_cast<double>(plan.without_ns) * nano);
      }
    }
  }
  return all;
}

std::string name_of(std::int64_t number) {
  return std::to_string(number / mpi::graphs_per_communicator) + "." +
         std::to_string(number % mpi::graphs_per_communicator);
}

void write_json(std::ostream& out, const RankRecord& first, std::size_t ranks,
                const Communicators& all) {
  JsonWriter json(out);
  json.begin_object().key("format").value(1).key("vicinal").value(VICINAL_VERSION_STRING);
  json.key("mpi").value(mpi::library_version()).key("ranks").value(ranks);
  json.key("progress").value(first.progress).key("communicators").begin_array();
  for (const auto& [number, it] : all) {
    json.begin_object().key("name").value(name_of(number)).key("made_by").value(it.made_by);
    json.key("ranks").value(it.ranks).key("regions").value(it.regions).key("calls").begin_array();
    for (const auto& [of, site] : it.sites) {
      json.begin_object().key("function").value(of.first).key("place").value(of.second);
      json.key("calls").value(site.calls).key("seconds").value(site.seconds);
      json.key("calls_of_mpi").value(site.calls_of_mpi);
      json.key("seconds_of_mpi").value(site.seconds_of_mpi).end_object();
    }
    json.end_array().key("plans").begin_array();
    for (const auto& [kind, plan] : it.plans) {
      json.begin_object().key("kind").value(kind).key("planner").value(plan.planner);
      json.key("reasons").begin_array();
      for (const std::string& reason : plan.reasons) json.value(reason);
      json.end_array().key("messages").begin_object();
      json.key("to_other_regions").value(plan.messages_far).key("inside").value(plan.messages_near);
      json.end_object();
      if (plan.replaces_edges) {
        json.key("messages_without").begin_object();
        json.key("to_other_regions").value(plan.edges_far).key("inside").value(plan.edges_near);
        json.end_object();
      }
      json.key("bytes_to_other_regions").value(plan.bytes_far);
      json.key("expected_seconds").value(plan.expected);
      json.key("expected_seconds_without").value(plan.expected_without).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("left_to_mpi").begin_array();
  for (const LeftRecord& left : first.left) {
    json.begin_object().key("made_by").value(left.made_by).key("why").value(left.why);
    json.key("communicators").value(left.communicators).end_object();
  }
  json.end_array().end_object();
  out << '\n';
}

void write_table(std::ostream& out, const RankRecord& first, std::size_t ranks,
                 const Communicators& all) {
  constexpr double micro = 1e6;
  out << "vicinal " << VICINAL_VERSION_STRING << ", " << mpi::library_version() << ", " << ranks
      << " ranks\n"
      << std::fixed << std::setprecision(1);
  for (const auto& [number, it] : all) {
    if (it.sites.empty()) continue;
    out << "\ncommunicator " << name_of(number) << " of " << it.made_by << ": " << it.ranks
        << " ranks in " << it.regions << " regions\n";
    for (const auto& [of, site] : it.sites) {
      out << "  " << of.first << " at " << of.second << ": " << site.calls << " calls of "
          << site.per_call() * micro << " us";
      if (site.calls_of_mpi > 0) {
        out << "; MPI's own " << site.calls_of_mpi << " of " << site.per_call_of_mpi() * micro
            << " us";
      }
      out << '\n';
    }
    for (const auto& [kind, plan] : it.plans) {
      const auto in_place_of = [&](std::int64_t edges) {
        if (plan.replaces_edges) out << " in the place of " << edges;
      };
      out << "  " << kind << " by " << plan.planner << ": " << plan.messages_far
          << " messages between regions";
      in_place_of(plan.edges_far);
      out << ", " << plan.messages_near << " inside";
      in_place_of(plan.edges_near);
      out << "; " << plan.bytes_far << " bytes between regions\n";
      if (plan.expected > 0) {
        out << "    by the profile it takes " << plan.expected * micro
            << (plan.replaces_edges ? " us between regions, " : " us, ")
            << plan.expected_without * micro
            << (plan.replaces_edges ? " us with one message for each edge\n"
                                    : " us by algorithms that do not look at regions\n");
      }
      for (const std::string& reason : plan.reasons) {
        if (!reason.empty()) out << "    " << reason << '\n';
      }
    }
    if (it.plans.empty()) out << "  no plan has been made\n";
  }
  if (!first.left.empty()) out << "\nleft to MPI\n";
  for (const LeftRecord& left : first.left) {
    out << "  " << left.communicators << " of " << left.made_by << ": " << left.why << '\n';
  }
}

template <class Write>
void write_file(const std::string& path, Write write) {
  std::ofstream file(path);
  write(file);
  file.flush();
  require(file.good(), Fault::argument, path, " cannot be written");
}

}  // namespace

void write_report_of(std::span<const RankRecord> ranks, const std::string& path) {
  const Communicators all = added_up(ranks);
  write_file(path, [&](std::ostream& out) { write_json(out, ranks.front(), ranks.size(), all); });
  write_file(path + ".txt",
             [&](std::ostream& out) { write_table(out, ranks.front(), ranks.size(), all); });
}

}  // namespace vicinal::interpose

// Regions and hosts as labels per rank, and the forms in which a user can specify regions. All
// planners trust a region map, so it is checked strictly here: an undetected mistake would show
// only as bad performance. Shares of cores are sums, for each node, of the CPU sets of its ranks.
#include "locality/machine.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/setting.hpp"

namespace vicinal {

namespace {

/// Numbers labels from 0 in the order of their first appearance; returns the number of distinct
/// labels.
template <class Label>
int number(const std::vector<Label>& labels, std::vector<int>& numbers) {
  std::unordered_map<Label, int> known;
  numbers.resize(labels.size());
  for (std::size_t rank = 0; rank < labels.size(); ++rank) {
    const auto next = static_cast<int>(known.size());
    numbers[rank] = known.try_emplace(labels[rank], next).first->second;
  }
  return static_cast<int>(known.size());
}

int renumber(std::vector<int>& labels, const char* what) {
  for (std::size_t rank = 0; rank < labels.size(); ++rank) {
    require(labels[rank] >= 0, Fault::topology, "rank ", rank, " has the ", what, " label ",
            labels[rank], "; labels must not be negative");
  }
  return number(labels, labels);
}

/// Returns the part of a share's cores for `ranks` of its ranks. It multiplies first, so that
/// rounding cannot raise the result above a whole number of cores.
double part_of(const CoreShare& share, int ranks) {
  return ranks == share.ranks ? share.cores : share.cores * ranks / share.ranks;
}

std::string forms() { return "expected one of: " + expected(setting("vicinal_regions")); }

std::optional<int> read_number(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || digits.front() == '-' || error != std::errc() ||
      end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

int read_positive(std::string_view text, std::string_view digits) {
  const std::optional<int> number = read_number(digits);
  require(number.has_value() && *number > 0, Fault::topology, "region specification \"", text,
          "\": \"", digits, "\" is no positive whole number; ", forms());
  return *number;
}

std::vector<int> read_list(std::string_view text, std::string_view list, std::size_t ranks) {
  std::vector<int> labels;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    const std::optional<int> label = read_number(entry);
    require(label.has_value(), Fault::topology, "region specification \"", text, "\": entry ",
            labels.size(), ", \"", entry,
            "\", is no whole number from 0; separate labels with single commas");
    labels.push_back(*label);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  require(labels.size() == ranks, Fault::topology, "region specification \"", text, "\" has ",
          labels.size(), " labels, but the communicator has ", ranks,
          " ranks; give exactly one label for each rank");
  return labels;
}

std::vector<int> read_one(std::string_view text, const DetectedPlaces& places) {
  if (text == "node") return places.node_of;
  if (text == "numa") return places.numa_of;
  const std::size_t ranks = places.node_of.size();
  const std::size_t colon = text.find(':');
  const std::string_view form = text.substr(0, colon);
  const bool has_argument = colon != std::string_view::npos;
  const std::string_view argument = has_argument ? text.substr(colon + 1) : std::string_view();

  if (has_argument && (form == "blocks" || form == "round-robin")) {
    const int number = read_positive(text, argument);
    std::vector<int> labels(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const int r = static_cast<int>(rank);
      labels[rank] = form == "blocks" ? r / number : r % number;
    }
    return labels;
  }
  if (has_argument && form == "list") return read_list(text, argument, ranks);
  fail(Fault::topology, "region specification \"", text, "\" is not known; ", forms());
}

struct Node {
  int ranks = 0;
  double told = -1;
  std::set<std::int64_t> sets;
  double cpus = 0;

  void add(const CpuClaim& claim) {
    if (ranks++ == 0) told = claim.told;
    if (sets.insert(claim.set).second) cpus += static_cast<double>(claim.cpus);
  }
  [[nodiscard]] CoreShare share() const {
    const double cores = told >= 0 ? told : cpus;
    return {cores > 0 ? std::min<double>(cores, ranks) : ranks, ranks};
  }
};

}  // namespace

Machine::Machine(std::vector<int> region_of, std::vector<int> host_of, std::vector<int> inner_of,
                 const std::vector<CoreShare>& core_share_of)
    : region_of_(std::move(region_of)),
      host_of_(std::move(host_of)),
      inner_of_(std::move(inner_of)),
      has_inner_(!inner_of_.empty()) {
  require(region_of_.size() == host_of_.size(), Fault::topology, "a machine was given regions for ",
          region_of_.size(), " ranks but hosts for ", host_of_.size(),
          "; both need one label for each rank");
  const int regions = renumber(region_of_, "region");
  hosts_ = renumber(host_of_, "host");
  host_size_.assign(static_cast<std::size_t>(hosts_), 0);
  for (const int host : host_of_) ++host_size_[static_cast<std::size_t>(host)];
  require(core_share_of.empty() || core_share_of.size() == host_of_.size(), Fault::topology,
          "a machine was given hosts for ", host_of_.size(), " ranks but shares of cores for ",
          core_share_of.size(), "; give none, or one for each rank");
  host_cores_.assign(host_size_.begin(), host_size_.end());
  for (std::size_t rank = 0; rank < core_share_of.size(); ++rank) {
    const auto host = static_cast<std::size_t>(host_of_[rank]);
    host_cores_[host] = part_of(core_share_of[rank], host_size_[host]);
  }
  if (inner_of_.empty()) {
    inner_of_ = region_of_;
  } else {
    require(inner_of_.size() == region_of_.size(), Fault::topology,
            "a machine was given regions for ", region_of_.size(), " ranks but inner regions for ",
            inner_of_.size(), "; both need one label for each rank");
    const int inner = renumber(inner_of_, "inner region");
    std::vector<std::int64_t> both(inner_of_.size());
    for (std::size_t i = 0; i < both.size(); ++i) {
      both[i] = std::int64_t{region_of_[i]} * inner + inner_of_[i];
    }
    number(both, inner_of_);
  }

  region_start_.assign(static_cast<std::size_t>(regions) + 1, 0);
  for (const int region : region_of_) ++region_start_[static_cast<std::size_t>(region) + 1];
  for (std::size_t i = 1; i < region_start_.size(); ++i) region_start_[i] += region_start_[i - 1];
  members_.resize(region_of_.size());
  std::vector<int> next(region_start_.begin(), region_start_.end() - 1);
  for (int rank = 0; rank < size(); ++rank) {
    int& place = next[static_cast<std::size_t>(this->region_of(rank))];
    members_[static_cast<std::size_t>(place++)] = rank;
  }
}

std::span<const int> Machine::members(int region) const {
  const auto begin = static_cast<std::size_t>(region_start_[static_cast<std::size_t>(region)]);
  const auto end = static_cast<std::size_t>(region_start_[static_cast<std::size_t>(region) + 1]);
  return std::span<const int>(members_).subspan(begin, end - begin);
}

std::vector<int> read_regions(std::string_view text, const DetectedPlaces& places) {
  read_inner_regions(text, places);
  return read_one(text.substr(0, text.find('/')), places);
}

std::vector<int> sharing_under(std::string_view text, const std::vector<int>& regions,
                               const std::vector<int>& host_of) {
  const std::string_view outer = text.substr(0, text.find('/'));
  if (outer == "node" || outer == "numa") return host_of;
  std::vector<std::int64_t> both(host_of.size());
  for (std::size_t rank = 0; rank < both.size(); ++rank) {
    both[rank] = std::int64_t{host_of[rank]} << 32U | regions[rank];
  }
  std::vector<int> labels(both.size());
  number(both, labels);
  return labels;
}

std::vector<int> read_inner_regions(std::string_view text, const DetectedPlaces& places) {
  const std::size_t slash = text.find('/');
  return slash == std::string_view::npos ? std::vector<int>()
                                         : read_one(text.substr(slash + 1), places);
}

std::vector<CoreShare> core_shares(const std::vector<int>& node_of,
                                   std::span<const CpuClaim> claims) {
  std::map<int, Node> nodes;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) nodes[node_of[rank]].add(claims[rank]);
  std::vector<CoreShare> shares;
  shares.reserve(node_of.size());
  for (const int node : node_of) shares.push_back(nodes.at(node).share());
  return shares;
}

}  // namespace vicinal

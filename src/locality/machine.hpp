// Locality: where ranks live. A host is a set of ranks that can share memory, as the system
// reports. A region is a set of ranks among which planners assume cheap communication; the system
// defines it, or the user overrides it. The two are independent: an overridden region may span
// hosts, and a host may hold several regions. Regions that the user names stand for hosts: two
// ranks then count as on one host if both region and host agree. Regions may hold inner regions
// (the NUMA domains of a node). All objects of a communicator share one Machine. The CPUs on which
// ranks may run give an estimate of how many cores the ranks of a node share.
//
// Regions have leaders for their pairs: the traffic between two regions passes through one rank of
// each. The leader follows from the region numbers, so no rank needs to ask. Leadership of a
// region's pairs is distributed round-robin over its members. Both directions of a pair use the
// same two ranks. The members of a region that share a host can gather in shared memory what their
// leaders send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal {

struct CpuClaim {
  std::int64_t cpus = 0;  ///< number of CPUs on which the rank may run; 0 if unknown
  std::int64_t set = 0;   ///< identifies the CPUs: equal for equal sets
  /// Cores that the node's ranks share, as set by the user; 0 for one core each, -1 if not set.
  double told = -1;
};

/// A number of cores and the number of ranks that share them: one core each, or fewer. Both numbers
/// are kept, because rounding could make ranks times quotient differ from the cores.
struct CoreShare {
  double cores = 1;
  int ranks = 1;

  [[nodiscard]] bool is_crowded() const { return cores < ranks; }
  friend bool operator==(const CoreShare&, const CoreShare&) = default;
};

/// Returns, for each rank, the cores and ranks of its node: at most one core per rank, and one each
/// if nothing is known. `told` of a node's lowest rank applies to all its ranks. Without
/// it, different CPU sets are assumed to be disjoint: a launcher binds ranks to parts of a node, or
/// leaves placement to the system.
std::vector<CoreShare> core_shares(const std::vector<int>& node_of,
                                   std::span<const CpuClaim> claims);

/// Distance between two ranks, nearest first.
enum class Level : std::uint8_t {
  domain,   ///< in one inner region, if regions have these
  node,     ///< on one host, or in one region
  network,  ///< neither of these
};
inline constexpr std::size_t level_count = 3;

class Machine {
 public:
  /// `region_of` and `host_of` hold one non-negative label per rank; labels are renumbered from 0
  /// in the order of their lowest rank. Two ranks share an inner region if their outer and inner
  /// labels agree. Without inner labels, each region is its own inner region. `core_share_of` gives
  /// each rank's share of cores; empty means one core each. It is equal on all ranks of a host, and
  /// may cover further ranks. Throws a topology fault if the lists differ in length.
  Machine(std::vector<int> region_of, std::vector<int> host_of, std::vector<int> inner_of = {},
          const std::vector<CoreShare>& core_share_of = {});

  [[nodiscard]] int size() const { return static_cast<int>(region_of_.size()); }
  [[nodiscard]] int regions() const { return static_cast<int>(region_start_.size()) - 1; }
  [[nodiscard]] int hosts() const { return hosts_; }
  [[nodiscard]] int region_of(int rank) const { return region_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int inner_region_of(int rank) const {
    return inner_of_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int host_of(int rank) const { return host_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool same_region(int a, int b) const { return region_of(a) == region_of(b); }
  [[nodiscard]] bool same_host(int a, int b) const { return host_of(a) == host_of(b); }
  /// Returns the distance of two ranks. Ranks are near if they share a host or a region, also one
  /// that the user named.
  [[nodiscard]] Level level(int a, int b) const {
    if (has_inner_ && inner_region_of(a) == inner_region_of(b)) return Level::domain;
    return same_region(a, b) || same_host(a, b) ? Level::node : Level::network;
  }
  [[nodiscard]] int ranks_on(int host) const { return host_size_[static_cast<std::size_t>(host)]; }
  /// Cores that the host's ranks have together, as far as known: one per rank if none is shared.
  [[nodiscard]] double cores_on(int host) const {
    return host_cores_[static_cast<std::size_t>(host)];
  }
  /// Returns the ranks of a region in ascending order.
  [[nodiscard]] std::span<const int> members(int region) const;

 private:
  std::vector<int> region_of_;
  std::vector<int> host_of_;
  std::vector<int> inner_of_;
  std::vector<int> region_start_;
  std::vector<int> members_;
  std::vector<int> host_size_;
  std::vector<double> host_cores_;
  int hosts_ = 0;
  bool has_inner_ = false;
};

/// Places of each rank as the system reports them; the input of read_regions().
struct DetectedPlaces {
  std::vector<int> node_of;
  std::vector<int> numa_of;              ///< a label unique across nodes
  std::vector<CoreShare> core_share_of;  ///< of the rank's node
};

/// Reads a region specification into one label per rank:
/// - "node": the system's nodes (the default)
/// - "numa": the system's NUMA domains
/// - "blocks:K": ranks 0..K-1, K..2K-1, ...: equal blocks of K, the last one shorter
/// - "round-robin:N": rank r in region r mod N
/// - "list:0,0,1,2": one label for each rank
/// - "node/numa": two of these with a slash between them, the regions and the inner regions
///
/// Throws a topology fault that quotes the text and says what is expected.
std::vector<int> read_regions(std::string_view text, const DetectedPlaces& places);
/// Returns the inner regions of the same text, one label per rank; empty if the text has none.
std::vector<int> read_inner_regions(std::string_view text, const DetectedPlaces& places);
/// Returns one label per rank; ranks with equal labels may share memory under these regions. `text`
/// is the specification of the regions. For "node" and "numa", the labels are the hosts. Regions
/// that the user names stand for hosts, and ranks of different regions share no memory.
std::vector<int> sharing_under(std::string_view text, const std::vector<int>& regions,
                               const std::vector<int>& host_of);

/// Returns the index of a region's leader for region `other`, among the region's `members` ranks.
[[nodiscard]] inline int place_of_leader(std::size_t members, int other) {
  return static_cast<int>(static_cast<std::size_t>(other) % members);
}

/// Returns the rank that leads the traffic of `region` with `other`.
[[nodiscard]] inline int leader(const Machine& machine, int region, int other) {
  const std::span<const int> members = machine.members(region);
  return members[static_cast<std::size_t>(place_of_leader(members.size(), other))];
}

/// Returns the rank that represents a region in exchanges among all regions.
[[nodiscard]] inline int region_leader(const Machine& machine, int region) {
  return machine.members(region).front();
}

/// Returns whether all members of a region live on one host.
[[nodiscard]] inline bool share_a_host(const Machine& machine, int region) {
  const std::span<const int> members = machine.members(region);
  return std::all_of(members.begin(), members.end(),
                     [&](int rank) { return machine.same_host(rank, members.front()); });
}

}  // namespace vicinal

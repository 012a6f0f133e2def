// Where ranks live. A host is a set of ranks that can share memory, as the system says; a region is a
// set of ranks among which planners take communication to be cheap, as the system says or as the user
// overrides it. The two are independent: an overridden region may span hosts, and a host may hold
// several regions. Regions that a person names stand for hosts: ranks then count as on one host where region and host are the same. Regions may hold inner regions (the NUMA domains of a node). One Machine is shared
// by everything on a communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "locality/core_shares.hpp"

namespace vicinal {

/// How near two ranks are, the nearest first.
enum class Level : std::uint8_t {
  domain,   ///< in one inner region, where regions have such
  node,     ///< on one host, or in one region
  network,  ///< neither
};
inline constexpr std::size_t level_count = 3;

class Machine {
 public:
  /// Regions and hosts are any non-negative labels, one per rank; they are renumbered from 0 in the
  /// order of their lowest rank. Ranks are in one inner region where they have both labels, outer and
  /// inner, in common; without inner labels, a region is its own inner region. `core_share_of` says
  /// which cores each rank has with others, where it has none of its own; it is the same for all of a host, which may be a
  /// part of those others. Throws a topology fault where the lists differ in length.
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
  /// Ranks are near where the system says so, or a person does who has named the regions.
  [[nodiscard]] Level level(int a, int b) const {
    if (has_inner_ && inner_region_of(a) == inner_region_of(b)) return Level::domain;
    return same_region(a, b) || same_host(a, b) ? Level::node : Level::network;
  }
  [[nodiscard]] int ranks_on(int host) const { return host_size_[static_cast<std::size_t>(host)]; }
  /// That the host's ranks have together, as far as is known: as many as ranks where each has its own.
  [[nodiscard]] double cores_on(int host) const {
    return host_cores_[static_cast<std::size_t>(host)];
  }
  /// The ranks of a region, ascending.
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

/// What the system says of each rank, for read_regions to build on.
struct DetectedPlaces {
  std::vector<int> node_of;
  std::vector<int> numa_of;              ///< a label unique over nodes
  std::vector<CoreShare> core_share_of;  ///< the node's cores and ranks
};

/// Reads a region specification into one label per rank:
///   "node"            the system's nodes (the default)
///   "numa"            the system's NUMA domains
///   "blocks:K"        ranks 0..K-1, K..2K-1, ...: equal blocks of K, the last one shorter
///   "round-robin:N"   rank r in region r mod N
///   "list:0,0,1,2"    one label for each rank
/// or two of these with a slash between them, the regions and the inner regions, as "node/numa".
/// Throws a topology fault that quotes the text and says what is expected.
std::vector<int> read_regions(std::string_view text, const DetectedPlaces& places);
/// The inner regions of the same text, again one label per rank; none where it has none.
std::vector<int> read_inner_regions(std::string_view text, const DetectedPlaces& places);
/// The ranks with one label may share memory under these regions, of which `text` says what they are: those of a host, where regions are
/// the system's. Regions that a person has named stand for hosts, and share nothing with each other.
std::vector<int> sharing_under(std::string_view text, const std::vector<int>& regions,
                               const std::vector<int>& host_of);

}  // namespace vicinal

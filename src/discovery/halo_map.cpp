// Every form finds the owner of each index, and asks it for runs of indices. It turns the requests
// that it receives into runs of owned positions. The forms differ in how they find the owners.
#include "discovery/halo_map.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "base/conversation.hpp"
#include "base/error.hpp"
#include "discovery/findings.hpp"
#include "discovery/ownership.hpp"

namespace vicinal {
namespace {

std::size_t as_size(Index value) { return static_cast<std::size_t>(value); }

/// Message from a rank to an owner: the indices that it needs from there.
struct Wanted {
  static constexpr std::string_view name = "indices that are needed";
  std::vector<IndexRun> runs;
};
void fields(auto&& take, Is<Wanted> auto& it) { take(it.runs); }

/// An index and its position in the given array.
struct Placed {
  Index index = 0;
  Index place = 0;
};

std::vector<Placed> sort_indices(std::span<const Index> indices) {
  std::vector<Placed> sorted;
  sorted.reserve(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    sorted.push_back({indices[i], static_cast<Index>(i)});
  }
  const auto before = [](const Placed& a, const Placed& b) {
    return a.index < b.index || (a.index == b.index && a.place < b.place);
  };
  if (!std::is_sorted(indices.begin(), indices.end())) {
    std::sort(sorted.begin(), sorted.end(), before);
  }
  return sorted;
}

void check_bounds(std::span<const Placed> sorted, const char* what) {
  if (sorted.empty()) return;
  const Placed& low = sorted.front();
  require(low.index >= 0, Fault::argument, what, '[', low.place, "] is ", low.index,
          "; global indices must not be negative");
  const Placed& high = sorted.back();
  require(high.index <= largest_index, Fault::argument, what, '[', high.place, "] is ", high.index,
          "; global indices must be at most ", largest_index);
}

/// Returns runs of (global index, owned position), ascending in the index.
std::vector<CopyRun> owned_runs(std::span<const Index> owned) {
  const std::vector<Placed> sorted = sort_indices(owned);
  check_bounds(sorted, "owned");
  std::vector<CopyRun> runs;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    require(i == 0 || sorted[i - 1].index != sorted[i].index, Fault::argument, "owned[",
            sorted[i == 0 ? 0 : i - 1].place, "] and owned[", sorted[i].place, "] are both index ",
            sorted[i].index, "; a rank must give each index that it owns once");
    append_run(runs, {sorted[i].index, sorted[i].place, 1});
  }
  return runs;
}

/// The needed indices, each once.
struct Needed {
  std::vector<Index> indices;  ///< ascending
  std::vector<Index> slots;    ///< per index, one slot that needs it, for error messages
  std::vector<Index> which;    ///< per slot, the position in `indices`
};

Needed sort_needed(std::span<const Index> given) {
  const std::vector<Placed> sorted = sort_indices(given);
  check_bounds(sorted, "needed");
  Needed needed;
  needed.which.resize(given.size());
  for (const Placed& placed : sorted) {
    if (needed.indices.empty() || needed.indices.back() != placed.index) {
      needed.indices.push_back(placed.index);
      needed.slots.push_back(placed.place);
    }
    needed.which[as_size(placed.place)] = static_cast<Index>(needed.indices.size()) - 1;
  }
  return needed;
}

void check_owners(const Needed& needed, std::span<const int> owners) {
  const auto lost = std::find(owners.begin(), owners.end(), no_owner);
  if (lost == owners.end()) return;
  const auto position = static_cast<std::size_t>(lost - owners.begin());
  fail(Fault::argument, "needed[", needed.slots[position], "] is index ", needed.indices[position],
       ", which no rank owns; each needed index must be among those that some rank owns");
}

/// Returns one owner per distinct index, from one per slot.
std::vector<int> distinct_owners(const Needed& needed, std::span<const int> given, int size) {
  require(given.size() == needed.which.size(), Fault::argument, given.size(),
          " owners were given for ", needed.which.size(),
          " needed indices; each needs exactly one");
  std::vector<int> owners(needed.indices.size(), no_owner);
  for (std::size_t slot = 0; slot < given.size(); ++slot) {
    require(given[slot] >= 0 && given[slot] < size, Fault::rank, "owners[", slot, "] is ",
            given[slot], ", but the communicator has ranks 0 to ", size - 1);
    int& owner = owners[as_size(needed.which[slot])];
    require(owner == no_owner || owner == given[slot], Fault::argument, "index ",
            needed.indices[as_size(needed.which[slot])], " is said to be owned by rank ", owner,
            " and by rank ", given[slot], "; each index must have one owner");
    owner = given[slot];
  }
  return owners;
}

/// Fills in the receive side of the map; returns the requests to the owners.
std::vector<ControlMessage> ask(const Needed& needed, std::span<const int> owners, HaloMap& map) {
  std::vector<int>& ranks = map.receive_ranks;
  std::unique_copy(owners.begin(), owners.end(), std::back_inserter(ranks));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());

  std::vector<InEdge>& edges = map.pattern.in;
  for (const int rank : ranks) edges.push_back({rank, 0, {}});
  std::vector<std::vector<IndexRun>> runs(edges.size());
  std::vector<std::size_t> edge_of(owners.size());
  std::vector<Index> offset_of(owners.size());
  std::size_t edge = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (ranks[edge] != owners[i]) {
      const auto found = std::lower_bound(ranks.begin(), ranks.end(), owners[i]);
      edge = static_cast<std::size_t>(found - ranks.begin());
    }
    edge_of[i] = edge;
    offset_of[i] = edges[edge].count++;
    append_run(runs[edge], {needed.indices[i], 1});
  }

  // In the order of the slots: slots that are consecutive in both orders become one run.
  map.receive_offsets.assign(edges.size() + 1, 0);
  for (std::size_t slot = 0; slot < needed.which.size(); ++slot) {
    const std::size_t which = as_size(needed.which[slot]);
    append_run(edges[edge_of[which]].slots, {offset_of[which], static_cast<Index>(slot), 1});
    ++map.receive_offsets[edge_of[which] + 1];
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    map.receive_offsets[e + 1] += map.receive_offsets[e];
    for (const CopyRun& run : edges[e].slots) {
      for (Index i = 0; i < run.count; ++i) map.receive_positions.push_back(run.target + i);
    }
  }

  std::vector<ControlMessage> messages;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    messages.push_back(message_to(ranks[e], Wanted{std::move(runs[e])}));
  }
  return messages;
}

void append_item(std::vector<ItemRun>& items, Index position, Index count) {
  if (!items.empty() && items.back().identity + items.back().count == position) {
    items.back().count += count;
  } else {
    items.push_back({position, position, count});
  }
}

/// Appends the owned positions of a run of indices; returns the first index that is not owned.
std::optional<Index> locate(std::span<const CopyRun> owned, IndexRun run,
                            std::vector<ItemRun>& items) {
  auto next =
      std::upper_bound(owned.begin(), owned.end(), run.first,
                       [](Index index, const CopyRun& o) { return index < o.source + o.count; });
  while (run.count > 0) {
    if (next == owned.end() || next->source > run.first) return run.first;
    const Index skipped = run.first - next->source;
    const Index count = std::min(run.count, next->count - skipped);
    append_item(items, next->target + skipped, count);
    run = {run.first + count, run.count - count};
    ++next;
  }
  return std::nullopt;
}

/// Fills in the send side of the map from the requests of other ranks.
std::optional<Error> serve(int rank, std::span<const ControlMessage> requests,
                           std::span<const CopyRun> owned, HaloMap& map) {
  map.send_offsets.push_back(0);
  std::optional<Error> finding;
  for (const ControlMessage& request : requests) {
    OutEdge& edge = map.pattern.out.emplace_back();
    edge.rank = request.peer;
    for (const IndexRun& run : contents_of<Wanted>(request).runs) {
      const std::optional<Index> missing = locate(owned, run, edge.items);
      if (!missing || finding) continue;
      finding = Error(Fault::argument, "rank " + std::to_string(request.peer) + " needs index " +
                                           std::to_string(*missing) + " from rank " +
                                           std::to_string(rank) + ", which does not own it")
                    .on_all_ranks();
    }
    map.send_ranks.push_back(request.peer);
    for (const ItemRun& item : edge.items) {
      for (Index i = 0; i < item.count; ++i) map.send_indices.push_back(item.position + i);
    }
    map.send_offsets.push_back(static_cast<Index>(map.send_indices.size()));
  }
  return finding;
}

HaloMap empty_map(Index owned_count, std::span<const Index> needed) {
  HaloMap map;
  map.pattern.identity = true;
  map.owned_count = owned_count;
  map.ghost_count = static_cast<Index>(needed.size());
  return map;
}

/// Last step of the forms that have checked ownership.
HaloMap finish(mpi::Communicator& communicator, std::span<const CopyRun> owned,
               const Needed& needed, std::span<const int> owners, const ExchangeOptions& options,
               HaloMap map, std::optional<Error> mine = {}) {
  std::vector<ControlMessage> requests;
  attempt(mine, [&] {
    check_owners(needed, owners);
    requests = ask(needed, owners, map);
  });
  requests = exchange_messages(communicator, requests, options, mine);
  std::optional<Error> impossible;
  attempt(mine, [&] { impossible = serve(communicator.rank(), requests, owned, map); });
  if (mine) throw Error(*mine);
  require(!impossible, Fault::internal, "an index was asked of a rank that does not own it");
  return map;
}

}  // namespace

HaloMap form_halo(mpi::Communicator& communicator, std::pair<Index, Index> owned_range,
                  std::span<const Index> needed_indices, const ExchangeOptions& options) {
  std::optional<Error> mine;
  Needed needed;
  attempt(mine, [&] { needed = sort_needed(needed_indices); });
  const auto [first, last] = owned_range;
  const RangeOwnership ownership(communicator, first, last, mine);
  std::vector<CopyRun> owned;
  std::vector<int> owners;
  HaloMap map;
  attempt(mine, [&] {
    append_run(owned, {first, 0, last - first});
    owners = ownership.owners(needed.indices);
    map = empty_map(last - first, needed_indices);
  });
  return finish(communicator, owned, needed, owners, options, std::move(map), std::move(mine));
}

HaloMap form_halo(mpi::Communicator& communicator, std::span<const Index> owned_indices,
                  std::span<const Index> needed_indices, const ExchangeOptions& options) {
  std::optional<Error> mine;
  std::vector<CopyRun> owned;
  Needed needed;
  attempt(mine, [&] {
    owned = owned_runs(owned_indices);
    needed = sort_needed(needed_indices);
  });
  std::vector<int> owners;
  attempt_together(
      mine, [&] { owners = find_owners(communicator, owned, needed.indices, options, mine); });
  HaloMap map;
  if (!mine) map = empty_map(static_cast<Index>(owned_indices.size()), needed_indices);
  return finish(communicator, owned, needed, owners, options, std::move(map), std::move(mine));
}

HaloMap form_halo(mpi::Communicator& communicator, std::span<const Index> owned_indices,
                  std::span<const Index> needed_indices, std::span<const int> given_owners,
                  const ExchangeOptions& options) {
  HaloMap map = empty_map(static_cast<Index>(owned_indices.size()), needed_indices);
  std::optional<Error> mine;
  std::vector<CopyRun> owned;
  std::vector<ControlMessage> requests;
  attempt(mine, [&] {
    owned = owned_runs(owned_indices);
    const Needed needed = sort_needed(needed_indices);
    requests = ask(needed, distinct_owners(needed, given_owners, communicator.size()), map);
  });
  attempt_together(mine,
                   [&] { requests = exchange_messages(communicator, requests, options, mine); });
  std::optional<Error> unserved;
  attempt(mine, [&] { unserved = serve(communicator.rank(), requests, owned, map); });
  if (!mine) mine = std::move(unserved);
  agree(communicator, mine);
  return map;
}

}  // namespace vicinal

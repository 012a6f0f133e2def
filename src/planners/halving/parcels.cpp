// Edges with the same items are found by their lists of identities, joined where runs touch.
#include "planners/halving/parcels.hpp"

#include <map>
#include <utility>

namespace vicinal::halving {

namespace {

using Identities = std::vector<std::pair<Index, Index>>;  // first, count

Identities identities(const OutEdge& edge) {
  Identities result;
  for (const ItemRun& run : edge.items) {
    if (run.count == 0) continue;
    if (!result.empty() && result.back().first + result.back().second == run.identity) {
      result.back().second += run.count;
    } else {
      result.emplace_back(run.identity, run.count);
    }
  }
  return result;
}

}  // namespace

std::vector<Parcel> make_parcels(const Pattern& pattern, int rank) {
  std::vector<Parcel> parcels;
  std::map<Identities, std::size_t> known;
  std::map<int, int> edges_to;
  for (const OutEdge& edge : pattern.out) {
    std::size_t place = parcels.size();
    if (pattern.identity) place = known.try_emplace(identities(edge), place).first->second;
    if (place == parcels.size()) {
      Parcel& parcel = parcels.emplace_back();
      parcel.origin = rank;
      for (const ItemRun& run : edge.items) {
        append_run(parcel.source, {run.position, parcel.count, run.count});
        parcel.count += run.count;
      }
    }
    parcels[place].destinations.push_back({edge.rank, edges_to[edge.rank]++});
  }
  return parcels;
}

}  // namespace vicinal::halving

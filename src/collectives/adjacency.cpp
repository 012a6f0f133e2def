// One letter goes to each rank that is an end of an edge. Both ends sort what they are told by the other end, who
// has named it, and when; so the k-th edge between two ranks is the same one at both.
#include "collectives/adjacency.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/letters.hpp"
#include "discovery/exchange.hpp"
#include "discovery/findings.hpp"

namespace vicinal {

namespace {

/// What a rank hears of an edge of its own.
struct EdgeEnd {
  int other = 0;
  int weight = 0;
  bool incoming = false;
};
void fields(auto&& take, Is<EdgeEnd> auto& it) { take(it.other, it.weight, it.incoming); }

struct EdgeEnds {
  static constexpr std::string_view name = "named edges";
  std::vector<EdgeEnd> ends;
};
void fields(auto&& take, Is<EdgeEnds> auto& it) { take(it.ends); }

std::vector<Letter> letters_for(std::span<const NamedEdge> edges, int size) {
  std::map<int, EdgeEnds> ends;
  for (const NamedEdge& edge : edges) {
    for (const int rank : {edge.from, edge.to}) {
      require(rank >= 0 && rank < size, Fault::rank, "an edge from rank ", edge.from, " to rank ",
              edge.to, " was given, but the communicator has ranks 0 to ", size - 1);
    }
    ends[edge.from].ends.push_back({edge.to, edge.weight, false});
    ends[edge.to].ends.push_back({edge.from, edge.weight, true});
  }
  std::vector<Letter> letters;
  for (const auto& [rank, all] : ends) letters.push_back(letter_to(rank, all));
  return letters;
}

/// What this rank has been told.
Adjacency adjacency_in(std::span<const Letter> letters) {
  std::vector<EdgeEnd> ends;
  for (const Letter& letter : letters) {
    const auto told = contents_of<EdgeEnds>(letter).ends;
    ends.insert(ends.end(), told.begin(), told.end());
  }
  // Letters come by their senders, so equal ones stay in the order in which they were named.
  std::stable_sort(ends.begin(), ends.end(),
                   [](const EdgeEnd& a, const EdgeEnd& b) { return a.other < b.other; });
  Adjacency mine;
  for (const EdgeEnd& end : ends) {
    (end.incoming ? mine.sources : mine.destinations).push_back(end.other);
    (end.incoming ? mine.source_weights : mine.destination_weights).push_back(end.weight);
  }
  return mine;
}

}  // namespace

Adjacency adjacency_of(mpi::Communicator& communicator, std::span<const NamedEdge> edges,
                       const Settings& settings, std::optional<Error> fault) {
  std::optional<Finding> finding;
  if (fault) finding.emplace(std::move(*fault));
  std::vector<Letter> letters;
  std::vector<Given> given;
  attempt(finding, [&] {
    communicator.machine(settings.regions);
    letters = letters_for(edges, communicator.size());
    given = given_settings(settings, communicator.default_regions());
  });
  agree_on(communicator, given, finding);
  Adjacency mine;
  std::vector<Letter> told;
  attempt_together(
      finding, [&] { told = exchange_letters(communicator, letters, exchange_options(settings)); });
  attempt(finding, [&] { mine = adjacency_in(told); });
  // The others go on to make a graph of it, which needs all ranks.
  share_findings(communicator, finding);
  return mine;
}

}  // namespace vicinal

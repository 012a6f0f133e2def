// Each rank sends one control message to every rank at an end of an edge that it names. Both ends
// sort their edges by the other end, then by the rank that named the edge, then by the order of
// naming. So the k-th edge between two ranks is the same edge at both.
#include "collectives/adjacency.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/conversation.hpp"
#include "discovery/exchange.hpp"
#include "discovery/findings.hpp"

namespace vicinal {

namespace {

/// An edge, as one of its ends receives it.
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

std::vector<ControlMessage> messages_for(std::span<const NamedEdge> edges, int size) {
  std::map<int, EdgeEnds> ends;
  for (const NamedEdge& edge : edges) {
    for (const int rank : {edge.from, edge.to}) {
      require(rank >= 0 && rank < size, Fault::rank, "an edge from rank ", edge.from, " to rank ",
              edge.to, " was given, but the communicator has ranks 0 to ", size - 1);
    }
    ends[edge.from].ends.push_back({edge.to, edge.weight, false});
    ends[edge.to].ends.push_back({edge.from, edge.weight, true});
  }
  std::vector<ControlMessage> messages;
  for (const auto& [rank, all] : ends) messages.push_back(message_to(rank, all));
  return messages;
}

/// Returns this rank's edges from the control messages that it has received.
Adjacency adjacency_in(std::span<const ControlMessage> messages) {
  std::vector<EdgeEnd> ends;
  for (const ControlMessage& message : messages) {
    const auto told = contents_of<EdgeEnds>(message).ends;
    ends.insert(ends.end(), told.begin(), told.end());
  }
  // Control messages are sorted by sender, so edges with the same peer stay in the order in which
  // ranks named them.
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
  std::optional<Error> finding;
  if (fault) finding.emplace(std::move(*fault));
  std::vector<ControlMessage> messages;
  std::vector<Given> given;
  attempt(finding, [&] {
    communicator.machine(settings.regions);
    messages = messages_for(edges, communicator.size());
    given = given_settings(settings, communicator.default_regions());
  });
  agree(communicator, finding, {}, given);
  Adjacency mine;
  std::vector<ControlMessage> told;
  attempt_together(finding, [&] {
    told = exchange_messages(communicator, messages, exchange_options(settings));
  });
  attempt(finding, [&] { mine = adjacency_in(told); });
  // The other ranks continue with the creation of a graph, which needs all ranks.
  agree(communicator, finding);
  return mine;
}

}  // namespace vicinal

// Gives each communicator with neighbours a graph as soon as MPI has made it. All ranks are in that
// call. Later calls may lack ranks, since programs skip the exchanges of ranks that have no
// neighbours.
//
// A communicator may have the same ranks, in the same order, as the one it was made from. Then its
// messages use the private communicator of that one, so a program that makes many communicators
// pays for one. With several threads, communicators with the same ranks may be made in any order.
// Then only those made directly from a communicator share its private one, since MPI orders them.
//
// MPI alone serves a communicator that vicinal cannot serve, on all ranks: all of them learn of a
// fault in making a graph.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/arguments.hpp"
#include "collectives/adjacency.hpp"
#include "discovery/findings.hpp"
#include "interpose/own.hpp"
#include "interpose/serving.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"
#include "mpi/topology.hpp"

namespace vicinal::interpose {
namespace {

constexpr const char* nothing_to_join =
    "no two of its regions have more than one edge between them in a direction";

bool is_open_mpi() noexcept { return mpi::library_is("Open MPI"); }

/// Returns the communicator whose private one carries the messages of communicators made from
/// `parent` with the same ranks.
std::shared_ptr<mpi::Communicator> home_of(MPI_Comm parent) {
  const Served* const served = Served::on(parent);
  if (served != nullptr && !mpi::thread_multiple()) return served->graph()->shared_communicator();
  return mpi::Communicator::of(parent);
}

/// Returns whether all ranks are on one host, as far as that is known before anything is set up.
/// Collective over the parent.
bool is_on_one_host(MPI_Comm parent) {
  if (Served::on(parent) != nullptr || mpi::Communicator::known(parent) != nullptr) return false;
  return mpi::look_around(parent, has_regions_of_its_own()).one_host;
}

/// Returns whether several edges of this rank's region lead to one other region, or come from one.
/// Otherwise messages cannot be joined.
bool has_edges_to_join(const Neighborhood& ground) {
  const auto several = [&](const std::vector<RegionLink>& links, const std::vector<int>& peers) {
    return std::any_of(links.begin(), links.end(), [&](const RegionLink& link) {
      const auto of_this_rank = std::count_if(peers.begin(), peers.end(), [&](int peer) {
        return ground.machine->region_of(peer) == link.region;
      });
      return link.members.size() > 1 || of_this_rank > 1;
    });
  };
  return several(ground.out(), ground.destinations) || several(ground.in(), ground.sources);
}

/// The input of a graph. `fault`: an error in it that this rank has detected.
struct Ingredients {
  Ends sources;
  Ends destinations;
  Settings settings;
  std::optional<Error> fault;
};

/// Makes a graph, by which vicinal then serves the communicator. Leaves the communicator to MPI, on
/// all ranks, if nothing makes progress on one of them. Leaves it, too, if no edges can be joined
/// and MPI is not `wrong`. Keeps a clone of the graph for MPI_Comm_idup, which must not
/// communicate. Collective over the graph.
void serve_by(const std::shared_ptr<mpi::Communicator>& communicator, Ingredients of, MPI_Comm made,
              const char* how, bool wrong) {
  enum Number : std::size_t { progresses, joins_nothing, has_duplicate, has_edges, numbers };
  std::array<std::int64_t, numbers> least{};
  least[progresses] = of.settings.options.strict_progress ? 0 : 1;
  // Every rank draws it, even if the rank fails afterwards.
  const std::int64_t of_duplicate = next_graph_number(*communicator);
  std::optional<Error> finding;
  std::unique_ptr<Served> served;
  attempt(finding, [&] {
    auto graph = Graph::make(communicator, std::move(of.sources), std::move(of.destinations),
                             std::move(of.settings), std::move(of.fault));
    graph->wait_for_repetition();
    least[joins_nothing] = has_edges_to_join(graph->neighborhood()) ? 0 : 1;
    least[has_edges] = graph->neighborhood().has_edges() ? 1 : 0;
    served = std::make_unique<Served>(made, std::move(graph), wrong);
    least[has_duplicate] = served->keep_duplicate(of_duplicate) ? 1 : 0;
  });
  agree(*communicator, finding, least);
  if (least[progresses] == 0) return note_left(how, nobody_progresses);
  if (least[joins_nothing] != 0 && !wrong) return note_left(how, nothing_to_join);
  if (least[has_duplicate] == 0) served->give_up_duplicate();
  if (least[has_edges] != 0) served->note_that_all_have_edges();
  served->begin_call_profile(how);
  mpi::attach(made, mpi::Attached::neighbors, std::move(served));
}

/// Serves a communicator that MPI has made from `parent`. Leaves it to MPI if all ranks are in one
/// region or no edges can be joined, since MPI's own exchanges are as fast then. Serves it
/// nevertheless if those are `wrong`. `fault`: an error in the neighbours that this rank has
/// detected. Collective over the parent.
void serve(MPI_Comm parent, MPI_Comm made, MPI_Info info, const char* how, bool wrong, Ends sources,
           Ends destinations, std::optional<Error> fault) noexcept {
  or_leave_to_mpi(how, [&] {
    if (!wrong && is_on_one_host(parent)) return note_left(how, on_one_host);
    if (made == MPI_COMM_NULL) return;
    Settings settings = settings_from(info, parent, fault);
    const auto communicator =
        mpi::same_ranks(parent, made) ? home_of(parent) : mpi::Communicator::of(made);
    if (!wrong && communicator->machine()->regions() == 1) return note_left(how, on_one_host);
    serve_by(communicator,
             {std::move(sources), std::move(destinations), std::move(settings), std::move(fault)},
             made, how, wrong);
  });
}

/// Returns whether MPI may confuse the two neighbours in a dimension where both are one rank. Open
/// MPI and Intel MPI do so in calls that are not blocking.
bool mixes_sides_up(int dimensions, const int* sizes, const int* periodic) {
  bool mixed = false;
  for (int i = 0; i < dimensions; ++i) mixed |= periodic[i] != 0 && sizes[i] <= 2;
  return mixed && (is_open_mpi() || mpi::library_is("Intel(R) MPI"));
}

/// Serves a communicator with the neighbours that MPI names.
void serve_topology(MPI_Comm parent, MPI_Comm made, const char* how, bool wrong = false) noexcept {
  mpi::Topology topology;
  std::optional<Error> fault;
  attempt(fault, [&] {
    if (made != MPI_COMM_NULL) topology = mpi::topology_of(made);
  });
  // Only vicinal does not support it: MPI allows it.
  if (fault) fault = Error(Fault::unsupported, *fault);
  serve(parent, made, MPI_INFO_NULL, how, wrong,
        {std::move(topology.sources.ranks), std::move(topology.sources.order)},
        {std::move(topology.destinations.ranks), std::move(topology.destinations.order)},
        std::move(fault));
}

/// Serves a graph that MPI has made of these edges. Collective over the parent.
void serve_edges(MPI_Comm parent, MPI_Comm made, MPI_Info info, const char* how,
                 std::span<const int> sources, std::span<const int> destinations) {
  // Open MPI treats a graph that is made from a grid as a grid, and crashes.
  serve(parent, made, info, how, is_open_mpi() && mpi::has_topology(parent),
        Ends(std::vector<int>(sources.begin(), sources.end())),
        Ends(std::vector<int>(destinations.begin(), destinations.end())), std::nullopt);
}

int dist_graph_create_adjacent(MPI_Comm parent, int indegree, const int* sources,
                               const int* sourceweights, int outdegree, const int* destinations,
                               const int* destweights, MPI_Info info, int reorder, MPI_Comm* made) {
  const int code =
      own<&dist_graph_create_adjacent>(parent, indegree, sources, sourceweights, outdegree,
                                       destinations, destweights, info, reorder, made);
  if (code == MPI_SUCCESS) {
    serve_edges(parent, *made, info, "MPI_Dist_graph_create_adjacent",
                {sources, static_cast<std::size_t>(indegree)},
                {destinations, static_cast<std::size_t>(outdegree)});
  }
  return code;
}

std::vector<NamedEdge> named_edges(int count, const int* sources, const int* degrees,
                                   const int* destinations, const int* weights) {
  c_api::check_list(sources, count, "sources");
  c_api::check_list(degrees, count, "degrees");
  std::vector<NamedEdge> edges;
  for (int i = 0; i < count; ++i) {
    c_api::check_list(destinations, degrees[i], "destinations");
    for (int k = 0; k < degrees[i]; ++k) {
      const std::size_t at = edges.size();
      edges.push_back({sources[i], destinations[at], weights != nullptr ? weights[at] : 1});
    }
  }
  return edges;
}

/// Finds each rank's edges by a sparse exchange of vicinal's, since Open MPI's own function may
/// deadlock. If the exchange fails, it fails on all ranks. MPI then makes the graph, or reports
/// errors in the arguments.
int dist_graph_create(MPI_Comm parent, int count, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Info info, int reorder,
                      MPI_Comm* made) {
  const bool weighted = weights != MPI_UNWEIGHTED;
  std::optional<Adjacency> mine;
  constexpr const char* how = "MPI_Dist_graph_create";
  or_leave_to_mpi(how, [&] {
    std::optional<Error> fault;
    const Settings settings = settings_from(info, parent, fault);
    std::vector<NamedEdge> edges;
    if (!fault) {
      fault = c_api::fault_of([&] {
        edges = named_edges(count, sources, degrees, destinations, weighted ? weights : nullptr);
      });
    }
    mine = adjacency_of(*home_of(parent), edges, settings, std::move(fault));
  });
  if (!mine) {
    return own<&dist_graph_create>(parent, count, sources, degrees, destinations, weights, info,
                                   reorder, made);
  }
  const auto weights_of = [&](const std::vector<int>& all) -> const int* {
    if (!weighted) return MPI_UNWEIGHTED;
    return all.empty() ? MPI_WEIGHTS_EMPTY : all.data();
  };
  const int code = own<&dist_graph_create_adjacent>(
      parent, static_cast<int>(mine->sources.size()), mine->sources.data(),
      weights_of(mine->source_weights), static_cast<int>(mine->destinations.size()),
      mine->destinations.data(), weights_of(mine->destination_weights), info, reorder, made);
  if (code == MPI_SUCCESS) {
    serve_edges(parent, *made, info, how, mine->sources, mine->destinations);
  }
  return code;
}

int cart_create(MPI_Comm parent, int dimensions, const int* sizes, const int* periodic, int reorder,
                MPI_Comm* made) {
  const int code = own<&cart_create>(parent, dimensions, sizes, periodic, reorder, made);
  if (code == MPI_SUCCESS) {
    serve_topology(parent, *made, "MPI_Cart_create", mixes_sides_up(dimensions, sizes, periodic));
  }
  return code;
}

int cart_sub(MPI_Comm parent, const int* remaining, MPI_Comm* made) {
  const int code = own<&cart_sub>(parent, remaining, made);
  if (code == MPI_SUCCESS) {
    // Only some of the dimensions remain. If MPI confuses neighbours in one of all dimensions, it
    // may in one of these.
    mpi::Grid grid;
    {
      const mpi::Inside inside;
      grid = mpi::grid_of(parent);
    }
    serve_topology(parent, *made, "MPI_Cart_sub",
                   mixes_sides_up(static_cast<int>(grid.sizes.size()), grid.sizes.data(),
                                  grid.periodic.data()));
  }
  return code;
}

int graph_create(MPI_Comm parent, int nodes, const int* index, const int* edges, int reorder,
                 MPI_Comm* made) {
  const int code = own<&graph_create>(parent, nodes, index, edges, reorder, made);
  if (code == MPI_SUCCESS) serve_topology(parent, *made, "MPI_Graph_create");
  return code;
}

/// Serves a duplicate, which has the same neighbours, and calls of its own.
void serve_duplicate(MPI_Comm original, MPI_Comm made) noexcept {
  const Served* const served = Served::on(original);
  if (served == nullptr) return;
  constexpr const char* how = "MPI_Comm_dup";
  or_leave_to_mpi(how, [&] {
    const Graph& graph = *served->graph();
    const auto communicator =
        mpi::thread_multiple() ? mpi::Communicator::of(made) : graph.shared_communicator();
    serve_by(communicator, {graph.sources(), graph.destinations(), graph.settings(), std::nullopt},
             made, how, served->mpi_is_wrong());
  });
}

int comm_dup(MPI_Comm original, MPI_Comm* made) {
  const int code = own<&comm_dup>(original, made);
  if (code == MPI_SUCCESS) serve_duplicate(original, *made);
  return code;
}

int comm_dup_with_info(MPI_Comm original, MPI_Info info, MPI_Comm* made) {
  const int code = own<&comm_dup_with_info>(original, info, made);
  if (code == MPI_SUCCESS) serve_duplicate(original, *made);
  return code;
}

/// Duplicates a communicator that exists only when a request completes, and vicinal may see no call
/// then. So MPI itself passes on the object that serves the original, as it does with attributes.
template <auto ours, class... Rest>
int duplicate_later(const char* how, MPI_Comm original, Rest... rest) {
  const Served::Duplicating served(how);
  return own<ours>(original, rest...);
}

int comm_idup(MPI_Comm original, MPI_Comm* made, MPI_Request* request) {
  return duplicate_later<&comm_idup>("MPI_Comm_idup", original, made, request);
}

int comm_idup_with_info(MPI_Comm original, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
  return duplicate_later<&comm_idup_with_info>("MPI_Comm_idup_with_info", original, info, made,
                                               request);
}

}  // namespace

void Served::begin_call_profile(const char* made_by) noexcept {
  call_profile_ = CallProfile::if_asked_for();
  if (call_profile_) call_profile_->enter(*graph_, made_by, graph_);
}

bool Served::keep_duplicate(std::int64_t number) noexcept {
  try {
    duplicate_ = std::make_unique<Served>(MPI_COMM_NULL, graph_->clone(number), mpi_is_wrong_);
    duplicate_->begin_call_profile(nullptr);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<mpi::Attachment> Served::for_duplicate() noexcept {
  const char* const how = Duplicating::made_by_;
  if (how == nullptr) return nullptr;  // serve_duplicate() serves it
  if (duplicate_) {
    if (duplicate_->call_profile_) duplicate_->call_profile_->begin(how);
  } else {
    note_left(how, "one of each communicator can be, and none of a duplicate");
  }
  return std::move(duplicate_);
}

std::span<const Row> creation() {
  static const std::array rows = {
      row<&dist_graph_create_adjacent>("Dist_graph_create_adjacent"),
      row<&dist_graph_create>("Dist_graph_create"),
      row<&cart_create>("Cart_create"),
      row<&cart_sub>("Cart_sub"),
      row<&graph_create>("Graph_create"),
      row<&comm_dup>("Comm_dup"),
      row<&comm_dup_with_info>("Comm_dup_with_info"),
      row<&comm_idup>("Comm_idup"),
      row<&comm_idup_with_info>("Comm_idup_with_info"),
  };
  return rows;
}

}  // namespace vicinal::interpose

// MPI's own function, for calls by the library itself (cmake/call_pmpi.cmake).
extern "C" int vicinal_own_Comm_dup(MPI_Comm original, MPI_Comm* made) {
  return vicinal::interpose::own<&vicinal::interpose::comm_dup>(original, made);
}

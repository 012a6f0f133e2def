#include "topologies.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mpi_completion.hpp"
#include "plans.hpp"

namespace fuzz {
namespace {

using Function = NodeChoice::Function;

constexpr std::array names{"MPI_Dist_graph_create_adjacent",
                           "MPI_Dist_graph_create",
                           "MPI_Cart_create",
                           "MPI_Graph_create",
                           "MPI_Cart_sub",
                           "MPI_Comm_split",
                           "MPI_Comm_dup",
                           "MPI_Comm_dup_with_info",
                           "MPI_Comm_idup"};

thread_local Trial* reported_to = nullptr;

void report_error(MPI_Comm* /*comm*/, int* code, ...) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(*code, text.data(), &length);
  if (reported_to != nullptr) reported_to->fail("MPI reports an error: ", text.data());
}

const int* data_of(const std::vector<int>& values) {
  static const int none = 0;
  return values.empty() ? &none : values.data();
}

int count_of(const std::vector<int>& values) { return static_cast<int>(values.size()); }

Settings settings_of(Random& random, int size) {
  return random.chance(60) ? random_settings(random, size) : Settings();
}

/// Gathers all ranks' neighbors as MPI lists them, where MPI defines the order.
Edges gathered(MPI_Comm comm, const std::vector<int>& own) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  constexpr int most = 64;
  std::vector<int> padded(most, -1);
  std::copy(own.begin(), own.end(), padded.begin());
  std::vector<int> all(at(size) * most);
  MPI_Allgather(padded.data(), most, MPI_INT, all.data(), most, MPI_INT, comm);
  Edges lists(at(size));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] >= 0) lists[i / most].push_back(all[i]);
  }
  return lists;
}

void make_adjacent(Trial& trial, const Node& parent, Node& made) {
  Random& random = trial.common();
  std::string text;
  const Edges destinations = random_edges(random, parent.size, text);
  Edges sources = reversed(destinations);
  for (auto& list : sources) random.shuffle(list);
  const Settings settings = settings_of(random, parent.size);
  Wiring wiring = paired(destinations, sources);
  trial.note(text, text_of(settings));
  const Info info(settings);
  const MPI_Comm comm =
      adjacent(parent.comm, sources[at(parent.rank)], destinations[at(parent.rank)], info.get());
  made.take(comm, Node::Kind::graph, parent.colour, std::move(wiring));
}

/// A random rank gives each edge. MPI chooses the order of neighbors.
void make_dist(Trial& trial, const Node& parent, Node& made) {
  Random& random = trial.common();
  std::string text;
  const Edges edges = random_edges(random, parent.size, text);
  const Settings settings = settings_of(random, parent.size);
  std::vector<int> from, degrees, to, weights;
  for (int rank = 0; rank < parent.size; ++rank) {
    for (const int other : edges[at(rank)]) {
      if (random.below(parent.size) != parent.rank) continue;
      from.push_back(rank);
      degrees.push_back(1);
      to.push_back(other);
    }
  }
  weights.assign(to.size(), 1);
  const bool weighted = random.chance(30);
  trial.note(text, text_of(settings));
  const Info info(settings);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Dist_graph_create(parent.comm, count_of(from), data_of(from), data_of(degrees), data_of(to),
                        weighted ? data_of(weights) : MPI_UNWEIGHTED, info.get(), 0, &comm);
  int in = 0, out = 0, has_weights = 0;
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &has_weights);
  std::vector<int> sources(at(in)), destinations(at(out)), unused(at(std::max(in, out) + 1));
  sources.resize(at(in) + 1);
  destinations.resize(at(out) + 1);
  int* const no_weights = weighted ? unused.data() : MPI_UNWEIGHTED;
  MPI_Dist_graph_neighbors(comm, in, sources.data(), no_weights, out, destinations.data(),
                           no_weights);
  sources.resize(at(in));
  destinations.resize(at(out));
  Edges all_destinations = gathered(comm, destinations);
  const Edges all_sources = gathered(comm, sources);
  made.take(comm, Node::Kind::graph, parent.colour,
            paired(std::move(all_destinations), all_sources));
}

void make_cart(Trial& trial, const Node& parent, Node& made) {
  std::vector<int> dims, periods;
  draw_grid(trial.common(), parent.size, dims, periods);
#ifdef OPEN_MPI
  // Open MPI 5.0.11 delivers wrong blocks in nonblocking calls if a periodic dimension is 1 or 2.
  for (std::size_t d = 0; d < dims.size() && !is_preloaded(); ++d) {
    if (dims[d] <= 2) periods[d] = 0;
  }
#endif
  Wiring wiring = cartesian(dims, periods);
  trial.note(wiring.text);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Cart_create(parent.comm, count_of(dims), dims.data(), periods.data(),
                  trial.common().chance(30) ? 1 : 0, &comm);
  made.take(comm, Node::Kind::grid, parent.colour, std::move(wiring));
}

void make_sub(Trial& trial, const Node& parent, Node& made) {
  int count = 0;
  MPI_Cartdim_get(parent.comm, &count);
  std::vector<int> dims(at(count) + 1), periods(at(count) + 1), place(at(count) + 1);
  MPI_Cart_get(parent.comm, count, dims.data(), periods.data(), place.data());
  std::vector<int> remains, kept_dims, kept_periods;
  int colour = parent.colour;
  for (std::size_t d = 0; d < at(count); ++d) {
    remains.push_back(trial.common().below(2));
    if (remains.back() != 0) {
      kept_dims.push_back(dims[d]);
      kept_periods.push_back(periods[d]);
    } else {
      colour = colour * 8 + place[d] + 1;
    }
  }
  Wiring wiring = cartesian(kept_dims, kept_periods);
  trial.note(wiring.text);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Cart_sub(parent.comm, data_of(remains), &comm);
  made.take(comm, Node::Kind::grid, colour, std::move(wiring));
}

/// All edges go both ways, as neighborhood collectives require of such a graph.
void make_graph_of_all(Trial& trial, const Node& parent, Node& made) {
  Random& random = trial.common();
  const int nodes = random.chance(70) ? parent.size : random.between(1, parent.size);
  std::string text;
  Edges edges(at(nodes));
  const int density = random.pick(std::vector<int>{30, 60, 100});
  for (int rank = 0; rank < nodes; ++rank) {
    for (int other = rank; other < nodes; ++other) {
      for (int times = random.chance(15) ? 2 : 1; times > 0 && random.chance(density); --times) {
        edges[at(rank)].push_back(other);
        if (other != rank) edges[at(other)].push_back(rank);
      }
    }
  }
  std::vector<int> index, flat;
  for (auto& list : edges) {
    random.shuffle(list);
    flat.insert(flat.end(), list.begin(), list.end());
    index.push_back(count_of(flat));
  }
  trial.note("a graph of ", nodes, " nodes, density ", density);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Graph_create(parent.comm, nodes, index.data(), data_of(flat), random.chance(30) ? 1 : 0,
                   &comm);
  made.take(comm, Node::Kind::graph, parent.colour, paired(edges, edges));
}

void make_split(Trial& trial, const Node& parent, Node& made) {
  const int parts = trial.common().between(1, 2);
  const int colour = parent.rank % parts;
  const bool turned = trial.common().chance(50);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(parent.comm, colour, turned ? parent.size - parent.rank : parent.rank, &comm);
  made.take(comm, Node::Kind::plain, parent.colour * 8 + 1 + colour, Wiring());
}

void make_copy(Trial& trial, Function function, const Node& parent, Node& made) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (function == Function::idup) {
    // MPICH 5.0.2 and Open MPI 5.0.11 may hang if another communicator is made before this one is
    // complete.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(parent.comm, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (function == Function::dup) {
    MPI_Comm_dup(parent.comm, &comm);
  } else {
    const Info info(settings_of(trial.common(), parent.size));
    MPI_Comm_dup_with_info(parent.comm, info.get(), &comm);
  }
  made.take(comm, parent.kind, parent.colour, parent.near.wiring);
}

}  // namespace

void report_errors_to(Trial& trial) { reported_to = &trial; }

void Node::take(MPI_Comm made, Kind its_kind, int its_colour, Wiring wiring) {
  comm = made;
  kind = its_kind;
  colour = its_colour;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(report_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  near.wiring = std::move(wiring);
  whole.wiring = complete(size);
  whole.whole = near.reference = comm;
}

void Node::free() {
  freed = true;
  near.reference = whole.whole = MPI_COMM_NULL;
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

NodeChoice choose_node(Random& random, Node::Kind parent) {
  using Kind = Node::Kind;
  auto function = static_cast<Function>(random.below(static_cast<int>(names.size())));
#ifdef OPEN_MPI
  // In Open MPI 5.0.11, MPI_Dist_graph_create() may deadlock. A topology made from a communicator
  // with another topology crashes in neighborhood collectives, or delivers wrong blocks.
  if (!is_preloaded() && function == Function::dist) function = Function::adjacent;
  if (!is_preloaded() && parent != Kind::plain && function <= Function::graph) {
    function = Function::dup;
  }
  // The library leaves a second MPI_Comm_idup() to Open MPI, which then delivers wrong blocks in
  // some grids.
  if (function == Function::idup && parent == Kind::grid) function = Function::dup;
#endif
  switch (function) {
    case Function::adjacent:
    case Function::dist: return {function, Kind::graph};
    case Function::graph: return {function, Kind::graph};
    case Function::cart: return {function, Kind::grid};
    case Function::sub:
      if (parent == Kind::grid) return {function, Kind::grid};
      return {Function::dup, parent};
    case Function::split:
      if (random.chance(30)) return {function, Kind::plain};
      return {Function::dup, parent};
    default: return {function, parent};
  }
}

void make_node(Trial& trial, const NodeChoice& choice, const Node& parent, Node& made) {
  trial.note(names[static_cast<std::size_t>(choice.function)]);
  switch (choice.function) {
    case Function::adjacent: return make_adjacent(trial, parent, made);
    case Function::dist: return make_dist(trial, parent, made);
    case Function::cart: return make_cart(trial, parent, made);
    case Function::graph: return make_graph_of_all(trial, parent, made);
    case Function::sub: return make_sub(trial, parent, made);
    case Function::split: return make_split(trial, parent, made);
    default: return make_copy(trial, choice.function, parent, made);
  }
}

}  // namespace fuzz

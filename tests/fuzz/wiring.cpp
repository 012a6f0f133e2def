#include "wiring.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

namespace fuzz {
namespace {

/// Returns equal numbers for connected ranks.
std::vector<int> components(const Edges& destinations) {
  std::vector<int> of(destinations.size());
  std::iota(of.begin(), of.end(), 0);
  for (std::size_t round = 0; round < of.size(); ++round) {
    for (std::size_t from = 0; from < of.size(); ++from) {
      for (const int to : destinations[from]) {
        if (to >= 0) of[from] = of[at(to)] = std::min(of[from], of[at(to)]);
      }
    }
  }
  return of;
}

}  // namespace

Wiring paired(Edges destinations, const Edges& sources) {
  Wiring wiring;
  wiring.destinations = std::move(destinations);
  for (int rank = 0; rank < wiring.size(); ++rank) {
    auto& origins = wiring.origins.emplace_back();
    std::vector<int> next(sources.size(), 0);
    for (const int from : sources[at(rank)]) {
      const auto& theirs = wiring.destinations[at(from)];
      int& entry = next[at(from)];
      while (theirs.at(at(entry)) != rank) ++entry;
      origins.push_back({from, entry++});
    }
  }
  wiring.component = components(wiring.destinations);
  return wiring;
}

Edges reversed(const Edges& edges) {
  Edges result(edges.size());
  for (std::size_t from = 0; from < edges.size(); ++from) {
    for (const int to : edges[from]) result[at(to)].push_back(static_cast<int>(from));
  }
  return result;
}

Edges random_edges(Random& random, int size, std::string& text) {
  Edges edges(at(size));
  const int form = random.below(8);
  const int density = random.pick(std::vector<int>{5, 15, 30, 60, 90});
  const int parts = random.between(2, 3);
  const int multiple = random.chance(40) ? 25 : 0;
  const bool selves = random.chance(60);
  std::ostringstream words;
  words << "form " << form << ", density " << density << ", multiple " << multiple << ", selves "
        << selves;
  const int centre = random.below(size);
  const std::vector<int> shifts{random.below(size), random.below(size), random.below(size)};
  for (int from = 0; from < size; ++from) {
    const auto add = [&](int to) {
      if (to == from && !selves) return;
      edges[at(from)].push_back(to);
      while (random.chance(multiple)) edges[at(from)].push_back(to);
    };
    if (form == 0 && random.chance(40)) continue;  // sends nothing
    for (int to = 0; to < size; ++to) {
      const bool wanted = form <= 3   ? random.chance(density)
                          : form == 4 ? from % parts == to % parts && random.chance(70)
                          : form == 5 ? from / parts == to / parts
                          : form == 6 ? from == centre || (to == centre && random.chance(50))
                                      : false;
      if (wanted) add(to);
    }
    if (form == 7) {
      for (const int shift : shifts) add((from + shift) % size);
    }
    random.shuffle(edges[at(from)]);
  }
  text = words.str();
  return edges;
}

MPI_Comm adjacent(MPI_Comm comm, const std::vector<int>& sources, const std::vector<int>& targets,
                  MPI_Info info) {
  MPI_Comm made = MPI_COMM_NULL;
  static const int none = 0;
  MPI_Dist_graph_create_adjacent(
      comm, static_cast<int>(sources.size()), sources.empty() ? &none : sources.data(),
      MPI_UNWEIGHTED, static_cast<int>(targets.size()), targets.empty() ? &none : targets.data(),
      MPI_UNWEIGHTED, info, 0, &made);
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

namespace {

std::string listed(const Edges& destinations) {
  std::ostringstream line;
  line << ", destinations";
  for (const auto& list : destinations) {
    line << " [";
    for (const int to : list) line << to << ' ';
    line << ']';
  }
  return line.str();
}

}  // namespace

std::vector<int> Wiring::sources(int rank) const {
  std::vector<int> ranks;
  for (const End& end : origins[at(rank)]) ranks.push_back(end.rank);
  return ranks;
}

bool Wiring::touches(int rank) const {
  return !destinations[at(rank)].empty() || !origins[at(rank)].empty();
}

MPI_Comm make_comm(Trial& trial) {
  Random& random = trial.common();
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int form = random.below(5);
  MPI_Comm made = MPI_COMM_NULL;
  if (form <= 1) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    trial.note("communicator: a duplicate of the world");
    return made;
  }
  const int parts = form == 2 ? 1 : random.between(2, 3);
  const int shift = random.below(size);
  const int colour = form == 3 ? rank % parts : rank * parts / size;
  MPI_Comm_split(MPI_COMM_WORLD, colour, form == 4 ? rank : (rank + shift) % size, &made);
  trial.note("communicator: part ", colour, " of ", parts, ", form ", form, ", turned by ", shift);
  if (parts > 1) trial.split(colour);
  return made;
}

Wiring cartesian(const std::vector<int>& dims, const std::vector<int>& periods) {
  const int count = static_cast<int>(dims.size());
  Wiring wiring;
  std::ostringstream text;
  text << "Cartesian";
  int used = 1;
  for (int d = 0; d < count; ++d) {
    used *= dims[at(d)];
    text << ' ' << dims[at(d)] << (periods[at(d)] != 0 ? "p" : "");
  }
  wiring.text = text.str();
  // Row-major coordinates; in each dimension the lower neighbor first, then the upper one.
  const auto neighbour = [&](int rank, int d, int step) {
    int stride = 1;
    for (int i = count - 1; i > d; --i) stride *= dims[at(i)];
    const int own = rank / stride % dims[at(d)];
    const int other = own + step;
    if (periods[at(d)] == 0 && (other < 0 || other >= dims[at(d)])) return -1;
    return rank + ((other + dims[at(d)]) % dims[at(d)] - own) * stride;
  };
  for (int rank = 0; rank < used; ++rank) {
    auto& destinations = wiring.destinations.emplace_back();
    auto& origins = wiring.origins.emplace_back();
    for (int d = 0; d < count; ++d) {
      for (const int side : {0, 1}) {
        destinations.push_back(neighbour(rank, d, side == 0 ? -1 : 1));
        // Data from the lower neighbor were sent to its upper one.
        origins.push_back({destinations.back(), destinations.back() < 0 ? -1 : 2 * d + 1 - side});
      }
    }
  }
  wiring.component = components(wiring.destinations);
  return wiring;
}

void draw_grid(Random& random, int ranks, std::vector<int>& dims, std::vector<int>& periods) {
  int used = 1;
  for (int d = random.between(1, 3); d > 0; --d) {
    dims.push_back(random.between(1, std::max(1, std::min(4, ranks / used))));
    periods.push_back(random.below(2));
    used *= dims.back();
  }
}

MPI_Comm make_cartesian(Trial& trial, const Team& team, Wiring& wiring) {
  std::vector<int> dims, periods;
  draw_grid(trial.common(), team.size(), dims, periods);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Cart_create(team.comm(), static_cast<int>(dims.size()), dims.data(), periods.data(), 0,
                  &made);
  wiring = cartesian(dims, periods);
  return made;
}

std::string random_regions(Random& random, int size) {
  const auto one = [&] {
    switch (random.below(5)) {
      case 0: return "blocks:" + std::to_string(random.between(1, std::max(1, size / 2)));
      case 1: return "round-robin:" + std::to_string(random.between(1, std::max(1, size - 1)));
      case 2: return std::string("node");
      case 3: return std::string("numa");
      default: break;
    }
    std::string list = "list:";
    const int labels = random.between(1, std::max(1, size / 2));
    for (int i = 0; i < size; ++i)
      list.append(i > 0 ? "," : "").append(std::to_string(random.below(labels)));
    return list;
  };
  const std::string outer = one();
  return random.chance(20) ? outer + "/" + one() : outer;
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text.append(" ").append(key.substr(8)).append("=").append(value);
  return text.empty() ? " defaults" : text;
}

Info::Info(const Settings& settings) {
  if (settings.empty()) return;
  MPI_Info_create(&info_);
  for (const auto& [key, value] : settings) MPI_Info_set(info_, key.c_str(), value.c_str());
}

Info::~Info() {
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

Wiring complete(int size) {
  std::vector<int> ranks(at(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  const Edges all(ranks.size(), ranks);
  return paired(all, all);
}

TestedGraph make_complete(Trial& trial, const Team& team, const Settings& settings,
                          bool as_communicator) {
  TestedGraph made;
  made.wiring = complete(team.size());
  if (as_communicator) {
    trial.note("graph: a communicator");
    made.whole = team.comm();
    return made;
  }
  trial.note("graph: complete,", text_of(settings));
  const Info info(settings);
  trial.succeeds(vicinal_graph_create_complete(team.comm(), info.get(), &made.graph),
                 "creation of a complete graph");
  return made;
}

TestedGraph make_graph(Trial& trial, const Team& team, const Settings& settings,
                       bool has_topology) {
  Random& random = trial.common();
  const Info info(settings);
  const int variant = random.below(10);
  const bool with_reference = random.chance(40) && !has_topology;
  const int rank = team.rank();
  if (variant == 0) return make_complete(trial, team, settings, false);
  TestedGraph made;
  std::string text;
  Edges destinations = random_edges(random, team.size(), text);
  Edges sources = reversed(destinations);
  const char* how = "both sides";
  if (variant == 1 || variant == 2) {
    // The derived side is in ascending order.
    how = variant == 1 ? "destinations" : "sources";
    for (auto& list : variant == 1 ? sources : destinations) std::sort(list.begin(), list.end());
    if (variant == 2) {
      for (auto& list : sources) random.shuffle(list);
    }
  } else {
    for (auto& list : sources) random.shuffle(list);
  }
  const bool from_mpi = variant == 3 && !has_topology;
  if (from_mpi) how = "a distributed graph";
  made.wiring = paired(destinations, sources);
  made.wiring.text = text;
  trial.note("graph: ", text, ", from ", how, ",", text_of(settings), listed(destinations));
  const std::vector<int>& to = destinations[at(rank)];
  const std::vector<int>& from = sources[at(rank)];
  const auto count = [](const std::vector<int>& list) { return static_cast<int>(list.size()); };
  int code = MPI_SUCCESS;
  if (variant == 1) {
    code = vicinal_graph_create_from_destinations(team.comm(), count(to), to.data(), info.get(),
                                                  &made.graph);
  } else if (variant == 2) {
    code = vicinal_graph_create_from_sources(team.comm(), count(from), from.data(), info.get(),
                                             &made.graph);
  } else if (from_mpi) {
    made.reference = adjacent(team.comm(), from, to);
    code = vicinal_graph_create_from_topology(made.reference, info.get(), &made.graph);
  } else {
    code = vicinal_graph_create_adjacent(team.comm(), count(from), from.data(), MPI_UNWEIGHTED,
                                         count(to), to.data(), MPI_UNWEIGHTED, info.get(), 0,
                                         &made.graph);
    if (with_reference) made.reference = adjacent(team.comm(), from, to);
  }
  trial.succeeds(code, "creation of the graph");
  return made;
}

TestedGraph make_graph_of_mpi(Trial& trial, const Team& team, const Settings& settings) {
  std::string text;
  const Edges destinations = random_edges(trial.common(), team.size(), text);
  Edges sources = reversed(destinations);
  for (auto& list : sources) trial.common().shuffle(list);
  TestedGraph made;
  made.wiring = paired(destinations, sources);
  trial.note("graph of MPI's: ", text, ",", text_of(settings), listed(destinations));
  const Info info(settings);
  made.reference =
      adjacent(team.comm(), sources[at(team.rank())], destinations[at(team.rank())], info.get());
  return made;
}

}  // namespace fuzz

// Random graphs that all ranks know, and the ways to make one.
#pragma once

#include <mpi.h>
#include <vicinal/vicinal.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "random.hpp"
#include "trial.hpp"

namespace fuzz {

/// A place in an array.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Who sends to whom. An entry that is no rank is -1.
struct Wiring {
  /// What arrives at an entry of a rank's sources: from which rank, and along which of its edges.
  struct End {
    int rank = -1;
    int entry = -1;
  };
  std::vector<std::vector<int>> destinations;  ///< by rank
  std::vector<std::vector<End>> origins;       ///< by rank
  std::vector<int> component;                  ///< by rank: ranks that share no edge differ
  std::string text;

  [[nodiscard]] std::vector<int> sources(int rank) const;
  [[nodiscard]] bool touches(int rank) const;
  [[nodiscard]] int size() const { return static_cast<int>(destinations.size()); }
};

/// By rank, the ranks at the other ends of its edges.
using Edges = std::vector<std::vector<int>>;
/// Draws edges of one of several forms; `text` becomes the description.
Edges random_edges(Random& random, int size, std::string& text);
/// The same edges, listed at their other ends.
Edges reversed(const Edges& edges);
/// Pairs the k-th edge from p to q at p with the k-th one at q.
Wiring paired(Edges destinations, const Edges& sources);
/// Edges of every rank to every rank.
Wiring complete(int size);
/// Neighbors in a grid, in MPI's order.
Wiring cartesian(const std::vector<int>& dims, const std::vector<int>& periods);
/// Draws a grid of at most that many ranks.
void draw_grid(Random& random, int ranks, std::vector<int>& dims, std::vector<int>& periods);

/// Creates a graph communicator whose errors are returned. Collective.
MPI_Comm adjacent(MPI_Comm comm, const std::vector<int>& sources, const std::vector<int>& targets,
                  MPI_Info info = MPI_INFO_NULL);

/// A communicator that a case made.
class Team {
 public:
  explicit Team(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { free(); }
  void free() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
};

/// Splits, duplicates or reorders the world; afterwards the trial's common choices are the team's.
MPI_Comm make_comm(Trial& trial);

/// How regions may be chosen for so many ranks, in every form.
std::string random_regions(Random& random, int size);

/// Key and value for each setting that is to be other than the default.
using Settings = std::vector<std::pair<std::string, std::string>>;
std::string text_of(const Settings& settings);

class Info {
 public:
  explicit Info(const Settings& settings);
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info();
  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// A graph under test: vicinal's, and now and then the same as MPI has it.
struct TestedGraph {
  Wiring wiring;
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  MPI_Comm reference = MPI_COMM_NULL;
  MPI_Comm whole =
      MPI_COMM_NULL;  ///< a communicator in the place of a graph, for allgathers over it

  TestedGraph() = default;
  TestedGraph(TestedGraph&& other) noexcept
      : wiring(std::move(other.wiring)),
        graph(std::exchange(other.graph, VICINAL_GRAPH_NULL)),
        reference(std::exchange(other.reference, MPI_COMM_NULL)),
        whole(other.whole) {}
  TestedGraph(const TestedGraph&) = delete;
  TestedGraph& operator=(const TestedGraph&) = delete;
  ~TestedGraph() { free_reference(); }
  void free_reference() {
    if (reference != MPI_COMM_NULL) MPI_Comm_free(&reference);
  }
};

/// A random graph over the team, made in a random way. Collective. Where the communicator has a topology
/// of its own, MPI is not asked for another.
TestedGraph make_graph(Trial& trial, const Team& team, const Settings& settings, bool has_topology);

/// The same as a communicator of MPI's alone, the reference. Collective.
TestedGraph make_graph_of_mpi(Trial& trial, const Team& team, const Settings& settings);

/// The same among all ranks: the complete graph, or the communicator itself. Collective.
TestedGraph make_complete(Trial& trial, const Team& team, const Settings& settings,
                          bool as_communicator);

/// A Cartesian grid over the first ranks of the team, and its wiring; MPI_COMM_NULL on the others.
MPI_Comm make_cartesian(Trial& trial, const Team& team, Wiring& wiring);

}  // namespace fuzz

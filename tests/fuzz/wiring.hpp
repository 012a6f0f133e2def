// Random graphs known to all ranks, and functions that create them.
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

/// Converts an index.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The edges of all ranks. An entry of -1 is no rank.
struct Wiring {
  /// Origin of an entry in a rank's sources: the sending rank, and the position among its edges.
  struct End {
    int rank = -1;
    int entry = -1;
  };
  std::vector<std::vector<int>> destinations;  ///< by rank
  std::vector<std::vector<End>> origins;       ///< by rank
  std::vector<int> component;                  ///< by rank: differs for ranks that no path connects
  std::string text;

  [[nodiscard]] std::vector<int> sources(int rank) const;
  [[nodiscard]] bool touches(int rank) const;
  [[nodiscard]] int size() const { return static_cast<int>(destinations.size()); }
};

/// By rank, the ranks at the other ends of its edges.
using Edges = std::vector<std::vector<int>>;
/// Returns edges of one of several forms; sets `text` to a description.
Edges random_edges(Random& random, int size, std::string& text);
/// Returns the edges, listed at their other ends.
Edges reversed(const Edges& edges);
/// Pairs the k-th edge from p to q at p with the k-th one at q.
Wiring paired(Edges destinations, const Edges& sources);
/// Returns edges from every rank to every rank.
Wiring complete(int size);
/// Returns the neighbors in a grid, in MPI's order.
Wiring cartesian(const std::vector<int>& dims, const std::vector<int>& periods);
/// Draws a grid of at most `ranks` ranks.
void draw_grid(Random& random, int ranks, std::vector<int>& dims, std::vector<int>& periods);

/// Creates a graph communicator that returns errors. Collective.
MPI_Comm adjacent(MPI_Comm comm, const std::vector<int>& sources, const std::vector<int>& targets,
                  MPI_Info info = MPI_INFO_NULL);

/// Owns a communicator made by a case.
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

/// Splits, duplicates or reorders the world. After that, the trial's common choices are those of
/// the result.
MPI_Comm make_comm(Trial& trial);

/// Returns a random region setting for `size` ranks, in any form.
std::string random_regions(Random& random, int size);

/// Key and value of each setting that differs from the default.
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

/// A graph under test: vicinal's, and in some cases MPI's equivalent.
struct TestedGraph {
  Wiring wiring;
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  MPI_Comm reference = MPI_COMM_NULL;
  MPI_Comm whole = MPI_COMM_NULL;  ///< instead of a graph, for collectives over all ranks

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

/// Creates a random graph over the team by a random function. Collective. If the communicator
/// already has a topology, MPI creates no reference.
TestedGraph make_graph(Trial& trial, const Team& team, const Settings& settings, bool has_topology);

/// Creates a random graph in MPI only, as the reference. Collective.
TestedGraph make_graph_of_mpi(Trial& trial, const Team& team, const Settings& settings);

/// Returns the complete graph, or the communicator itself. Collective.
TestedGraph make_complete(Trial& trial, const Team& team, const Settings& settings,
                          bool as_communicator);

/// Returns a Cartesian grid over the first ranks of the team, and its wiring; MPI_COMM_NULL on the
/// other ranks.
MPI_Comm make_cartesian(Trial& trial, const Team& team, Wiring& wiring);

}  // namespace fuzz

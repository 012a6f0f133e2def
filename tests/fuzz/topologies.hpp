// Communicators of random programs, made by each MPI function that creates or copies a topology.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "trial.hpp"
#include "wiring.hpp"

namespace fuzz {

/// A communicator of a random program. Each rank has an entry, even if it is not a member.
struct Node {
  enum class Kind { plain, graph, grid };
  Kind kind = Kind::plain;
  MPI_Comm comm = MPI_COMM_NULL;  ///< MPI_COMM_NULL on ranks that are not members
  int rank = 0, size = 0;
  int colour = 0;     ///< distinguishes the communicators made by one split
  TestedGraph near;   ///< for neighborhood collectives
  TestedGraph whole;  ///< for collectives over all ranks
  bool freed = false;

  [[nodiscard]] bool is_member() const { return comm != MPI_COMM_NULL; }
  /// Takes a new communicator, which may be null on this rank.
  void take(MPI_Comm made, Kind its_kind, int its_colour, Wiring wiring);
  /// Frees the communicator on this rank. Collective over its members.
  void free();
};

/// From now on, reports MPI errors on nodes of this thread as findings of the trial.
void report_errors_to(Trial& trial);

/// Function that makes a communicator, and the resulting kind. Known to all ranks, even outside the
/// parent.
struct NodeChoice {
  enum class Function { adjacent, dist, cart, graph, sub, split, dup, dup_with_info, idup };
  Function function = Function::adjacent;
  Node::Kind kind = Node::Kind::graph;
};
NodeChoice choose_node(Random& random, Node::Kind parent);

/// Makes a communicator from `parent`, which has this rank as a member. Collective over its
/// members.
void make_node(Trial& trial, const NodeChoice& choice, const Node& parent, Node& made);

}  // namespace fuzz

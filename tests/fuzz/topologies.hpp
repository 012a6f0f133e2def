// Communicators of random programs: made by each of MPI's functions that give a topology, or copy one.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "trial.hpp"
#include "wiring.hpp"

namespace fuzz {

/// A communicator of a random program. Every rank has an entry for it, also where it is no member.
struct Node {
  enum class Kind { plain, graph, grid };
  Kind kind = Kind::plain;
  MPI_Comm comm = MPI_COMM_NULL;  ///< MPI_COMM_NULL on ranks that are no members
  int rank = 0, size = 0;
  int colour = 0;     ///< tells apart the communicators that one split has made
  TestedGraph near;   ///< for neighborhood collectives
  TestedGraph whole;  ///< for collectives over all ranks
  bool freed = false;

  [[nodiscard]] bool is_member() const { return comm != MPI_COMM_NULL; }
  /// Takes a new communicator, which need not exist here.
  void take(MPI_Comm made, Kind its_kind, int its_colour, Wiring wiring);
  /// Frees the communicator here. Collective over its members.
  void free();
};

/// Errors of MPI on nodes are findings of this trial from now on, in this thread.
void report_errors_to(Trial& trial);

/// The function that makes a communicator, and what comes of it. Also ranks outside of the parent know that.
struct NodeChoice {
  enum class Function { adjacent, dist, cart, graph, sub, split, dup, dup_with_info, idup };
  Function function = Function::adjacent;
  Node::Kind kind = Node::Kind::graph;
};
NodeChoice choose_node(Random& random, Node::Kind parent);

/// Makes a communicator from `parent`, of which this rank is a member. Collective over its members.
void make_node(Trial& trial, const NodeChoice& choice, const Node& parent, Node& made);

}  // namespace fuzz

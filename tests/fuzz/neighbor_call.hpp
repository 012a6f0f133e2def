// One neighborhood collective on a random graph, with arguments of every kind and a check of its
// results.
#pragma once

#include <mpi.h>
#include <vicinal/vicinal.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "image.hpp"
#include "trial.hpp"
#include "wiring.hpp"

namespace fuzz {

enum class Op { alltoall, alltoallv, alltoallw, allgather, allgatherv };
enum class Form { blocking, nonblocking, persistent };

inline bool gathers(Op op) { return op == Op::allgather || op == Op::allgatherv; }
inline bool has_equal_blocks(Op op) { return op == Op::alltoall || op == Op::allgather; }

class MpiCall;

/// Error of the failing rank.
enum class Wrong { nothing, negative_count, null_buffer, null_type, other_count };

/// Parameters of a call known to all ranks. Counts are in units.
struct CallPlan {
  Op op = Op::alltoall;
  Form form = Form::blocking;
  int unit = 0;
  bool derived = false;
  bool may_be_empty = false;  ///< blocks of equal size, which may be empty
  bool in_place = false;      ///< over a communicator: data to send are in the receive buffer
  bool one_source = false;    ///< alltoallv sends the same data along all edges
  std::uint64_t number = 0;
  std::function<int(int rank, int edge)> units;
  Wrong wrong = Wrong::nothing;
  int failed_rank = -1;
};

class NeighborCall {
 public:
  /// Chooses types and positions by the trial's own random choices.
  NeighborCall(Trial& trial, const TestedGraph& graph, int rank, CallPlan plan);

  [[nodiscard]] const CallPlan& plan() const { return plan_; }
  [[nodiscard]] std::string text() const;
  /// Prepares an execution: new values, nothing received.
  void fill(int round);
  /// Calls vicinal; `request` is for the two forms that have one.
  int call(MPI_Info info, vicinal_request* request);
  /// Calls MPI's function of that name, on the graph's reference or over the whole communicator.
  int call_by_mpi(MPI_Request* request);
  /// Performs the exchange by MPI into another buffer and checks the result. Collective.
  void refer();
  /// Checks the buffers, once the library no longer uses the send buffer.
  void check();
  /// Checks a persistent call that failed on some rank, and is never started.
  void check_refused();
  /// Frees the datatypes while the library may still use them. MPI cannot repeat the call
  /// afterwards.
  void release_types();
  /// Takes the result of a call or its completion: an unexpected error is a finding.
  void returned(int code, const char* by);
  /// Returns whether an error was returned, so that there are no data to check.
  [[nodiscard]] bool failed() const { return failed_; }

  struct Arguments;

 private:
  std::vector<Piece> place(const std::vector<int>& units, bool in_blocks, bool by_bytes);
  [[nodiscard]] Origin origin(int rank, int edge) const;
  [[nodiscard]] bool must_fail() const {
    return plan_.wrong != Wrong::nothing && plan_.failed_rank == rank_;
  }
  [[nodiscard]] Arguments arguments();
  int by_mpi(const MpiCall& call, Form form, MPI_Request* request) const;
  void spoil(Arguments& arguments) const;

  Trial& trial_;
  const TestedGraph& graph_;
  int rank_;
  CallPlan plan_;
  bool large_;
  bool absolute_ = false;  ///< addresses relative to MPI_BOTTOM
  int round_ = 0;
  bool failed_ = false;
  bool released_ = false;
  std::vector<Piece> send_, receive_;
  Image source_, target_;
  std::shared_ptr<const MpiCall> by_mpi_;  ///< in flight
};

/// The arguments as vicinal and MPI take them.
struct NeighborCall::Arguments {
  const void* from = nullptr;
  void* to = nullptr;
  std::vector<MPI_Count> send_counts, receive_counts;
  std::vector<MPI_Aint> send_places, receive_places;
  std::vector<MPI_Datatype> send_types, receive_types;
};

int call_vicinal(Op op, Form form, bool large, const NeighborCall::Arguments& arguments,
                 vicinal_graph graph, MPI_Info info, vicinal_request* request);

/// As call_vicinal(), over a whole communicator.
int whole_vicinal(Op op, Form form, bool large, const NeighborCall::Arguments& arguments,
                  MPI_Comm comm, MPI_Info info, vicinal_request* request);

// Persistent collectives have these names since MPI 4, and in Open MPI 5, which is not all of MPI
// 4.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define VICINAL_FUZZ_PERSISTENT 1
#else
#define VICINAL_FUZZ_PERSISTENT 0
#endif

/// The call under MPI's own names. Must live until the call is complete, or its persistent request
/// is freed.
class MpiCall {
 public:
  explicit MpiCall(NeighborCall::Arguments given);
  MpiCall(MpiCall&& other) noexcept;
  MpiCall& operator=(MpiCall&& other) noexcept;
  ~MpiCall();
  /// `large` asks for the form with large counts, if MPI has it.
  int over_graph(Op op, Form form, bool large, MPI_Comm comm, MPI_Request* request) const;
  int over_all(Op op, Form form, bool large, MPI_Comm comm, MPI_Request* request) const;

 private:
  struct Kept;
  std::unique_ptr<const Kept> kept_;
};

}  // namespace fuzz

// One neighborhood collective on a random graph, with arguments of every kind, which checks itself.
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

/// What is wrong on the rank at fault.
enum class Wrong { nothing, negative_count, null_buffer, null_type, other_count };

/// What all ranks know of a call. Counts are in units.
struct CallPlan {
  Op op = Op::alltoall;
  Form form = Form::blocking;
  int unit = 0;
  bool derived = false;
  bool may_be_empty = false;  ///< blocks of one size, and that may be nothing
  bool in_place =
      false;  ///< over a communicator: what is sent is found where something is received
  bool one_source = false;  ///< alltoallv sends along all edges from one place
  std::uint64_t number = 0;
  std::function<int(int rank, int edge)> units;
  Wrong wrong = Wrong::nothing;
  int at_fault = -1;
};

class NeighborCall {
 public:
  /// Chooses types and places by the trial's own choices.
  NeighborCall(Trial& trial, const TestedGraph& graph, int rank, CallPlan plan);

  [[nodiscard]] const CallPlan& plan() const { return plan_; }
  [[nodiscard]] std::string text() const;
  /// Before each execution: new values, nothing received.
  void fill(int round);
  /// Calls vicinal; the request is for the two forms that have one.
  int call(MPI_Info info, vicinal_request* request);
  /// Calls what MPI has of that name, on the graph's reference or over the whole communicator.
  int call_by_mpi(MPI_Request* request);
  /// Has MPI do the same into a buffer of its own, and looks at what it made of it. Collective.
  void refer();
  /// Says what is wrong with the buffers. Where the send buffer is the library's no longer.
  void check();
  /// The same after a persistent call that was at fault on some rank, and is never started.
  void check_refused();
  /// Gives up the datatypes while the library may still use them. MPI cannot do the same afterwards.
  void release_types();
  /// What a call or its completion has returned: an error where none was due is a finding.
  void returned(int code, const char* by);
  /// Whether an error has come back: there is no data to look at.
  [[nodiscard]] bool failed() const { return failed_; }

  struct Arguments;

 private:
  std::vector<Piece> place(const std::vector<int>& units, bool in_blocks, bool by_bytes);
  [[nodiscard]] Origin origin(int rank, int edge) const;
  [[nodiscard]] bool at_fault() const {
    return plan_.wrong != Wrong::nothing && plan_.at_fault == rank_;
  }
  [[nodiscard]] Arguments arguments();
  int by_mpi(const MpiCall& call, Form form, MPI_Request* request) const;
  void spoil(Arguments& arguments) const;

  Trial& trial_;
  const TestedGraph& graph_;
  int rank_;
  CallPlan plan_;
  bool large_;
  bool absolute_ = false;  ///< by addresses from MPI_BOTTOM
  int round_ = 0;
  bool failed_ = false;
  bool released_ = false;
  std::vector<Piece> send_, receive_;
  Image source_, target_;
  std::shared_ptr<const MpiCall> by_mpi_;  ///< under way
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

/// The same over a whole communicator.
int whole_vicinal(Op op, Form form, bool large, const NeighborCall::Arguments& arguments,
                  MPI_Comm comm, MPI_Info info, vicinal_request* request);

// Persistent collectives have these names from MPI 4 on, and before the rest of it in Open MPI 5.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define VICINAL_FUZZ_PERSISTENT 1
#else
#define VICINAL_FUZZ_PERSISTENT 0
#endif

/// The same by MPI's own names. It has to live until the call is complete, or its persistent request freed.
class MpiCall {
 public:
  explicit MpiCall(NeighborCall::Arguments given);
  MpiCall(MpiCall&& other) noexcept;
  MpiCall& operator=(MpiCall&& other) noexcept;
  ~MpiCall();
  /// `large` asks for the form with large counts, where the MPI has it.
  int over_graph(Op op, Form form, bool large, MPI_Comm comm, MPI_Request* request) const;
  int over_all(Op op, Form form, bool large, MPI_Comm comm, MPI_Request* request) const;

 private:
  struct Kept;
  std::unique_ptr<const Kept> kept_;
};

}  // namespace fuzz

// Maps calls to the functions of vicinal and MPI.
#include <type_traits>

#include "neighbor_call.hpp"

namespace fuzz {
namespace {

template <class To, class From>
std::vector<To> as(const std::vector<From>& values) {
  std::vector<To> result;
  for (const From value : values) result.push_back(static_cast<To>(value));
  return result;
}

template <class Count>
struct Counts {
  std::vector<Count> send, receive;
  Count sent = 0, received = 0;

  explicit Counts(const NeighborCall::Arguments& arguments)
      : send(as<Count>(arguments.send_counts)), receive(as<Count>(arguments.receive_counts)) {
    if (!send.empty()) sent = send.front();
    if (!receive.empty()) received = receive.front();
  }
};

MPI_Datatype first(const std::vector<MPI_Datatype>& types) {
  return types.empty() ? MPI_BYTE : types.front();
}

/// The three forms of a collective, with 32-bit or 64-bit counts.
template <class Blocking, class Nonblocking, class Persistent>
struct Functions {
  Blocking blocking;
  Nonblocking nonblocking;
  Persistent persistent;
};

template <class Blocking, class Nonblocking, class Persistent>
constexpr Functions<Blocking, Nonblocking, Persistent> functions(Blocking blocking,
                                                                 Nonblocking nonblocking,
                                                                 Persistent persistent) {
  return {blocking, nonblocking, persistent};
}

/// Calls one of the three forms; `over` is a graph or a communicator.
template <class Over, class Request, class Blocking, class Nonblocking, class Persistent,
          class... Arguments>
int in_form(Form form, Over over, MPI_Info info, Request* request,
            Functions<Blocking, Nonblocking, Persistent> of, Arguments... arguments) {
  if (form == Form::blocking) return of.blocking(arguments..., over);
  if (form == Form::nonblocking) return of.nonblocking(arguments..., over, request);
  if constexpr (!std::is_null_pointer_v<Persistent>) {
    return of.persistent(arguments..., over, info, request);
  } else {
    return MPI_ERR_UNSUPPORTED_OPERATION;
  }
}

/// The arrays of a call, in the types of its form.
template <class Count, class Displacement>
struct Arrays {
  explicit Arrays(const NeighborCall::Arguments& given)
      : counts(given),
        places(as<Displacement>(given.send_places)),
        into(as<Displacement>(given.receive_places)) {}
  Counts<Count> counts;
  std::vector<Displacement> places, into;
};

/// Calls a neighborhood collective of a table.
template <class Table, class Arrays, class Over, class Request>
int call_neighbor(const Table& of, Op op, Form form, const NeighborCall::Arguments& given,
                  const Arrays& arrays, Over over, MPI_Info info, Request* request) {
  const auto& [counts, places, into] = arrays;
  const MPI_Datatype type = first(given.send_types), received = first(given.receive_types);
  switch (op) {
    case Op::alltoall:
      return in_form(form, over, info, request, of.alltoall, given.from, counts.sent, type,
                     given.to, counts.received, received);
    case Op::allgather:
      return in_form(form, over, info, request, of.allgather, given.from, counts.sent, type,
                     given.to, counts.received, received);
    case Op::alltoallv:
      return in_form(form, over, info, request, of.alltoallv, given.from, counts.send.data(),
                     places.data(), type, given.to, counts.receive.data(), into.data(), received);
    case Op::allgatherv:
      return in_form(form, over, info, request, of.allgatherv, given.from, counts.sent, type,
                     given.to, counts.receive.data(), into.data(), received);
    case Op::alltoallw:
      return in_form(form, over, info, request, of.alltoallw, given.from, counts.send.data(),
                     given.send_places.data(), given.send_types.data(), given.to,
                     counts.receive.data(), given.receive_places.data(),
                     given.receive_types.data());
  }
  return MPI_ERR_INTERN;
}

/// Calls a collective over all ranks of a communicator.
template <class Table, class Arrays, class Request>
int call_whole(const Table& of, Op op, Form form, const NeighborCall::Arguments& given,
               const Arrays& arrays, MPI_Comm comm, MPI_Info info, Request* request) {
  const auto& [counts, places, into] = arrays;
  const MPI_Datatype type = first(given.send_types), received = first(given.receive_types);
  switch (op) {
    case Op::allgather:
      return in_form(form, comm, info, request, of.allgather, given.from, counts.sent, type,
                     given.to, counts.received, received);
    case Op::allgatherv:
      return in_form(form, comm, info, request, of.allgatherv, given.from, counts.sent, type,
                     given.to, counts.receive.data(), into.data(), received);
    case Op::alltoallv:
      return in_form(form, comm, info, request, of.alltoallv, given.from, counts.send.data(),
                     places.data(), type, given.to, counts.receive.data(), into.data(), received);
    default: return MPI_ERR_INTERN;
  }
}

/// The three forms of one collective. `init` is a macro that yields the persistent one, or null.
#define FUZZ_FORMS(member, blocking, nonblocking, suffix, init) \
  static constexpr auto member =                                \
      functions(blocking##suffix, nonblocking##suffix, init(blocking##_init##suffix))
#define FUZZ_HAS(name) name
#define FUZZ_LACKS(name) nullptr

#define FUZZ_NEIGHBORS(table, blocking, nonblocking, suffix, init)                       \
  struct table {                                                                         \
    FUZZ_FORMS(alltoall, blocking##alltoall, nonblocking##alltoall, suffix, init);       \
    FUZZ_FORMS(alltoallv, blocking##alltoallv, nonblocking##alltoallv, suffix, init);    \
    FUZZ_FORMS(alltoallw, blocking##alltoallw, nonblocking##alltoallw, suffix, init);    \
    FUZZ_FORMS(allgather, blocking##allgather, nonblocking##allgather, suffix, init);    \
    FUZZ_FORMS(allgatherv, blocking##allgatherv, nonblocking##allgatherv, suffix, init); \
  }

#define FUZZ_WHOLE(table, prefix, A, nonblocking, suffix, init)                          \
  struct table {                                                                         \
    FUZZ_FORMS(allgather, prefix##A##llgather, nonblocking##allgather, suffix, init);    \
    FUZZ_FORMS(allgatherv, prefix##A##llgatherv, nonblocking##allgatherv, suffix, init); \
    FUZZ_FORMS(alltoallv, prefix##A##lltoallv, nonblocking##alltoallv, suffix, init);    \
  }

FUZZ_NEIGHBORS(VicinalNeighbors, vicinal_neighbor_, vicinal_ineighbor_, , FUZZ_HAS);
FUZZ_NEIGHBORS(LargeVicinalNeighbors, vicinal_neighbor_, vicinal_ineighbor_, _c, FUZZ_HAS);
FUZZ_WHOLE(VicinalWhole, vicinal_, a, vicinal_i, , FUZZ_HAS);
FUZZ_WHOLE(LargeVicinalWhole, vicinal_, a, vicinal_i, _c, FUZZ_HAS);

#if VICINAL_FUZZ_PERSISTENT
FUZZ_NEIGHBORS(MpiNeighbors, MPI_Neighbor_, MPI_Ineighbor_, , FUZZ_HAS);
FUZZ_WHOLE(MpiWhole, MPI_, A, MPI_I, , FUZZ_HAS);
#else
FUZZ_NEIGHBORS(MpiNeighbors, MPI_Neighbor_, MPI_Ineighbor_, , FUZZ_LACKS);
FUZZ_WHOLE(MpiWhole, MPI_, A, MPI_I, , FUZZ_LACKS);
#endif
#if MPI_VERSION >= 4
FUZZ_NEIGHBORS(LargeMpiNeighbors, MPI_Neighbor_, MPI_Ineighbor_, _c, FUZZ_HAS);
FUZZ_WHOLE(LargeMpiWhole, MPI_, A, MPI_I, _c, FUZZ_HAS);
#endif

#undef FUZZ_WHOLE
#undef FUZZ_NEIGHBORS
#undef FUZZ_LACKS
#undef FUZZ_HAS
#undef FUZZ_FORMS

using Small = Arrays<int, int>;
using Large = Arrays<MPI_Count, MPI_Aint>;

}  // namespace

int call_vicinal(Op op, Form form, bool large, const NeighborCall::Arguments& given,
                 vicinal_graph graph, MPI_Info info, vicinal_request* request) {
  if (large) {
    return call_neighbor(LargeVicinalNeighbors{}, op, form, given, Large(given), graph, info,
                         request);
  }
  return call_neighbor(VicinalNeighbors{}, op, form, given, Small(given), graph, info, request);
}

int whole_vicinal(Op op, Form form, bool large, const NeighborCall::Arguments& given, MPI_Comm comm,
                  MPI_Info info, vicinal_request* request) {
  if (large) {
    return call_whole(LargeVicinalWhole{}, op, form, given, Large(given), comm, info, request);
  }
  return call_whole(VicinalWhole{}, op, form, given, Small(given), comm, info, request);
}

static void make_ready_for_mpi(NeighborCall::Arguments& given) {
  // MPI compares the two sizes of a block, even if one side has no block.
  if (given.send_counts.empty() && !given.receive_counts.empty()) {
    given.send_counts = {given.receive_counts.front()};
    given.send_types = {given.receive_types.front()};
  } else if (given.receive_counts.empty() && !given.send_counts.empty()) {
    given.receive_counts = {given.send_counts.front()};
    given.receive_types = {given.send_types.front()};
  }
  // Open MPI refuses null arrays, even without entries.
  for (auto* counts : {&given.send_counts, &given.receive_counts}) counts->push_back(0);
  for (auto* places : {&given.send_places, &given.receive_places}) places->push_back(0);
  for (auto* types : {&given.send_types, &given.receive_types}) types->push_back(MPI_BYTE);
}

/// Arrays that MPI reads until a call is complete.
struct MpiCall::Kept {
  explicit Kept(NeighborCall::Arguments arguments)
      : given((make_ready_for_mpi(arguments), std::move(arguments))), small(given), large(given) {}
  const NeighborCall::Arguments given;
  const Small small;
  const Large large;
};

MpiCall::MpiCall(NeighborCall::Arguments given)
    : kept_(std::make_unique<const Kept>(std::move(given))) {}
MpiCall::MpiCall(MpiCall&&) noexcept = default;
MpiCall& MpiCall::operator=(MpiCall&&) noexcept = default;
MpiCall::~MpiCall() = default;

int MpiCall::over_graph(Op op, Form form, [[maybe_unused]] bool large, MPI_Comm comm,
                        MPI_Request* request) const {
#if MPI_VERSION >= 4
  if (large) {
    return call_neighbor(LargeMpiNeighbors{}, op, form, kept_->given, kept_->large, comm,
                         MPI_INFO_NULL, request);
  }
#endif
  return call_neighbor(MpiNeighbors{}, op, form, kept_->given, kept_->small, comm, MPI_INFO_NULL,
                       request);
}

int MpiCall::over_all(Op op, Form form, [[maybe_unused]] bool large, MPI_Comm comm,
                      MPI_Request* request) const {
#if MPI_VERSION >= 4
  if (large) {
    return call_whole(LargeMpiWhole{}, op, form, kept_->given, kept_->large, comm, MPI_INFO_NULL,
                      request);
  }
#endif
  return call_whole(MpiWhole{}, op, form, kept_->given, kept_->small, comm, MPI_INFO_NULL, request);
}

}  // namespace fuzz

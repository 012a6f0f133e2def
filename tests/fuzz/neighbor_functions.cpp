// Which of vicinal's and of MPI's functions a call is.
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

/// The three forms of a collective, with 32-bit counts or with 64-bit ones.
template <class Blocking, class Nonblocking, class Persistent>
struct Functions {
  Blocking blocking;
  Nonblocking nonblocking;
  Persistent persistent;
};

template <class Blocking, class Nonblocking, class Persistent>
Functions<Blocking, Nonblocking, Persistent> functions(Blocking blocking, Nonblocking nonblocking,
                                                       Persistent persistent) {
  return {blocking, nonblocking, persistent};
}

/// `over` is a graph or a communicator.
template <class Over, class Blocking, class Nonblocking, class Persistent, class... Arguments>
int in_form(Form form, Over over, MPI_Info info, vicinal_request* request,
            Functions<Blocking, Nonblocking, Persistent> of, Arguments... arguments) {
  if (form == Form::blocking) return of.blocking(arguments..., over);
  if (form == Form::nonblocking) return of.nonblocking(arguments..., over, request);
  return of.persistent(arguments..., over, info, request);
}

}  // namespace

#define FUZZ_FUNCTIONS(name, suffix)                                           \
  functions(vicinal_neighbor_##name##suffix, vicinal_ineighbor_##name##suffix, \
            vicinal_neighbor_##name##_init##suffix)

#define FUZZ_CALL(Count, Displacement, suffix)                                                   \
  const Counts<Count> counts(given);                                                             \
  const auto places = as<Displacement>(given.send_places);                                       \
  const auto into = as<Displacement>(given.receive_places);                                      \
  const MPI_Datatype type = first(given.send_types), received = first(given.receive_types);      \
  switch (op) {                                                                                  \
    case Op::alltoall:                                                                           \
      return in_form(form, graph, info, request, FUZZ_FUNCTIONS(alltoall, suffix), given.from,   \
                     counts.sent, type, given.to, counts.received, received);                    \
    case Op::allgather:                                                                          \
      return in_form(form, graph, info, request, FUZZ_FUNCTIONS(allgather, suffix), given.from,  \
                     counts.sent, type, given.to, counts.received, received);                    \
    case Op::alltoallv:                                                                          \
      return in_form(form, graph, info, request, FUZZ_FUNCTIONS(alltoallv, suffix), given.from,  \
                     counts.send.data(), places.data(), type, given.to, counts.receive.data(),   \
                     into.data(), received);                                                     \
    case Op::allgatherv:                                                                         \
      return in_form(form, graph, info, request, FUZZ_FUNCTIONS(allgatherv, suffix), given.from, \
                     counts.sent, type, given.to, counts.receive.data(), into.data(), received); \
    case Op::alltoallw:                                                                          \
      return in_form(form, graph, info, request, FUZZ_FUNCTIONS(alltoallw, suffix), given.from,  \
                     counts.send.data(), given.send_places.data(), given.send_types.data(),      \
                     given.to, counts.receive.data(), given.receive_places.data(),               \
                     given.receive_types.data());                                                \
  }                                                                                              \
  return MPI_ERR_INTERN

int call_vicinal(Op op, Form form, bool large, const NeighborCall::Arguments& given,
                 vicinal_graph graph, MPI_Info info, vicinal_request* request) {
  if (large) {
    FUZZ_CALL(MPI_Count, MPI_Aint, _c);
  }
  FUZZ_CALL(int, int, );
}

#undef FUZZ_CALL
#undef FUZZ_FUNCTIONS

static void make_ready_for_mpi(NeighborCall::Arguments& given) {
  // It also compares the two sizes of a block, where one side has no block at all.
  if (given.send_counts.empty() && !given.receive_counts.empty()) {
    given.send_counts = {given.receive_counts.front()};
    given.send_types = {given.receive_types.front()};
  } else if (given.receive_counts.empty() && !given.send_counts.empty()) {
    given.receive_counts = {given.send_counts.front()};
    given.receive_types = {given.send_types.front()};
  }
  // Open MPI refuses arrays that are null, also where they have no entry.
  for (auto* counts : {&given.send_counts, &given.receive_counts}) counts->push_back(0);
  for (auto* places : {&given.send_places, &given.receive_places}) places->push_back(0);
  for (auto* types : {&given.send_types, &given.receive_types}) types->push_back(MPI_BYTE);
}

/// What MPI reads until a call is complete.
struct MpiCall::Kept {
  explicit Kept(NeighborCall::Arguments arguments)
      : given((make_ready_for_mpi(arguments), std::move(arguments))),
        counts(given),
        places(as<int>(given.send_places)),
        into(as<int>(given.receive_places)) {}
  const NeighborCall::Arguments given;
  const Counts<int> counts;
  const std::vector<int> places, into;
};

MpiCall::MpiCall(NeighborCall::Arguments given)
    : kept_(std::make_unique<const Kept>(std::move(given))) {}
MpiCall::MpiCall(MpiCall&&) noexcept = default;
MpiCall& MpiCall::operator=(MpiCall&&) noexcept = default;
MpiCall::~MpiCall() = default;

#define FUZZ_CALL(name, ...)                                  \
  request == nullptr ? MPI_Neighbor_##name(__VA_ARGS__, comm) \
                     : MPI_Ineighbor_##name(__VA_ARGS__, comm, request)

int MpiCall::run(Op op, MPI_Comm comm, MPI_Request* request) const {
  const auto& [given, counts, places, into] = *kept_;
  const MPI_Datatype type = first(given.send_types), received = first(given.receive_types);
  switch (op) {
    case Op::alltoall:
      return FUZZ_CALL(alltoall, given.from, counts.sent, type, given.to, counts.received,
                       received);
    case Op::allgather:
      return FUZZ_CALL(allgather, given.from, counts.sent, type, given.to, counts.received,
                       received);
    case Op::alltoallv:
      return FUZZ_CALL(alltoallv, given.from, counts.send.data(), places.data(), type, given.to,
                       counts.receive.data(), into.data(), received);
    case Op::allgatherv:
      return FUZZ_CALL(allgatherv, given.from, counts.sent, type, given.to, counts.receive.data(),
                       into.data(), received);
    case Op::alltoallw:
      return FUZZ_CALL(alltoallw, given.from, counts.send.data(), given.send_places.data(),
                       given.send_types.data(), given.to, counts.receive.data(),
                       given.receive_places.data(), given.receive_types.data());
  }
  return MPI_ERR_INTERN;
}

#undef FUZZ_CALL

#define FUZZ_ALLGATHER(Count, Displacement, suffix)                                           \
  const Counts<Count> counts(given);                                                          \
  const auto into = as<Displacement>(given.receive_places);                                   \
  const MPI_Datatype type = first(given.send_types), received = first(given.receive_types);   \
  if (op == Op::allgather) {                                                                  \
    return in_form(form, comm, info, request,                                                 \
                   functions(vicinal_allgather##suffix, vicinal_iallgather##suffix,           \
                             vicinal_allgather_init##suffix),                                 \
                   given.from, counts.sent, type, given.to, counts.received, received);       \
  }                                                                                           \
  return in_form(form, comm, info, request,                                                   \
                 functions(vicinal_allgatherv##suffix, vicinal_iallgatherv##suffix,           \
                           vicinal_allgatherv_init##suffix),                                  \
                 given.from, counts.sent, type, given.to, counts.receive.data(), into.data(), \
                 received)

int allgather_vicinal(Op op, Form form, bool large, const NeighborCall::Arguments& given,
                      MPI_Comm comm, MPI_Info info, vicinal_request* request) {
  if (large) {
    FUZZ_ALLGATHER(MPI_Count, MPI_Aint, _c);
  }
  FUZZ_ALLGATHER(int, int, );
}

#undef FUZZ_ALLGATHER

#define FUZZ_ALLTOALLV(Count, Displacement, suffix)                                              \
  const Counts<Count> counts(given);                                                             \
  const auto from = as<Displacement>(given.send_places);                                         \
  const auto into = as<Displacement>(given.receive_places);                                      \
  return in_form(form, comm, info, request,                                                      \
                 functions(vicinal_alltoallv##suffix, vicinal_ialltoallv##suffix,                \
                           vicinal_alltoallv_init##suffix),                                      \
                 given.from, counts.send.data(), from.data(), first(given.send_types), given.to, \
                 counts.receive.data(), into.data(), first(given.receive_types))

int alltoallv_vicinal(Form form, bool large, const NeighborCall::Arguments& given, MPI_Comm comm,
                      MPI_Info info, vicinal_request* request) {
  if (large) {
    FUZZ_ALLTOALLV(MPI_Count, MPI_Aint, _c);
  }
  FUZZ_ALLTOALLV(int, int, );
}

#undef FUZZ_ALLTOALLV

int alltoallv_mpi(const NeighborCall::Arguments& given, MPI_Comm comm) {
  const Counts<int> counts(given);
  const auto from = as<int>(given.send_places), into = as<int>(given.receive_places);
  return MPI_Alltoallv(given.from, counts.send.data(), from.data(), first(given.send_types),
                       given.to, counts.receive.data(), into.data(), first(given.receive_types),
                       comm);
}

int allgather_mpi(Op op, const NeighborCall::Arguments& given, MPI_Comm comm) {
  const Counts<int> counts(given);
  const auto into = as<int>(given.receive_places);
  const MPI_Datatype type = first(given.send_types), received = first(given.receive_types);
  if (op == Op::allgather) {
    return MPI_Allgather(given.from, counts.sent, type, given.to, counts.received, received, comm);
  }
  return MPI_Allgatherv(given.from, counts.sent, type, given.to, counts.receive.data(), into.data(),
                        received, comm);
}

}  // namespace fuzz

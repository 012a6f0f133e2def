// Allgathers over all ranks of a communicator. MPI carries them out until gathered.hpp and
// GatherLoops find that a plan is better.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "api/neighbor.hpp"
#include "base/runs.hpp"
#include "collectives/all_ranks.hpp"
#include "collectives/edge_data.hpp"
#include "interpose/forms.hpp"
#include "interpose/gathered.hpp"
#include "interpose/generalized_requests.hpp"
#include "interpose/guarded_as.hpp"
#include "interpose/own.hpp"
#include "mpi/datatype.hpp"

namespace vicinal::interpose {
namespace {

/// Returns whether there is anything to gather.
bool moves_something(const BlockSizes& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](std::int64_t bytes) { return bytes > 0; });
}

/// Returns the block that this rank gives. Accepts a block that lies where it is to be received, as
/// Open MPI does.
EdgeData given_to_all(const void* sendbuf, Index sendcount, MPI_Datatype sendtype,
                      const Graph& graph, const EdgeData& receive) {
  if (sendbuf == MPI_IN_PLACE) return own_block(receive, graph);
  return one_block(sendbuf, sendcount, sendtype, graph.destinations());
}

/// If the program gives less than this rank's block, gives the whole block. The receive buffer
/// already holds the remainder, as in MPI's algorithms that pass blocks on from there.
void fill_block(NeighborArguments& arguments, const Graph& graph) {
  const EdgePiece& given = arguments.send.piece(0);
  const EdgePiece& block =
      arguments.receive.piece(static_cast<std::size_t>(graph.neighborhood().rank));
  if (given.count < 0 || block.count < 0 || given.bytes() >= block.bytes()) return;
  const auto is_reached = [](const void* buffer) {
    return buffer != nullptr && kind_out_of_reach(buffer) == nullptr;
  };
  const bool is_given = given.bytes() == 0 || is_reached(arguments.send.buffer);
  if (!is_given || !is_reached(arguments.receive.buffer)) return;
  EdgeData own = own_block(arguments.receive, graph);
  own.at_most = true;
  copy_piece(arguments.send, given, own, own.piece(0), graph.shared_communicator()->handle());
  arguments.send = std::move(own);
}

/// Runs `find`, which decides how a call is carried out. If sizes are too large to be represented,
/// no rank can decide, and the call is left to MPI. If a rank fails to allocate, its call fails, as
/// in MPI. The rank cannot know what other ranks decide, and must not wait in another exchange than
/// they do.
template <class Find>
int alike_on_all_ranks(const void* ours, MPI_Comm comm, Find find) {
  return guarded_as(ours, comm, [&] {
    const auto fault = c_api::fault_of(find);
    if (fault && fault->fault() == Fault::memory) throw *fault;
  });
}

/// One of the two kinds of allgather: reads its arguments, and the sizes of all blocks from them.
/// There are no sizes if arguments are wrong, which MPI then reports.
template <class Count>
struct EqualBlocks {
  static std::optional<BlockSizes> sizes(int /*ranks*/, const void* /*sendbuf*/,
                                         Count /*sendcount*/, MPI_Datatype /*sendtype*/,
                                         void* /*recvbuf*/, Count recvcount,
                                         MPI_Datatype recvtype) {
    if (recvcount <= 0 || recvtype == MPI_DATATYPE_NULL) return std::nullopt;
    return BlockSizes{product(recvcount, mpi::describe(recvtype).size)};
  }
  static auto read(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   Count recvcount, MPI_Datatype recvtype) {
    return [=](const Graph& graph, NeighborArguments& arguments) {
      arguments.send.one_block = true;
      arguments.receive = equal_blocks(recvbuf, recvcount, recvtype, graph.sources());
      arguments.send = given_to_all(sendbuf, sendcount, sendtype, graph, arguments.receive);
    };
  }
};

template <class Count, class Displacement>
struct BlocksOfCounts {
  static std::optional<BlockSizes> sizes(int ranks, const void* /*sendbuf*/, Count /*sendcount*/,
                                         MPI_Datatype /*sendtype*/, void* /*recvbuf*/,
                                         const Count* recvcounts, const Displacement* displs,
                                         MPI_Datatype recvtype) {
    if (recvcounts == nullptr || displs == nullptr || recvtype == MPI_DATATYPE_NULL) {
      return std::nullopt;
    }
    const std::int64_t bytes = mpi::describe(recvtype).size;
    BlockSizes all(static_cast<std::size_t>(ranks));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (recvcounts[rank] < 0) return std::nullopt;
      all[rank] = product(recvcounts[rank], bytes);
    }
    return all;
  }
  static auto read(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype) {
    return [=](const Graph& graph, NeighborArguments& arguments) {
      arguments.send.one_block = true;
      arguments.receive = c_api::blocks_of(recvbuf, recvcounts, displs, recvtype, graph.sources(),
                                           c_api::names_of_gathered);
      arguments.send = given_to_all(sendbuf, sendcount, sendtype, graph, arguments.receive);
    };
  }
};

/// The three forms of an allgather. `Arguments` are those that all forms have.
template <class SmallerForm, class Reader, class... Arguments>
struct AllGather
    : FormsOfMpi<AllGather<SmallerForm, Reader, Arguments...>, SmallerForm, Arguments...> {
  using OfMpi = FormsOfMpi<AllGather, SmallerForm, Arguments...>;

  static int blocking(Arguments... arguments, MPI_Comm comm) {
    const void* const ours = reinterpret_cast<const void*>(&AllGather::blocking);
    Gathered* gathered = nullptr;
    if (const int code = Gathered::find(ours, comm, gathered); code != MPI_SUCCESS) return code;
    if (gathered == nullptr) return OfMpi::blocking_of_mpi(arguments..., comm);
    GatherLoops* const loops = gathered->enter(Form::blocking);
    CallProfile* const call_profile = gathered->call_profile();
    if (loops == nullptr) {
      const Noted noted(call_profile, ours, __builtin_return_address(0), true);
      const auto begin = std::chrono::steady_clock::now();
      const int code = OfMpi::blocking_of_mpi(arguments..., comm);
      gathered->note(std::chrono::steady_clock::now() - begin);
      return code;
    }
    GatherLoops::Path path;
    const int found = find_path(ours, path, *gathered, *loops, Form::blocking, arguments..., comm);
    if (found != MPI_SUCCESS) return found;
    const bool by_mpi = path.queue == nullptr;
    const Noted noted(call_profile, ours, __builtin_return_address(0), by_mpi);
    return timed(path, [&] {
      if (by_mpi) return OfMpi::blocking_of_mpi(arguments..., comm);
      return guarded_as(ours, comm, [&] {
        enter(*loops->graph(), *path.queue, Form::blocking, arguments...).finish();
      });
    });
  }

  static int nonblocking(Arguments... arguments, MPI_Comm comm, MPI_Request* request) {
    const void* const ours = reinterpret_cast<const void*>(&AllGather::nonblocking);
    Gathered* gathered = nullptr;
    if (const int code = Gathered::find(ours, comm, gathered); code != MPI_SUCCESS) return code;
    if (gathered == nullptr) return OfMpi::nonblocking_of_mpi(arguments..., comm, request);
    GatherLoops* const loops = gathered->enter(Form::nonblocking);
    GatherLoops::Path path;
    if (loops != nullptr) {
      const int found =
          find_path(ours, path, *gathered, *loops, Form::nonblocking, arguments..., comm);
      if (found != MPI_SUCCESS) return found;
    }
    const Noted noted(gathered->call_profile(), ours, __builtin_return_address(0),
                      path.queue == nullptr);
    if (path.queue == nullptr) return OfMpi::nonblocking_of_mpi(arguments..., comm, request);
    return guarded_as(ours, comm, [&] {
      *request = request_for_call({ours, gathered->errors()}, enter(*loops->graph(), *path.queue,
                                                                    Form::nonblocking, arguments...)
                                                                  .request(loops->graph()));
    });
  }

  static int persistent(Arguments... arguments, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
    const void* const ours = reinterpret_cast<const void*>(&AllGather::persistent);
    Gathered* gathered = nullptr;
    if (const int code = Gathered::find(ours, comm, gathered); code != MPI_SUCCESS) return code;
    if (gathered == nullptr) return OfMpi::persistent_of_mpi(arguments..., comm, info, request);
    GatherLoops* const loops = gathered->enter_at_once();
    bool by_plan = false;
    const int found = alike_on_all_ranks(ours, comm, [&] {
      const auto sizes = loops != nullptr ? sizes_of(*gathered, arguments...) : std::nullopt;
      by_plan = sizes && loops->pays(*sizes);
    });
    if (found != MPI_SUCCESS) return found;
    const Noted noted(gathered->call_profile(), ours, __builtin_return_address(0), !by_plan);
    if (!by_plan) return OfMpi::persistent_of_mpi(arguments..., comm, info, request);
    return OfMpi::planned_or_of_mpi(
        true,
        [&] {
          const auto settings_of_call = [&] {
            return info != MPI_INFO_NULL ? read_settings(info, comm) : loops->graph()->settings();
          };
          *request = request_for_executions(
              {ours, gathered->errors()},
              c_api::plan(loops->graph(), settings_of_call, Reader::read(arguments...)));
        },
        arguments..., comm, info, request);
  }

 private:
  /// Returns the sizes of all blocks; nothing if MPI carries out the call whatever its sizes, or
  /// reports errors in it.
  static std::optional<BlockSizes> sizes_of(const Gathered& gathered, Arguments... arguments) {
    std::optional<BlockSizes> sizes = Reader::sizes(gathered.ranks(), arguments...);
    if (sizes && !moves_something(*sizes)) sizes.reset();
    return sizes;
  }
  /// Finds how the call is carried out.
  static int find_path(const void* ours, GatherLoops::Path& path, const Gathered& gathered,
                       GatherLoops& loops, Form form, Arguments... arguments, MPI_Comm comm) {
    return alike_on_all_ranks(ours, comm, [&] {
      if (const auto sizes = sizes_of(gathered, arguments...)) path = loops.enter(*sizes, form);
    });
  }
  template <class Carry>
  static int timed(const GatherLoops::Path& path, Carry carry) {
    if (path.contest == nullptr || path.queue != nullptr) return carry();
    const auto begin = std::chrono::steady_clock::now();
    const int code = carry();
    const auto time = std::chrono::steady_clock::now() - begin;
    const ActivityLock lock(*path.contest);
    path.contest->note(path.number,
                       code == MPI_SUCCESS ? std::chrono::nanoseconds(time).count() : untimed);
    return code;
  }
  static EnteredCall enter(Graph& graph, CallQueue& queue, Form form, Arguments... given) {
    NeighborArguments arguments;
    auto fault = c_api::fault_of([&] {
      Reader::read(given...)(graph, arguments);
      fill_block(arguments, graph);
    });
    return queue.enter(graph, std::move(arguments), std::move(fault), form);
  }
};

/// The allgathers with one type of counts and one of displacements. `Blocks` and `V` are their
/// forms with smaller types.
template <class Count, class Displacement, class Blocks, class V>
struct GatherFamily {
  using Allgather = AllGather<Blocks, EqualBlocks<Count>, const void*, Count, MPI_Datatype, void*,
                              Count, MPI_Datatype>;
  using Allgatherv =
      AllGather<V, BlocksOfCounts<Count, Displacement>, const void*, Count, MPI_Datatype, void*,
                const Count*, const Displacement*, MPI_Datatype>;
};
using SmallGathers = GatherFamily<int, int, NoneSmaller, NoneSmaller>;
template <class Form, auto arguments>
using AllRanks = Smaller<Form, &SmallNumbers::of_all_ranks, arguments>;
using LargeGathers =
    GatherFamily<MPI_Count, MPI_Aint, AllRanks<SmallGathers::Allgather, &small_blocks>,
                 AllRanks<SmallGathers::Allgatherv, &small_allgatherv>>;

#define VICINAL_GATHER_ROWS(name, nonblocking_name, Type)           \
  row<&SmallGathers::Type::blocking>(name),                         \
      row<&SmallGathers::Type::nonblocking>(nonblocking_name),      \
      row<&SmallGathers::Type::persistent>(name "_init"),           \
      row<&LargeGathers::Type::blocking>(name "_c"),                \
      row<&LargeGathers::Type::nonblocking>(nonblocking_name "_c"), \
      row<&LargeGathers::Type::persistent>(name "_init_c")

}  // namespace

std::span<const Row> allgathers() {
  static const std::array rows = {VICINAL_GATHER_ROWS("Allgather", "Iallgather", Allgather),
                                  VICINAL_GATHER_ROWS("Allgatherv", "Iallgatherv", Allgatherv)};
  return rows;
}

}  // namespace vicinal::interpose

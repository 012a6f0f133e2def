// Graphs and neighborhood collectives in Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "arrays.hpp"
#include "collectives/all_ranks.hpp"
#include "collectives/call_queue.hpp"
#include "collectives/graph.hpp"
#include "collectives/persistent_request.hpp"
#include "mpi.hpp"
#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"
#include "mpi_array.hpp"
#include "mpi_request.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

/// One side of a collective as given by Python: a buffer, and counts and displacements for each
/// entry of the graph. If all blocks are equal, there is one count, and displacements are unused.
struct GivenSide {
  nb::object buffer;
  std::vector<Index> counts;
  std::vector<Index> displacements;  ///< in elements, or in bytes with several types
  std::vector<nb::object> datatypes;
  std::optional<std::vector<int>> partitions;
};

/// Properties of one of the five neighborhood collectives.
struct Collective {
  bool equal_blocks = false;
  bool one_block = false;  ///< on the send side
  bool typed = false;
};

Collective read_collective(const std::string& name) {
  if (name == "alltoall") return {true, false, false};
  if (name == "alltoallv") return {false, false, false};
  if (name == "alltoallw") return {false, false, true};
  if (name == "allgather") return {true, true, false};
  require(name == "allgatherv", Fault::internal, "there is no neighborhood ", name);
  return {false, true, false};
}

void check_degree(const GivenSide& side, const Ends& ends, const char* what,
                  const char* neighbours) {
  const std::size_t degree = ends.ranks.size();
  require(side.counts.size() == degree && side.displacements.size() == degree, Fault::argument,
          side.counts.size(), " counts and ", side.displacements.size(),
          " displacements were given for ", what, ", but the graph has ", degree, " ", neighbours,
          " on this rank; give one of each for each");
}

/// Checks that no edge touches memory outside the buffer.
void check_bounds(const EdgeData& data, std::int64_t bytes, const char* what) {
  for (const EdgePiece& piece : data.pieces) {
    require(piece.count >= 0, Fault::count, "the count of edge ", piece.entry, " in ", what, " is ",
            piece.count, "; counts must not be negative");
    if (piece.count == 0) continue;
    const std::int64_t first = piece.offset + piece.type.true_lower_bound;
    const std::int64_t last =
        first + (piece.count - 1) * piece.type.extent + piece.type.true_extent;
    require(first >= 0 && last <= bytes, Fault::buffer, "edge ", piece.entry, " of ", what,
            ", with count ", piece.count, ", covers bytes ", first, " to ", last - 1,
            ", but the buffer has ", bytes, " bytes");
  }
}

EdgeData describe(const GivenSide& side, Array& array, const Collective& collective, bool sends,
                  const Ends& ends) {
  const char* const what = sends ? "sendbuf" : "recvbuf";
  const void* buffer = nullptr;
  std::int64_t bytes = 0;
  if (!side.buffer.is_none()) {
    array.view(side.buffer, what);
    require(array.without_gaps(), Fault::buffer, what,
            " is not contiguous; numpy.ascontiguousarray makes an array that is");
    buffer = array.data();
    bytes = array.bytes();
  }
  std::vector<MPI_Datatype> types;
  for (const nb::object& type : side.datatypes) {
    types.push_back(handle_at<MPI_Datatype>(address_of(type)));
  }
  EdgeData data;
  if (sends && collective.one_block) {
    data = one_block(buffer, side.counts.at(0), types.at(0), ends);
  } else if (collective.equal_blocks) {
    data = equal_blocks(buffer, side.counts.at(0), types.at(0), ends);
  } else {
    check_degree(side, ends, what, sends ? "destinations" : "sources");
    data = collective.typed
               ? typed_blocks(buffer, side.counts.data(), side.displacements.data(), types.data(),
                              ends, "types")
               : blocks(buffer, side.counts.data(), side.displacements.data(), types.at(0), ends);
  }
  check_bounds(data, bytes, what);
  return data;
}

void check_partitions(const std::vector<int>& partitions, const Ends& ends, const char* what) {
  require(partitions.size() == ends.ranks.size(), Fault::argument, what, " has ", partitions.size(),
          " numbers of partitions, but the graph has ", ends.ranks.size(),
          " neighbours there on this rank; give one for each");
}

void check_items(const std::vector<Index>& items, const EdgeData& send) {
  Index elements = 0;
  for (const EdgePiece& piece : send.pieces) elements += piece.count;
  require(static_cast<Index>(items.size()) == elements, Fault::argument, items.size(),
          " identities were given for ", elements, " elements to be sent; give one for each");
  for (std::size_t i = 0; i < items.size(); ++i) {
    require(items[i] >= 0, Fault::argument, "items[", i, "] is ", items[i],
            "; identities must not be negative");
  }
}

class NeighborRequest final : public PythonRequest {
 public:
  /// With settings, makes a persistent request with a plan; without, begins a call.
  NeighborRequest(std::shared_ptr<Graph> graph, const Collective& collective, const GivenSide& send,
                  const GivenSide& receive, bool in_place, std::optional<std::vector<Index>> items,
                  const std::optional<GivenSettings>& given, Form form,
                  const GivenFault& given_fault)
      : datatypes_(send.datatypes) {
    datatypes_.insert(datatypes_.end(), receive.datatypes.begin(), receive.datatypes.end());
    NeighborArguments arguments;
    arguments.equal_blocks = collective.equal_blocks;
    arguments.send.one_block = collective.one_block;
    if (send.partitions && receive.partitions) {
      arguments.partitions = {*send.partitions, *receive.partitions};
    }
    Settings settings;
    std::optional<Error> fault = to_error(given_fault);
    std::unique_ptr<PersistentRequest> persistent;
    try {
      if (given) persistent = std::make_unique<PersistentRequest>(graph);
      if (fault) throw *fault;
      if (given) settings = read_given(*given);
      arguments.receive = describe(receive, receive_, collective, false, graph->sources());
      check_disjoint(arguments.receive);
      if (!in_place) {
        arguments.send = describe(send, send_, collective, true, graph->destinations());
      } else if (collective.one_block) {
        arguments.send = own_block(arguments.receive, *graph);
      } else {
        arguments.send = sent_in_place(arguments.receive);
      }
      if (collective.one_block && !in_place && graph->is_complete()) {
        check_apart(arguments.send, arguments.receive);
      }
      if (receive_.given()) receive_.require_writable("recvbuf");
      if (items) check_items(*items, arguments.send);
      if (send.partitions)
        check_partitions(*send.partitions, graph->destinations(), "sendpartitions");
      if (receive.partitions)
        check_partitions(*receive.partitions, graph->sources(), "recvpartitions");
      arguments.items = std::move(items);
    } catch (const nb::python_error& error) {
      fault = Error(Fault::argument, error.what());
    } catch (...) {
      fault = current_fault();  // reported to the neighbors, which wait for this rank
    }
    const nb::gil_scoped_release released;
    if (given) {
      if (!persistent) graph->refuse_plan(*fault);
      persistent->plan_for(std::move(arguments), std::move(settings), std::move(fault));
      own(std::unique_ptr<ExecutionRequest>(std::move(persistent)));
    } else {
      const EnteredCall entered = enter_call(*graph, std::move(arguments), std::move(fault), form);
      if (form == Form::blocking) {
        entered.finish();
      } else {
        own(entered.request(graph));
      }
    }
  }

  ~NeighborRequest() override { end(); }

 private:
  void release_arrays() override {
    send_.release();
    receive_.release();
  }

  Array send_;
  Array receive_;
  std::vector<nb::object> datatypes_;  ///< kept alive as long as the request
};

std::shared_ptr<Graph> make_graph(Address comm, const ArrayArgument<int>& sources,
                                  const ArrayArgument<int>& destinations,
                                  const GivenSettings& given, const GivenFault& fault) {
  const nb::gil_scoped_release released;
  const auto user = handle_at<MPI_Comm>(comm);
  AgreedSettings agreed = agree_on_settings(user, given, fault, {0, 0});
  return std::make_shared<Graph>(user, vector_of(sources), vector_of(destinations),
                                 std::move(agreed.settings));
}

std::shared_ptr<Graph> make_graph_from_topology(Address comm, const GivenSettings& given,
                                                const GivenFault& fault) {
  const nb::gil_scoped_release released;
  const auto user = handle_at<MPI_Comm>(comm);
  AgreedSettings agreed = agree_on_settings(user, given, fault, {0, 0});
  return Graph::from_topology(user, std::move(agreed.settings));
}

std::shared_ptr<Graph> make_graph_from_one_side(bool are_sources, Address comm,
                                                const ArrayArgument<int>& known,
                                                const GivenSettings& given,
                                                const GivenFault& fault) {
  const nb::gil_scoped_release released;
  const auto user = handle_at<MPI_Comm>(comm);
  AgreedSettings agreed = agree_on_settings(user, given, fault, {0, 0});
  return Graph::from_one_side(user, vector_of(known), are_sources, std::move(agreed.settings));
}

std::shared_ptr<Graph> make_complete_graph(Address comm, const GivenSettings& given,
                                           const GivenFault& fault) {
  const nb::gil_scoped_release released;
  const auto user = handle_at<MPI_Comm>(comm);
  AgreedSettings agreed = agree_on_settings(user, given, fault, {0, 0});
  return Graph::complete(user, std::move(agreed.settings));
}

std::shared_ptr<Graph> kept_complete_graph(Address comm) {
  mpi::require_usable();
  const nb::gil_scoped_release released;
  return graph_of_all(handle_at<MPI_Comm>(comm));
}

std::unique_ptr<NeighborRequest> neighbor(
    std::shared_ptr<Graph> graph, const std::string& collective, const nb::object& sendbuf,
    const ArrayArgument<Index>& sendcounts, const ArrayArgument<Index>& senddispls,
    const std::vector<nb::object>& sendtypes, const nb::object& recvbuf,
    const ArrayArgument<Index>& recvcounts, const ArrayArgument<Index>& recvdispls,
    const std::vector<nb::object>& recvtypes, bool in_place,
    const std::optional<ArrayArgument<Index>>& items,
    const std::optional<ArrayArgument<int>>& sendpartitions,
    const std::optional<ArrayArgument<int>>& recvpartitions,
    const std::optional<GivenSettings>& given, bool blocking, const GivenFault& fault) {
  GivenSide send{sendbuf, vector_of(sendcounts), vector_of(senddispls), sendtypes, {}};
  GivenSide receive{recvbuf, vector_of(recvcounts), vector_of(recvdispls), recvtypes, {}};
  if (sendpartitions) send.partitions = vector_of(*sendpartitions);
  if (recvpartitions) receive.partitions = vector_of(*recvpartitions);
  std::optional<std::vector<Index>> identities;
  if (items) identities = vector_of(*items);
  return std::make_unique<NeighborRequest>(std::move(graph), read_collective(collective), send,
                                           receive, in_place, std::move(identities), given,
                                           blocking ? Form::blocking : Form::nonblocking, fault);
}

}  // namespace

void bind_graph(nb::module_& module) {
  nb::class_<NeighborRequest, PythonRequest>(module, "NeighborRequest");
  nb::class_<Graph>(module, "Graph")
      .def("is_complete", &Graph::is_complete)
      .def("sources", [](const Graph& it) { return new_array(it.sources().ranks); })
      .def("destinations", [](const Graph& it) { return new_array(it.destinations().ranks); });
  module.def("make_graph", &make_graph, "comm"_a, "sources"_a, "destinations"_a, "settings"_a,
             "fault"_a.none());
  module.def("make_graph_from_topology", &make_graph_from_topology, "comm"_a, "settings"_a,
             "fault"_a.none());
  module.def("make_graph_from_one_side", &make_graph_from_one_side, "are_sources"_a, "comm"_a,
             "known"_a, "settings"_a, "fault"_a.none());
  module.def("make_complete_graph", &make_complete_graph, "comm"_a, "settings"_a, "fault"_a.none());
  module.def("kept_complete_graph", &kept_complete_graph, "comm"_a);
  module.def("neighbor", &neighbor, "graph"_a, "collective"_a, "sendbuf"_a.none(), "sendcounts"_a,
             "senddispls"_a, "sendtypes"_a, "recvbuf"_a.none(), "recvcounts"_a, "recvdispls"_a,
             "recvtypes"_a, "in_place"_a, "items"_a.none(), "sendpartitions"_a.none(),
             "recvpartitions"_a.none(), "settings"_a.none(), "blocking"_a, "fault"_a.none());
}

}  // namespace vicinal::python

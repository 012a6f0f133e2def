// Graphs and persistent neighborhood all-to-alls in Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>

#include <array>
#include <vector>

#include "arrays.hpp"
#include "collectives/graph.hpp"
#include "collectives/neighbor_alltoallv.hpp"
#include "mpi.hpp"
#include "mpi/datatype.hpp"
#include "mpi_array.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

/// One side of an all-to-all as Python gives it: a buffer, and counts and displacements per edge in
/// elements of the type.
struct Side {
  nb::object buffer;
  std::vector<Index> counts;
  std::vector<Index> displacements;
  nb::object datatype;
};

void check_degree(const Side& side, std::size_t degree, const char* what, const char* neighbours) {
  require(side.counts.size() == degree && side.displacements.size() == degree, Fault::argument,
          side.counts.size(), " counts and ", side.displacements.size(),
          " displacements were given for ", what, ", but the graph has ", degree, " ", neighbours,
          " on this rank; give one of each for each");
}

/// No edge may touch anything outside of the buffer.
void check_bounds(const EdgeData& data, std::int64_t bytes, const char* what) {
  const mpi::Datatype type = mpi::describe(data.type);
  for (std::size_t edge = 0; edge < data.counts.size(); ++edge) {
    const Index count = data.counts[edge];
    require(count >= 0, Fault::count, "the count of edge ", edge, " in ", what, " is ", count,
            "; counts must not be negative");
    if (count == 0) continue;
    const std::int64_t first = data.displacements[edge] * type.extent + type.true_lower_bound;
    const std::int64_t last = first + (count - 1) * type.extent + type.true_extent;
    require(first >= 0 && last <= bytes, Fault::buffer, "edge ", edge, " of ", what,
            ", with count ", count, " and displacement ", data.displacements[edge],
            ", covers bytes ", first, " to ", last - 1, ", but the buffer has ", bytes, " bytes");
  }
}

EdgeData describe(const Side& side, Array& array, const char* what) {
  EdgeData data;
  data.counts = side.counts;
  data.displacements = side.displacements;
  data.type = handle_at<MPI_Datatype>(address_of(side.datatype));
  std::int64_t bytes = 0;
  if (!side.buffer.is_none()) {
    array.view(side.buffer, what);
    require(array.without_gaps(), Fault::buffer, what,
            " is not contiguous; numpy.ascontiguousarray makes an array that is");
    data.buffer = array.data();
    bytes = array.bytes();
  }
  check_bounds(data, bytes, what);
  return data;
}

void check_items(const std::vector<Index>& items, const EdgeData& send) {
  Index elements = 0;
  for (const Index count : send.counts) elements += count;
  require(static_cast<Index>(items.size()) == elements, Fault::argument, items.size(),
          " identities were given for ", elements, " elements to be sent; give one for each");
  for (std::size_t i = 0; i < items.size(); ++i) {
    require(items[i] >= 0, Fault::argument, "items[", i, "] is ", items[i],
            "; identities must not be negative");
  }
}

class PersistentRequest final : public Pending {
 public:
  PersistentRequest(std::shared_ptr<Graph> graph, const Side& send, const Side& receive,
                    std::optional<std::vector<Index>> items, const GivenSettings& given,
                    const GivenFault& given_fault)
      : datatypes_{send.datatype, receive.datatype} {
    EdgeData from, to;
    Settings settings;
    std::optional<Error> fault = to_error(given_fault);
    try {
      if (fault) throw *fault;
      settings = read_given(given);
      const Neighborhood& neighborhood = graph->neighborhood();
      check_degree(send, neighborhood.destinations.size(), "sendbuf", "destinations");
      check_degree(receive, neighborhood.sources.size(), "recvbuf", "sources");
      from = describe(send, send_, "sendbuf");
      to = describe(receive, receive_, "recvbuf");
      if (receive_.given()) receive_.require_writable("recvbuf");
      if (items) check_items(*items, from);
    } catch (const Error& error) {
      fault = error;  // it is told to the neighbours, who are waiting for this rank
    }
    const nb::gil_scoped_release released;
    request_ = std::make_unique<NeighborAlltoallv>(std::move(graph), from, std::move(items), to,
                                                   settings, std::move(fault));
  }

  vicinal::Request* request() override { return request_.get(); }
  void start() { alive().start(); }
  bool test() { return request_ == nullptr || request_->test(); }
  void wait() {
    const nb::gil_scoped_release released;
    if (request_ != nullptr) request_->wait();
  }
  void free() {
    wait();
    request_.reset();
    send_.release();
    receive_.release();
  }
  [[nodiscard]] const Plan& plan() { return alive().plan().forward(); }

 private:
  NeighborAlltoallv& alive() {
    require(request_ != nullptr, Fault::request, "this request has been freed; make another");
    return *request_;
  }

  Array send_;
  Array receive_;
  std::array<nb::object, 2> datatypes_;         ///< in use as long as the request
  std::unique_ptr<NeighborAlltoallv> request_;  ///< destroyed first: it waits for what is in flight
};

std::shared_ptr<Graph> make_graph(Address comm, const ArrayArgument<int>& sources,
                                  const ArrayArgument<int>& destinations,
                                  const GivenSettings& given, const GivenFault& fault) {
  const nb::gil_scoped_release released;
  const auto user = handle_at<MPI_Comm>(comm);
  Meeting meeting = meet_ranks(user, given, fault, {0, 0});
  return std::make_shared<Graph>(user, vector_of(sources), vector_of(destinations),
                                 std::move(meeting.settings));
}

std::unique_ptr<PersistentRequest> alltoallv_init(
    std::shared_ptr<Graph> graph, const nb::object& sendbuf, const ArrayArgument<Index>& sendcounts,
    const ArrayArgument<Index>& senddispls, const nb::object& sendtype, const nb::object& recvbuf,
    const ArrayArgument<Index>& recvcounts, const ArrayArgument<Index>& recvdispls,
    const nb::object& recvtype, const std::optional<ArrayArgument<Index>>& items,
    const GivenSettings& given, const GivenFault& fault) {
  const Side send{sendbuf, vector_of(sendcounts), vector_of(senddispls), sendtype};
  const Side receive{recvbuf, vector_of(recvcounts), vector_of(recvdispls), recvtype};
  std::optional<std::vector<Index>> identities;
  if (items) identities = vector_of(*items);
  return std::make_unique<PersistentRequest>(std::move(graph), send, receive, std::move(identities),
                                             given, fault);
}

}  // namespace

void bind_graph(nb::module_& module) {
  nb::class_<PersistentRequest, Pending>(module, "Request")
      .def("start", &PersistentRequest::start)
      .def("test", &PersistentRequest::test)
      .def("wait", &PersistentRequest::wait)
      .def("free", &PersistentRequest::free)
      .def("counts", [](PersistentRequest& it) { return counts_of(it.plan()); })
      .def("text", [](PersistentRequest& it) { return text_of(it.plan()); })
      .def_prop_ro("strategy", [](PersistentRequest& it) { return it.plan().planner; });
  nb::class_<Graph>(module, "Graph");
  module.def("make_graph", &make_graph, "comm"_a, "sources"_a, "destinations"_a, "settings"_a,
             "fault"_a.none());
  module.def("alltoallv_init", &alltoallv_init, "graph"_a, "sendbuf"_a.none(), "sendcounts"_a,
             "senddispls"_a, "sendtype"_a.none(), "recvbuf"_a.none(), "recvcounts"_a,
             "recvdispls"_a, "recvtype"_a.none(), "items"_a.none(), "settings"_a, "fault"_a.none());
}

}  // namespace vicinal::python

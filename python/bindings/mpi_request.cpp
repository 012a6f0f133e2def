#include "mpi_request.hpp"

#include <nanobind/stl/string.h>

#include "base/error.hpp"
#include "mpi/environment.hpp"
#include "mpi_exchange.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

void PythonRequest::end() {
  const nb::gil_scoped_release released;
  request_.reset();
}

void PythonRequest::start() {
  mpi::require_usable();
  alive().start();
}

bool PythonRequest::test() {
  mpi::require_usable();
  const nb::gil_scoped_release released;
  return request_ == nullptr || request_->test();
}

void PythonRequest::wait(nb::handle stream) {
  mpi::require_usable();
  const auto handle = read_stream(stream);
  const nb::gil_scoped_release released;
  if (request_ == nullptr) return;
  if (handle) {
    request_->wait_on(*handle);
  } else {
    request_->wait();
  }
}

void PythonRequest::mark_ready(int neighbor, int first, int last) {
  mpi::require_usable();
  const nb::gil_scoped_release released;
  alive().mark_ready(neighbor, first, last);
}

bool PythonRequest::has_arrived(int neighbor, int partition) {
  mpi::require_usable();
  const nb::gil_scoped_release released;
  return alive().has_arrived(neighbor, partition);
}

void PythonRequest::free() {
  if (request_ != nullptr && request_->in_flight()) mpi::require_usable();
  {
    const nb::gil_scoped_release released;
    if (request_ != nullptr) request_->wait();
    request_.reset();
  }
  planned_ = nullptr;
  release_arrays();
}

const AgreedPlan& PythonRequest::plan() {
  alive();
  require(planned_ != nullptr, Fault::request,
          "this is the request of a nonblocking call, which has no plan of its own");
  return planned_->plan();
}

vicinal::Request& PythonRequest::alive() {
  require(request_ != nullptr, Fault::request, "this request has been freed; make another");
  return *request_;
}

void bind_request(nb::module_& module) {
  nb::class_<PythonRequest, Pending>(module, "Request")
      .def("start", &PythonRequest::start)
      .def("test", &PythonRequest::test)
      .def("wait", &PythonRequest::wait, "stream"_a = nb::none())
      .def("free", &PythonRequest::free)
      .def("mark_ready", &PythonRequest::mark_ready)
      .def("has_arrived", &PythonRequest::has_arrived)
      .def("counts", [](PythonRequest& it) { return counts_of(it.plan()); })
      .def("text", [](PythonRequest& it) { return text_of(it.executed()); })
      .def_prop_ro("strategy", [](PythonRequest& it) { return it.executed().planner; });
}

}  // namespace vicinal::python

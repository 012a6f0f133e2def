// The module vicinal._mpi_<abi>: the library over one MPI ABI. It is imported after mpi4py has
// loaded that MPI, and shares communicators, datatypes and operators with it.
#include "mpi.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <iostream>
#include <sstream>
#include <vector>

#include "arrays.hpp"
#include "discovery/findings.hpp"
#include "errors.hpp"
#include "execute/agreed_plan.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"
#include "plan/checks.hpp"
#include "progress/dump.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

Address address_of(nb::handle object) {
  return nb::cast<Address>(nb::module_::import_("mpi4py.MPI").attr("_addressof")(object));
}

Settings read_given(const GivenSettings& given) {
  return read_settings([&given](const std::string& key) -> std::optional<std::string> {
    const auto found = given.find(key);
    if (found == given.end()) return std::nullopt;
    return found->second;
  });
}

std::optional<Error> to_error(const GivenFault& fault) {
  if (!fault) return std::nullopt;
  for (int kind = 0; kind <= static_cast<int>(Fault::internal); ++kind) {
    const auto candidate = static_cast<Fault>(kind);
    if (fault->first == name(candidate)) return Error(candidate, fault->second);
  }
  return Error(Fault::internal, fault->second);
}

AgreedSettings agree_on_settings(MPI_Comm user, const GivenSettings& given,
                                 const GivenFault& given_fault, std::array<std::int64_t, 2> mine) {
  mpi::require_usable();
  const auto communicator = mpi::Communicator::of(user);
  AgreedSettings agreed;
  std::optional<Error> finding;
  attempt(finding, [&] {
    agreed.settings = read_given(given);
    if (const auto fault = to_error(given_fault)) throw Error(*fault);
  });
  agreed.least = mine;
  agree(*communicator, finding, agreed.least,
        given_settings(agreed.settings, communicator->default_regions()));
  return agreed;
}

nb::tuple counts_of(const AgreedPlan& plan) {
  const Statistics found = statistics(plan.forward());
  return nb::make_tuple(found.non_local.messages, found.non_local.elements, found.local.messages,
                        found.local.elements, found.shared_elements, found.copied_elements,
                        plan.communicator().arena_fault());
}

std::string text_of(const Plan& plan) {
  std::ostringstream out;
  write_text(out, plan);
  return std::move(out).str();
}

namespace {

void set_regions(Address comm, const std::string& text) {
  mpi::require_usable();
  const nb::gil_scoped_release released;
  mpi::Communicator::of(handle_at<MPI_Comm>(comm))->set_regions(text);
}

nb::ndarray<nb::numpy, int> get_regions(Address comm) {
  mpi::require_usable();
  std::shared_ptr<const Machine> machine;
  {
    const nb::gil_scoped_release released;
    machine = mpi::Communicator::of(handle_at<MPI_Comm>(comm))->machine();
  }
  std::vector<int> regions;
  for (int rank = 0; rank < machine->size(); ++rank) regions.push_back(machine->region_of(rank));
  return new_array(std::move(regions));
}

void progress() {
  mpi::require_usable();
  vicinal::progress();
}

std::optional<int> wait_any_of(const std::vector<Pending*>& pending) {
  mpi::require_usable();
  std::vector<vicinal::Request*> requests;
  for (Pending* each : pending) requests.push_back(each == nullptr ? nullptr : each->request());
  Found found;
  {
    const nb::gil_scoped_release released;
    found = wait_any(requests);
  }
  if (found.position < 0) return std::nullopt;
  Pending& which = *pending[static_cast<std::size_t>(found.position)];
  if (found.fault) {
    which.fail();
    std::rethrow_exception(found.fault);
  }
  which.settle();
  return found.position;
}

}  // namespace

}  // namespace vicinal::python

NB_MODULE(VICINAL_MODULE, m) {
  namespace py = vicinal::python;
  m.doc() = "Graphs and halos over one kind of MPI.";
  nb::set_leak_warnings(false);  // global objects of a program live to its end
  py::translate_errors();
  const nb::class_<py::Pending> pending(m, "Pending", "Something that can be waited for.");
  m.def("set_regions", &py::set_regions, "comm"_a, "text"_a);
  m.def("get_regions", &py::get_regions, "comm"_a);
  m.def("wait_any", &py::wait_any_of, "pending"_a);
  m.def("progress", &py::progress, nb::call_guard<nb::gil_scoped_release>());
  m.def("require_usable", &vicinal::mpi::require_usable);
  m.def(
      "stop_threads", [] { vicinal::mpi::stop_threads_hook(); },
      nb::call_guard<nb::gil_scoped_release>());
  m.def("dump", [] { vicinal::describe_pending(std::cerr); });
  py::bind_calibrate(m);
  py::bind_gpu_scatter(m);
  py::bind_request(m);
  py::bind_halo(m);
  py::bind_graph(m);
  py::bind_sparse(m);
}

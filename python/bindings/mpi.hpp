// What the parts of the module vicinal._mpi_<abi> have in common: how MPI's handles, settings and
// faults come from Python.
#pragma once

#include <mpi.h>
#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "collectives/request.hpp"
#include "collectives/settings.hpp"
#include "execute/agreed_plan.hpp"
#include "plan/plan.hpp"

namespace vicinal::python {

/// The address at which mpi4py keeps a handle; what is there fits this module's MPI.
using Address = std::uintptr_t;

template <class Handle>
Handle handle_at(Address address) {
  return *reinterpret_cast<const Handle*>(address);
}

/// The address of an mpi4py object's handle.
Address address_of(nanobind::handle object);

/// Info keys and their values.
using GivenSettings = std::unordered_map<std::string, std::string>;

/// The environment's settings, then these.
Settings read_given(const GivenSettings& given);

/// A fault that Python has found in the arguments: its kind and message. It comes along to where
/// all ranks meet, so that the others learn of it.
using GivenFault = std::optional<std::pair<std::string, std::string>>;

std::optional<Error> to_error(const GivenFault& fault);

/// What the ranks of a communicator decide together before they make something on it.
struct AgreedSettings {
  Settings settings;
  std::array<std::int64_t, 2> least;  ///< of what all ranks gave
};

/// Collective. Throws on every rank where one has a fault, or where the ranks' settings differ.
AgreedSettings agree_on_settings(MPI_Comm user, const GivenSettings& given, const GivenFault& fault,
                                 std::array<std::int64_t, 2> mine);

/// What a plan's forward direction costs, and why it does without shared memory, in the order of
/// vicinal.Statistics.
nanobind::tuple counts_of(const AgreedPlan& plan);
std::string text_of(const Plan& plan);

/// Something that a user waits for. The memory that it reads and writes lives with it.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  virtual ~Pending() = default;

  /// The request behind it; null where it cannot be in flight.
  [[nodiscard]] virtual vicinal::Request* request() = 0;
  /// It was found complete.
  virtual void settle() {}
  /// It has failed.
  virtual void fail() {}
};

void bind_calibrate(nanobind::module_& module);
void bind_gpu_scatter(nanobind::module_& module);
void bind_halo(nanobind::module_& module);
void bind_graph(nanobind::module_& module);
void bind_request(nanobind::module_& module);
void bind_sparse(nanobind::module_& module);

}  // namespace vicinal::python

// Types and functions shared by the parts of the module vicinal._mpi_<abi>: conversion of MPI
// handles, settings and faults from Python.
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

/// The address of a handle in an mpi4py object. The handle is one of this module's MPI.
using Address = std::uintptr_t;

template <class Handle>
Handle handle_at(Address address) {
  return *reinterpret_cast<const Handle*>(address);
}

/// Returns the address of the handle in an mpi4py object.
Address address_of(nanobind::handle object);

/// Info keys and their values.
using GivenSettings = std::unordered_map<std::string, std::string>;

/// Reads the settings. The environment overrides `given`.
Settings read_given(const GivenSettings& given);

/// A fault that Python has found in the arguments: its kind and message. It is passed on to the
/// agreement of all ranks, so that the other ranks learn of it.
using GivenFault = std::optional<std::pair<std::string, std::string>>;

std::optional<Error> to_error(const GivenFault& fault);

/// The result of an agreement of a communicator's ranks, before they create an object on it.
struct AgreedSettings {
  Settings settings;
  std::array<std::int64_t, 2> least;  ///< minimum over all ranks
};

/// Collective. Throws on every rank if one rank has a fault, or if the ranks' settings differ.
AgreedSettings agree_on_settings(MPI_Comm user, const GivenSettings& given, const GivenFault& fault,
                                 std::array<std::int64_t, 2> mine);

/// Returns the costs of a plan's forward direction, and why it uses no shared memory, in the order
/// of vicinal.Statistics.
nanobind::tuple counts_of(const AgreedPlan& plan);
std::string text_of(const Plan& plan);

/// An operation that a user waits for. It keeps the memory alive that it reads and writes.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  virtual ~Pending() = default;

  /// Returns its request, or null if it cannot be in flight.
  [[nodiscard]] virtual vicinal::Request* request() = 0;
  /// Called when it was found complete.
  virtual void settle() {}
  /// Called when it has failed.
  virtual void fail() {}
};

void bind_calibrate(nanobind::module_& module);
void bind_gpu_scatter(nanobind::module_& module);
void bind_halo(nanobind::module_& module);
void bind_graph(nanobind::module_& module);
void bind_request(nanobind::module_& module);
void bind_sparse(nanobind::module_& module);

}  // namespace vicinal::python

// Halos in Python. A halo and its exchanges share one state. It keeps the arrays of exchanges in
// flight, since a program may drop an exchange or the halo before completion.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "collectives/halo.hpp"
#include "mpi.hpp"
#include "mpi/environment.hpp"
#include "mpi_exchange.hpp"
#include "mpi_ghost_pool.hpp"
#include "mpi_halo_request.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

/// An exchange from its start until it is found complete.
struct Transfer {
  Operands operands;
  bool reverse = false;
  vicinal::Request* request = nullptr;  ///< null once complete
  nb::object result;
};

class HaloState {
 public:
  explicit HaloState(std::unique_ptr<Halo> halo) : halo_(std::move(halo)) {}
  HaloState(const HaloState&) = delete;
  HaloState& operator=(const HaloState&) = delete;
  /// Waits for exchanges in flight without the GIL, which another thread or an operator may need.
  ~HaloState() {
    const nb::gil_scoped_release released;
    halo_.reset();
  }

  Halo& halo() {
    require(halo_ != nullptr, Fault::request, "this halo has been freed; form another");
    return *halo_;
  }
  Index owned_count() { return halo().map().owned_count; }
  Index ghost_count() { return halo().map().ghost_count; }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }

  std::shared_ptr<Transfer> start(nb::handle x, nb::handle ghosts, nb::handle stream) {
    auto transfer = std::make_shared<Transfer>();
    Operands& operands = transfer->operands;
    told_to_others(false, [&] {
      operands.owned.view(x, "x");
      if (!ghosts.is_none()) {
        operands.ghosts.view(ghosts, "the array of ghosts");
      } else if (operands.owned.rows() == owned_count() && ghost_count() > 0) {
        operands.ghosts.view(pool_.get(operands.owned, ghost_count()), "the array of ghosts");
      }
      operands.check(owned_count(), ghost_count(), "an array of ghosts is made");
      if (operands.appended) {
        if (ghost_count() > 0) operands.owned.require_writable("x, whose end holds the ghosts,");
      } else {
        operands.ghosts.require_writable("the array of ghosts");
      }
      operands.follow(stream);
    });
    vicinal::Request& request =
        halo().start(operands.owned.data(), operands.ghost_data, operands.shape);
    return launched(std::move(transfer), request);
  }

  std::shared_ptr<Transfer> start_reverse(nb::handle x, nb::handle ghosts, nb::handle op,
                                          nb::handle stream) {
    auto transfer = std::make_shared<Transfer>();
    transfer->reverse = true;
    Operands& operands = transfer->operands;
    Combine combine;
    told_to_others(true, [&] {
      operands.owned.view(x, "x");
      if (nb::isinstance<nb::str>(ghosts)) {
        fail(Fault::argument, "the array of ghosts is the text '", nb::str(ghosts).c_str(),
             "'; give the operator by name, as in op='sum'");
      }
      if (!ghosts.is_none()) operands.ghosts.view(ghosts, "the array of ghosts");
      operands.check(owned_count(), ghost_count(), "with the ghosts in an array of their own");
      operands.owned.require_writable("x");
      combine = read_operator(op, operands.owned.type(), operands.shape.values);
      operands.follow(stream);
    });
    ValueShape shape = operands.shape;
    std::swap(shape.source_stride, shape.target_stride);
    vicinal::Request& request =
        halo().start_reverse(operands.owned.data(), operands.ghost_data, shape, combine);
    return launched(std::move(transfer), request);
  }

  bool test(const std::shared_ptr<Transfer>& transfer) {
    if (transfer->request == nullptr) return true;
    mpi::require_usable();
    guarded(transfer, [&] {
      // Another thread may run this exchange's operator, which needs the GIL. A test may also yield
      // the core.
      const nb::gil_scoped_release released;
      return transfer->request->test();
    });
    return transfer->request == nullptr;
  }

  /// Waits for completion or, with `stream`, orders that GPU stream after the remaining GPU work.
  nb::object wait(const std::shared_ptr<Transfer>& transfer,
                  std::optional<std::uintptr_t> stream = std::nullopt) {
    if (transfer->request != nullptr) {
      mpi::require_usable();
      guarded(transfer, [&] {
        const nb::gil_scoped_release released;
        if (stream) {
          transfer->request->wait_on(*stream);
        } else {
          transfer->request->wait();
        }
        return true;
      });
    }
    return transfer->result;
  }

  /// Waits for all exchanges in flight, in order. Returns the result of the last one.
  nb::object wait_all(std::optional<std::uintptr_t> stream = std::nullopt) {
    nb::object last = nb::none();
    while (!in_flight_.empty()) {
      const std::shared_ptr<Transfer> first = in_flight_.front();
      last = wait(first, stream);
    }
    return last;
  }

  /// Called when it is complete.
  void settle(const std::shared_ptr<Transfer>& transfer) {
    if (!forget(transfer)) return;
    Operands& operands = transfer->operands;
    if (transfer->reverse) {
      transfer->result = operands.owned.object();
    } else if (operands.appended) {
      transfer->result = tail_of(operands.owned);
    } else {
      transfer->result = operands.ghosts.object();
    }
    operands.owned.release();
    operands.ghosts.release();
  }

  /// Called when it has failed. Messages of other ranks may still arrive, so its arrays are leaked
  /// on purpose.
  void lose(const std::shared_ptr<Transfer>& transfer) {
    if (forget(transfer)) new std::shared_ptr<Transfer>(transfer);
  }

  void free() {
    if (halo_ == nullptr) return;
    wait_all();
    halo_.reset();
  }

 private:
  /// Reads arguments. If they are invalid, starts a failed exchange, so that the other ranks learn
  /// of it.
  template <class Read>
  void told_to_others(bool reverse, Read read) {
    mpi::require_usable();
    halo();
    try {
      read();
    } catch (...) {
      halo().start_after_failure(reverse);
      throw;
    }
  }

  std::shared_ptr<Transfer> launched(std::shared_ptr<Transfer> transfer,
                                     vicinal::Request& request) {
    transfer->request = &request;
    in_flight_.push_back(transfer);
    return transfer;
  }

  /// Returns the ghosts at the end of an array.
  nb::object tail_of(const Array& array) {
    const nb::object& object = array.object();
    if (!object.type().is(array_type_) || array.dimensions() == 0) {
      return nb::module_::import_("vicinal._arrays").attr("tail")(object, owned_count());
    }
    return nb::steal(
        PySequence_GetSlice(object.ptr(), static_cast<Py_ssize_t>(owned_count()), PY_SSIZE_T_MAX));
  }

  /// Removes it from the list. Returns whether it was there.
  bool forget(const std::shared_ptr<Transfer>& transfer) {
    transfer->request = nullptr;
    return std::erase(in_flight_, transfer) > 0;
  }

  /// Runs `step`, which returns whether the transfer is complete.
  template <class Step>
  void guarded(const std::shared_ptr<Transfer>& transfer, Step step) {
    try {
      if (step()) settle(transfer);
    } catch (const Error&) {
      if (!transfer->request->in_flight()) lose(transfer);
      throw;
    }
  }
  nb::object array_type_ = nb::module_::import_("numpy").attr("ndarray");
  GhostPool pool_;
  std::vector<std::shared_ptr<Transfer>> in_flight_;
  std::unique_ptr<Halo> halo_;
};

/// The Python object of an exchange.
class Exchange final : public Pending {
 public:
  Exchange(std::shared_ptr<HaloState> halo, std::shared_ptr<Transfer> transfer)
      : halo_(std::move(halo)), transfer_(std::move(transfer)) {}
  vicinal::Request* request() override { return transfer_->request; }
  void settle() override { halo_->settle(transfer_); }
  void fail() override { halo_->lose(transfer_); }
  bool test() { return halo_->test(transfer_); }
  nb::object wait(nb::handle stream) { return halo_->wait(transfer_, read_stream(stream)); }

 private:
  std::shared_ptr<HaloState> halo_;
  std::shared_ptr<Transfer> transfer_;
};

class PythonHalo {
 public:
  explicit PythonHalo(std::unique_ptr<Halo> halo)
      : state_(std::make_shared<HaloState>(std::move(halo))) {}
  [[nodiscard]] HaloState& state() const { return *state_; }
  [[nodiscard]] const HaloMap& map() const { return state_->halo().map(); }
  [[nodiscard]] const AgreedPlan& plan() const { return state_->halo().plan(); }
  [[nodiscard]] std::unique_ptr<Exchange> start(nb::handle x, nb::handle ghosts,
                                                nb::handle stream) const {
    return std::make_unique<Exchange>(state_, state_->start(x, ghosts, stream));
  }
  [[nodiscard]] std::unique_ptr<Exchange> start_reverse(nb::handle x, nb::handle ghosts,
                                                        nb::handle op, nb::handle stream) const {
    return std::make_unique<Exchange>(state_, state_->start_reverse(x, ghosts, op, stream));
  }

 private:
  std::shared_ptr<HaloState> state_;
};

using Range = std::pair<Index, Index>;
using OwnedArgument = std::variant<Range, ArrayArgument<Index>>;

Halo::Owned owned_of(const OwnedArgument& owned, bool as_range) {
  if (const auto* range = std::get_if<Range>(&owned)) {
    if (as_range) return {*range};
    std::vector<Index> indices(static_cast<std::size_t>(range->second - range->first));
    std::iota(indices.begin(), indices.end(), range->first);
    return {std::move(indices)};
  }
  return {vector_of(std::get<ArrayArgument<Index>>(owned))};
}

std::unique_ptr<PythonHalo> make_halo(Address comm, const OwnedArgument& owned,
                                      const ArrayArgument<Index>& needed,
                                      const std::optional<ArrayArgument<int>>& owners,
                                      const GivenSettings& given, const GivenFault& fault) {
  std::unique_ptr<Halo> halo;
  {
    const nb::gil_scoped_release released;
    const auto user = handle_at<MPI_Comm>(comm);
    const bool is_range = std::holds_alternative<Range>(owned) && !owners;
    AgreedSettings agreed =
        agree_on_settings(user, given, fault, {is_range ? 1 : 0, owners ? 1 : 0});
    // The forms exchange different data, so all ranks take a form that all of them allow.
    std::optional<std::span<const int>> ranks;
    if (agreed.least[1] != 0) ranks = span_of(*owners);
    halo = std::make_unique<Halo>(user, owned_of(owned, agreed.least[0] != 0), span_of(needed),
                                  ranks, std::move(agreed.settings));
  }
  return std::make_unique<PythonHalo>(std::move(halo));
}

nb::dict map_of(const std::vector<int>& ranks, const std::vector<Index>& offsets,
                const std::vector<Index>& positions) {
  nb::dict result;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto first = static_cast<std::size_t>(offsets[i]);
    const auto last = static_cast<std::size_t>(offsets[i + 1]);
    result[nb::int_(ranks[i])] = new_array(std::span(positions).subspan(first, last - first));
  }
  return result;
}

}  // namespace

void bind_halo(nb::module_& module) {
  nb::class_<Exchange, Pending>(module, "Exchange")
      .def("test", &Exchange::test)
      .def("wait", &Exchange::wait, "stream"_a = nb::none());
  nb::class_<HaloRequest, PythonRequest>(module, "HaloRequest");
  nb::class_<PythonHalo>(module, "Halo")
      .def("start", &PythonHalo::start, "x"_a.none(), "ghosts"_a.none(), "stream"_a.none())
      .def("start_reverse", &PythonHalo::start_reverse, "x"_a.none(), "ghosts"_a.none(),
           "op"_a.none(), "stream"_a.none())
      .def(
          "persistent",
          [](const PythonHalo& it, nb::handle x, nb::handle ghosts, nb::handle op) {
            mpi::require_usable();
            return std::make_unique<HaloRequest>(it.state().halo(), x, ghosts, op);
          },
          "x"_a.none(), "ghosts"_a.none(), "op"_a.none())
      .def("wait_idle",
           [](const PythonHalo& it, bool reverse) {
             if (!mpi::is_alive()) return;  // start() has raised the error
             Halo& halo = it.state().halo();
             const nb::gil_scoped_release released;
             halo.wait_idle(reverse);
           })
      .def(
          "wait",
          [](const PythonHalo& it, nb::handle stream) {
            return it.state().wait_all(read_stream(stream));
          },
          "stream"_a = nb::none())
      .def("free", [](const PythonHalo& it) { it.state().free(); })
      .def_prop_ro("in_flight", [](const PythonHalo& it) { return it.state().in_flight(); })
      .def_prop_ro("owned_count", [](const PythonHalo& it) { return it.map().owned_count; })
      .def_prop_ro("ghost_count", [](const PythonHalo& it) { return it.map().ghost_count; })
      .def("send_map",
           [](const PythonHalo& it) {
             return map_of(it.map().send_ranks, it.map().send_offsets, it.map().send_indices);
           })
      .def("receive_map",
           [](const PythonHalo& it) {
             return map_of(it.map().receive_ranks, it.map().receive_offsets,
                           it.map().receive_positions);
           })
      .def("counts", [](const PythonHalo& it) { return counts_of(it.plan()); })
      .def("text",
           [](const PythonHalo& it) {
             return text_of(it.plan().forward()) + text_of(it.plan().reverse());
           })
      .def_prop_ro("strategy", [](const PythonHalo& it) { return it.plan().forward().planner; });
  module.def("make_halo", &make_halo, "comm"_a, "owned"_a, "needed"_a, "owners"_a.none(),
             "settings"_a, "fault"_a.none());
}

}  // namespace vicinal::python

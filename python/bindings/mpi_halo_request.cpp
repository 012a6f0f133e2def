#include "mpi_halo_request.hpp"

#include <utility>

#include "base/error.hpp"

namespace nb = nanobind;

namespace vicinal::python {

HaloRequest::HaloRequest(Halo& halo, nb::handle x, nb::handle ghosts, nb::handle op)
    : is_reverse_(!op.is_none()), op_(nb::borrow(op)) {
  Combine combine;
  std::optional<Error> fault;
  try {
    operands_.owned.view(x, "x");
    if (!ghosts.is_none()) operands_.ghosts.view(ghosts, "the array of ghosts");
    operands_.check(halo.map().owned_count, halo.map().ghost_count,
                    "with the ghosts in an array of their own");
    if (is_reverse_) {
      combine = read_operator(op, operands_.owned.type(), operands_.shape.values);
      std::swap(operands_.shape.source_stride, operands_.shape.target_stride);
    }
    const bool fills_x = is_reverse_ || operands_.appended;
    (fills_x ? operands_.owned : operands_.ghosts)
        .require_writable(fills_x ? "x" : "the array of ghosts");
  } catch (const nb::python_error& error) {
    fault = Error(Fault::argument, error.what());
  } catch (...) {
    fault = current_fault();
  }
  std::byte* const owned = operands_.owned.data();
  const nb::gil_scoped_release released;
  own(is_reverse_
          ? halo.persistent_reverse(owned, operands_.ghost_data, operands_.shape, combine,
                                    std::move(fault))
          : halo.persistent(owned, operands_.ghost_data, operands_.shape, std::move(fault)));
}

void HaloRequest::release_arrays() {
  operands_.owned.release();
  operands_.ghosts.release();
}

}  // namespace vicinal::python

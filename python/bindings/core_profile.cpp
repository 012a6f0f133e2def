// What a machine costs.
#include <nanobind/stl/string.h>

#include "core.hpp"
#include "cost/profile.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

void bind_profile(nb::module_& module) {
  nb::class_<Profile>(module, "Profile",
                      "What a machine costs: messages at each level, copies, handovers.")
      .def_static(
          "default", [] { return default_profile(); }, "What holds where no profile is given.")
      .def_ro("name", &Profile::name, "Of the machine and MPI.")
      .def_ro("source", &Profile::source, "Where its numbers are from.");
}

}  // namespace vicinal::python

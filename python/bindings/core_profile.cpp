// Profiles: the costs of a machine.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "base/error.hpp"
#include "core.hpp"
#include "cost/profile_json.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

/// Returns the levels by their names, as in a profile's file.
nb::dict levels_of(const Profile& profile) {
  nb::dict levels;
  for (std::size_t i = 0; i < level_count; ++i) levels[level_names[i]] = profile.levels[i];
  return levels;
}

std::vector<std::string> device_transports_of(const Profile& profile) {
  std::vector<std::string> names;
  if (!profile.device) return names;
  for (const DeviceTransport& transport : device_transports) {
    const bool priced = !transport.lent && (!transport.direct || profile.device->levels) &&
                        (!transport.shared || profile.device->peer);
    if (priced) names.emplace_back(transport.name);
  }
  return names;
}

}  // namespace

bool lies_on_device(std::string_view memory) {
  const bool there = memory == "device";
  require(there || memory == "host", Fault::argument, "memory is '", memory,
          "', but 'host' or 'device' is expected");
  return there;
}

DeviceTransport require_device_transport(std::string_view name) {
  const auto transport = device_transport_called(name);
  if (transport) return *transport;
  std::string known;
  for (const DeviceTransport& it : device_transports) {
    known += known.empty() ? "'" : it == device_transports.back() ? " or '" : ", '";
    known += it.name;
    known += '\'';
  }
  fail(Fault::argument, "device_way is '", name, "', but ", known, " is expected");
}

void bind_profile(nb::module_& module) {
  nb::class_<LevelCost>(module, "LevelCost", "Messages between ranks that are so near, in seconds.")
      .def_ro("send_overhead", &LevelCost::send_overhead, "Of the sender's processor, per message.")
      .def_ro("receive_overhead", &LevelCost::receive_overhead, "Of the receiver's.")
      .def_ro("measured", &LevelCost::measured,
              "Whether it was, or is that of the level next to it.")
      .def("seconds", &LevelCost::seconds, "bytes"_a,
           "From the begin of a send to the end of its receive, where nobody else sends.");
  nb::class_<Profile>(module, "Profile",
                      "What a machine costs: messages at each level, copies, handovers.")
      .def_static(
          "default", [] { return default_profile(); }, "What holds where no profile is given.")
      .def_static("read", &read_profile_file, "path"_a, "What is in a file.")
      .def_static(
          "from_json", [](const std::string& text) { return read_profile(text, "the profile"); },
          "text"_a, "What such a file would have in it.")
      .def("to_json", &write_profile, "The text of a file.")
      .def("identity", &identity, "Name and fingerprint: the same for equal profiles only.")
      .def_ro("name", &Profile::name, "Of the machine and MPI.")
      .def_ro("source", &Profile::source, "Where its numbers are from.")
      .def_ro("date", &Profile::date, "Of the measurements.")
      .def_prop_ro("levels", &levels_of, "'domain', 'node' and 'network'.")
      .def_prop_ro(
          "device_ways", &device_transports_of,
          "The ways to move what lies in a GPU's memory that it has prices for, of those that "
          "'automatic' takes.")
      .def_ro("copy_seconds_per_byte", &Profile::copy_seconds_per_byte, "Of copies in memory.")
      .def_ro("handover", &Profile::handover, "From a signal in shared memory to its await.");
}

}  // namespace vicinal::python

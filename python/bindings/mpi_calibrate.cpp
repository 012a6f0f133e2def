// Measurements for `vicinal calibrate`. Python chooses the ranks, measurements and repetitions.
// Every timed loop is here.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.hpp"
#include "base/error.hpp"
#include "calibrate/calibrate.hpp"
#include "cost/profile_json.hpp"
#include "mpi.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

/// Runs a measurement without the GIL and returns its samples.
template <class Measure>
nb::ndarray<nb::numpy, double> without_lock(Measure measure) {
  Samples samples;
  {
    const nb::gil_scoped_release released;
    samples = measure();
  }
  return new_array(std::move(samples));
}

Level level_called(const std::string& name) {
  const auto found = std::find(level_names.begin(), level_names.end(), name);
  require(found != level_names.end(), Fault::argument, "there is no level '", name, "'");
  return static_cast<Level>(found - level_names.begin());
}

MessagesOf memory(bool of_gpu) { return of_gpu ? MessagesOf::gpu : MessagesOf::host; }

}  // namespace

void bind_calibrate(nb::module_& module) {
  nb::class_<Effort>(module, "Effort", "How often, and for how long each time.")
      .def(
          "__init__",
          [](Effort* self, int repetitions, double seconds) {
            new (self) Effort{repetitions, seconds};
          },
          "repetitions"_a, "seconds"_a);
  nb::class_<Calibrator>(module, "Calibrator", "The measurements from which a profile is made.")
      .def(
          "__init__",
          [](Calibrator* self, Address comm, const std::string& regions) {
            const nb::gil_scoped_release released;
            new (self) Calibrator(handle_at<MPI_Comm>(comm), regions);
          },
          "comm"_a, "regions"_a)
      .def("level",
           [](const Calibrator& it, int one, int other) {
             return level_names[static_cast<std::size_t>(it.machine().level(one, other))];
           })
      .def("hosts",
           [](const Calibrator& it) {
             std::vector<int> hosts;
             for (int rank = 0; rank < it.machine().size(); ++rank) {
               hosts.push_back(it.machine().host_of(rank));
             }
             return hosts;
           })
      .def("one_way",
           [](Calibrator& it, RankPair pair, const std::vector<std::int64_t>& sizes, Effort effort,
              bool of_gpu, bool others_wait) {
             const Others others = others_wait ? Others::wait : Others::sleep;
             return without_lock(
                 [&] { return it.one_way(pair, sizes, effort, memory(of_gpu), others); });
           })
      .def("eager_limit",
           [](Calibrator& it, RankPair pair, std::int64_t largest, bool of_gpu) {
             const nb::gil_scoped_release released;
             return it.eager_limit(pair, largest, memory(of_gpu));
           })
      .def("sends",
           [](Calibrator& it, RankPair pair, std::int64_t bytes, const std::vector<int>& counts,
              Effort effort, bool of_gpu) {
             return without_lock(
                 [&] { return it.sends(pair, bytes, counts, effort, memory(of_gpu)); });
           })
      .def("receives",
           [](Calibrator& it, RankPair pair, std::int64_t bytes, const std::vector<int>& counts,
              Effort effort, bool of_gpu) {
             return without_lock(
                 [&] { return it.receives(pair, bytes, counts, effort, memory(of_gpu)); });
           })
      .def("together",
           [](Calibrator& it, const std::vector<RankPair>& pairs, std::int64_t bytes,
              Effort effort) {
             return without_lock([&] { return it.together(pairs, bytes, effort); });
           })
      .def("all_at_once",
           [](Calibrator& it, const std::string& level, int messages, std::int64_t bytes,
              Effort effort) {
             const Level its = level_called(level);
             return without_lock([&] { return it.all_at_once(its, messages, bytes, effort); });
           })
      .def("queued",
           [](Calibrator& it, RankPair pair, int third, const std::vector<int>& counts,
              Effort effort) {
             return without_lock([&] { return it.queued(pair, third, counts, effort); });
           })
      .def("handover",
           [](Calibrator& it, RankPair pair, Effort effort) {
             return without_lock([&] { return it.handover(pair, effort); });
           })
      .def("copy",
           [](Calibrator& it, RankPair pair, std::int64_t bytes, Effort effort) {
             return without_lock([&] { return it.copy(pair, bytes, effort); });
           })
      .def("copies",
           [](Calibrator& it, std::int64_t bytes, Effort effort) {
             return without_lock([&] { return it.copies(bytes, effort); });
           })
      .def("turns",
           [](Calibrator& it, bool of_messages, Effort effort) {
             const Awaited awaited = of_messages ? Awaited::message : Awaited::flag;
             return without_lock([&] { return it.turns(awaited, effort); });
           })
      .def("device",
           [](Calibrator& it, const std::vector<std::int64_t>& sizes, Effort effort) {
             return without_lock([&] { return it.device(sizes, effort); });
           })
      .def(
          "device_peer",
          [](Calibrator& it, RankPair pair, const std::vector<std::int64_t>& sizes, Effort effort) {
            return without_lock([&] { return it.device_peer(pair, sizes, effort); });
          })
      .def("gpus",
           [](const Calibrator& it) {
             const Calibrator::Gpus found = it.gpus();
             return nb::make_tuple(found.name, found.count, found.has_kernels,
                                   found.mpi_takes_pointers);
           })
      .def("unit", [](Calibrator& it,
                      Effort effort) { return without_lock([&] { return it.unit(effort); }); })
      .def("paces", [](Calibrator& it, Effort effort) {
        return without_lock([&] { return it.paces(effort); });
      });
}

}  // namespace vicinal::python

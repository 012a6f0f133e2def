// The benchmark of scatters between vectors on GPUs. Python chooses the ranks, the scatters and
// their order. Every timed loop is here.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "calibrate/measuring.hpp"
#include "collectives/halo.hpp"
#include "mpi.hpp"
#include "mpi_gpu_application.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

std::unique_ptr<Halo> halo_of(const ScatterVectors& vectors, const GivenSettings& given) {
  const Scatter& scatter = vectors.scatter;
  const Index end = scatter.first + static_cast<Index>(scatter.length());
  AgreedSettings agreed = agree_on_settings(vectors.communicator, given, std::nullopt, {1, 0});
  return std::make_unique<Halo>(vectors.communicator, Halo::Owned{std::pair(scatter.first, end)},
                                scatter.needed, std::nullopt, std::move(agreed.settings));
}

/// The scatter as a halo.
class ScatterHalo final : public ScatterContestant {
 public:
  ScatterHalo(const ScatterVectors& vectors, const GivenSettings& given)
      : vectors_(vectors), halo_(halo_of(vectors, given)) {}

  void begin() override {
    request_ = &halo_->start(vectors_.from.data(), vectors_.to.data(), ValueShape{});
  }
  void end() override { request_->wait(); }

 private:
  const ScatterVectors& vectors_;
  std::unique_ptr<Halo> halo_;
  vicinal::Request* request_ = nullptr;
};

/// Copies the expected values on the GPU: the least work that a scatter can do.
class ScatterCopy final : public ScatterContestant {
 public:
  explicit ScatterCopy(const ScatterVectors& vectors) : vectors_(vectors) {}

  void begin() override {
    vectors_.gpu.copy(vectors_.to.data(), vectors_.there.data(), vectors_.there.bytes());
  }
  void end() override { vectors_.gpu.wait(); }

 private:
  const ScatterVectors& vectors_;
};

/// The Python object of a contestant.
class PythonContestant {
 public:
  explicit PythonContestant(std::unique_ptr<ScatterContestant> contestant)
      : contestant_(std::move(contestant)) {}
  PythonContestant(const PythonContestant&) = delete;
  PythonContestant& operator=(const PythonContestant&) = delete;
  ~PythonContestant() { free(); }

  /// Collective.
  void free() {
    const nb::gil_scoped_release released;
    contestant_.reset();
  }

  /// Runs `iterations` scatters in a row. Returns the mean seconds to begin and to end one of them.
  std::pair<double, double> run(int iterations) {
    require(contestant_ != nullptr, Fault::request, "this contestant has been freed; make another");
    const nb::gil_scoped_release released;
    double begun = 0, ended = 0;
    double last = measuring::now();
    for (int i = 0; i < iterations; ++i) {
      contestant_->begin();
      const double middle = measuring::now();
      contestant_->end();
      const double now = measuring::now();
      begun += middle - last;
      ended += now - middle;
      last = now;
    }
    return {begun / iterations, ended / iterations};
  }

 private:
  std::unique_ptr<ScatterContestant> contestant_;
};

/// Creates a contestant without the GIL.
template <class Contestant, class... Arguments>
std::unique_ptr<PythonContestant> contestant(const ScatterVectors& vectors,
                                             const Arguments&... arguments) {
  const nb::gil_scoped_release released;
  return std::make_unique<PythonContestant>(std::make_unique<Contestant>(vectors, arguments...));
}

ScatterApplication::Method method_called(const std::string& name) {
  using Method = ScatterApplication::Method;
  if (name == "collective") return Method::collective;
  if (name == "point to point") return Method::point_to_point;
  require(
      name == "whole vectors", Fault::argument, "'", name,
      "' is no way of an application; they are 'collective', 'point to point' and 'whole vectors'");
  return Method::whole_vectors;
}

const char* text_of(ApplicationGpu::Kernels kernels) {
  switch (kernels) {
    case ApplicationGpu::Kernels::none: return "none";
    case ApplicationGpu::Kernels::compiled: return "compiled at run time";
    case ApplicationGpu::Kernels::precompiled: return "precompiled";
  }
  return "";
}

}  // namespace

void bind_gpu_scatter(nb::module_& module) {
  module.def("count_gpus", [] { return find_gpus().count; });
  nb::class_<ApplicationGpu>(module, "ApplicationGpu", "A GPU as an application has it.")
      .def(nb::init<int>(), "number"_a)
      .def_prop_ro("name", &ApplicationGpu::name)
      .def_prop_ro("driver", [](const ApplicationGpu& it) { return it.driver().name(); })
      .def_prop_ro("kernels", [](const ApplicationGpu& it) { return text_of(it.kernels()); });
  nb::class_<PythonContestant>(module, "ScatterContestant", "Who carries a scatter out.")
      .def("run", &PythonContestant::run, "iterations"_a)
      .def("free", &PythonContestant::free);
  nb::class_<ScatterVectors>(module, "ScatterVectors", "The vectors of a scatter, on a GPU.")
      .def(
          "__init__",
          [](ScatterVectors* self, Address comm, ApplicationGpu& gpu,
             const ArrayArgument<int>& sources, const ArrayArgument<int>& targets,
             std::int64_t count, std::int64_t stride, std::int64_t first,
             const ArrayArgument<std::int64_t>& needed) {
            new (self) ScatterVectors(
                handle_at<MPI_Comm>(comm), gpu,
                {vector_of(sources), vector_of(targets), static_cast<std::size_t>(count),
                 static_cast<std::size_t>(stride), first, vector_of(needed)});
          },
          "comm"_a, "gpu"_a, "sources"_a, "targets"_a, "count"_a, "stride"_a, "first"_a, "needed"_a,
          nb::keep_alive<1, 3>())
      .def("fill", &ScatterVectors::fill, "round"_a)
      .def("right", &ScatterVectors::right, "round"_a)
      .def(
          "application",
          [](const ScatterVectors& it, const std::string& method) {
            return contestant<ScatterApplication>(it, method_called(method));
          },
          "way"_a, nb::keep_alive<0, 1>())
      .def("halo", &contestant<ScatterHalo, GivenSettings>, "settings"_a, nb::keep_alive<0, 1>())
      .def("copy", &contestant<ScatterCopy>, nb::keep_alive<0, 1>());
}

}  // namespace vicinal::python

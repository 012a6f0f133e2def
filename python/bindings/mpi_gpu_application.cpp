#include "mpi_gpu_application.hpp"

#include <sched.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "memory/device/compiler.hpp"
#include "mpi/errors.hpp"

namespace vicinal::python {

namespace {

std::vector<std::int32_t> places_of(const Scatter& scatter) {
  std::vector<std::int32_t> places;
  for (std::size_t i = 0; i < scatter.sent(); ++i) {
    places.push_back(static_cast<std::int32_t>(scatter.stride * i * sizeof(double)));
  }
  return places;
}

/// Yields the core while it waits, since the awaited rank may need it.
void wait_for_all(std::vector<MPI_Request>& requests) {
  for (int done = 0; done == 0;) {
    mpi::check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (done == 0) sched_yield();
  }
}

}  // namespace

FoundGpus find_gpus() {
  const device::Drivers& drivers = device::drivers();
  const auto found = device::first_gpu(drivers);
  for (const auto& driver : drivers) {
    if (found && &device_memory(*driver, 0) == &found->memory) return {*driver, found->count};
  }
  const char* const given = std::getenv("VICINAL_DEVICE_DRIVER");
  const std::string wish = given != nullptr ? given : "";
  fail(Fault::device, "a GPU is needed, and there is none here: ",
       drivers.empty() ? "neither NVIDIA's driver (libcuda.so.1) nor AMD's (libamdhip64.so, and "
                         "/dev/kfd) was found"
                       : "a driver was found, but no GPU that it can use",
       wish.empty() ? "" : "; VICINAL_DEVICE_DRIVER is " + wish);
}

ApplicationGpu::ApplicationGpu(int number)
    : memory(device_memory(find_gpus().driver, number)), device_(find_gpus().driver, number) {
  const device::Device::Current current(device_);
  std::array<char, 256> text{};
  driver().call(driver().calls.device_name, text.data(), static_cast<int>(text.size()) - 1, number);
  name_ = text.data();
  stream_ = device_.stream();
  kernels_ = find_kernels();
  if (packs()) pack_ = device_.kernel("copy_words_8_32");
}

ApplicationGpu::Kernels ApplicationGpu::find_kernels() {
  if (!device_.has_kernels()) return Kernels::none;
  const std::string_view ready = device::precompiled_kernels();
  void* module = nullptr;
  const bool takes_them = driver().vendor() == device::Driver::Vendor::nvidia && !ready.empty() &&
                          driver().calls.load_module.function(&module, ready.data()) == 0;
  return takes_them ? Kernels::precompiled : Kernels::compiled;
}

void ApplicationGpu::pack(const void* from, void* to, const std::int32_t* places,
                          std::size_t count) {
  if (count == 0) return;
  const device::Device::Current current(device_);
  const std::int32_t* targets = nullptr;
  unsigned parts = 0;
  unsigned long long words = count;
  const auto at = [](auto& argument) { return static_cast<void*>(&argument); };
  std::array<void*, 6> arguments{at(from), at(to), at(places), at(targets), at(parts), at(words)};
  device_.launch(pack_, count, arguments.data(), stream_);
}

void ApplicationGpu::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const device::Device::Current current(device_);
  driver().copy(to, from, bytes, stream_);
}

void ApplicationGpu::wait() {
  const device::Device::Current current(device_);
  driver().call(driver().calls.await_stream, stream_);
}

ScatterVectors::ScatterVectors(MPI_Comm comm, ApplicationGpu& used, Scatter made)
    : communicator(comm),
      gpu(used),
      scatter(std::move(made)),
      from(used.memory, scatter.length()),
      to(used.memory, scatter.received()),
      there(used.memory, scatter.received()) {}

void ScatterVectors::fill(int round) {
  std::vector<double> values;
  for (std::size_t i = 0; i < from.size(); ++i) {
    values.push_back(static_cast<double>(scatter.first + static_cast<std::int64_t>(i)) * round);
  }
  from.write(gpu, values);
  to.write(gpu, std::vector<double>(to.size(), -1));
  there.write(gpu, expected(round));
}

bool ScatterVectors::right(int round) const { return to.read(gpu) == expected(round); }

std::vector<double> ScatterVectors::expected(int round) const {
  std::vector<double> values;
  for (const std::int64_t number : scatter.needed) {
    values.push_back(static_cast<double>(number) * round);
  }
  return values;
}

ScatterApplication::ScatterApplication(const ScatterVectors& vectors, Method method)
    : vectors_(vectors),
      method_(method),
      places_(vectors.gpu, places_of(vectors.scatter)),
      packed_(vectors.gpu.memory, vectors.scatter.sent()),
      whole_(vectors.gpu.memory.staging(), host_packs() ? vectors.scatter.length() : 0),
      sent_(vectors.gpu.memory.staging(), vectors.scatter.sent()),
      came_(vectors.gpu.memory.staging(), vectors.scatter.received()) {
  const Scatter& scatter = vectors.scatter;
  const auto list = [&](const std::vector<int>& ranks, std::vector<int>& counts,
                        std::vector<int>& offsets) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      counts.push_back(static_cast<int>(scatter.count));
      offsets.push_back(static_cast<int>(i * scatter.count));
    }
  };
  list(scatter.targets, send_counts_, send_offsets_);
  list(scatter.sources, receive_counts_, receive_offsets_);
  mpi::check(MPI_Dist_graph_create_adjacent(
                 vectors.communicator, static_cast<int>(scatter.sources.size()),
                 scatter.sources.data(), MPI_UNWEIGHTED, static_cast<int>(scatter.targets.size()),
                 scatter.targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_),
             "MPI_Dist_graph_create_adjacent");
}

ScatterApplication::~ScatterApplication() { MPI_Comm_free(&graph_); }

void ScatterApplication::begin() {
  stage();
  if (method_ == Method::point_to_point) return post();
  requests_.resize(1);
  mpi::check(MPI_Ineighbor_alltoallv(sent_.data(), send_counts_.data(), send_offsets_.data(),
                                     MPI_DOUBLE, came_.data(), receive_counts_.data(),
                                     receive_offsets_.data(), MPI_DOUBLE, graph_, requests_.data()),
             "MPI_Ineighbor_alltoallv");
}

void ScatterApplication::end() {
  wait_for_all(requests_);
  vectors_.gpu.copy(vectors_.to.data(), came_.data(), came_.bytes());
  vectors_.gpu.wait();
}

void ScatterApplication::stage() {
  ApplicationGpu& gpu = vectors_.gpu;
  const Numbers<double>& from = vectors_.from;
  if (!host_packs()) {
    gpu.pack(from.data(), packed_.data(), places_.data(), sent_.size());
    gpu.copy(sent_.data(), packed_.data(), sent_.bytes());
    return gpu.wait();
  }
  gpu.copy(whole_.data(), from.data(), from.bytes());
  gpu.wait();
  for (std::size_t i = 0; i < sent_.size(); ++i)
    sent_.data()[i] = whole_.data()[vectors_.scatter.stride * i];
}

void ScatterApplication::post() {
  const Scatter& scatter = vectors_.scatter;
  requests_.clear();
  for (std::size_t i = 0; i < scatter.sources.size(); ++i) {
    mpi::check(MPI_Irecv(came_.data() + receive_offsets_[i], receive_counts_[i], MPI_DOUBLE,
                         scatter.sources[i], 0, graph_, &requests_.emplace_back()),
               "MPI_Irecv");
  }
  for (std::size_t i = 0; i < scatter.targets.size(); ++i) {
    mpi::check(MPI_Isend(sent_.data() + send_offsets_[i], send_counts_[i], MPI_DOUBLE,
                         scatter.targets[i], 0, graph_, &requests_.emplace_back()),
               "MPI_Isend");
  }
}

}  // namespace vicinal::python

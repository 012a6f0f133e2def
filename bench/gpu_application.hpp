// Scatters between vectors in a GPU's memory, and an application that carries them out by itself, as PETSc's star
// forests do with an MPI that knows nothing of GPUs: what is sent is packed on the GPU, copied to the host's pinned
// memory, sent, and copied back.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "measure.hpp"
#include "memory/device/device.hpp"
#include "memory/device/device_memory.hpp"

namespace bench {

namespace device = vicinal::device;
using vicinal::MemoryBlock;
using vicinal::MemoryKind;

/// The machine's first GPU, as an application has it: with a stream of its own.
class Gpu {
 public:
  /// `found` of device::first_gpu(device::drivers()).
  explicit Gpu(device::Gpu found)
      : memory(found.memory), name(std::move(found.name)), device_(driver(), 0) {
    const device::Device::Current current(device_);
    stream_ = device_.stream();
    pack_ = device_.has_kernels() ? device_.kernel("copy_words_8_32") : nullptr;
  }

  MemoryKind& memory;
  std::string name;

  /// Whether kernels could be compiled.
  [[nodiscard]] bool packs() const { return pack_ != nullptr; }
  /// On the stream: words of 8 bytes from the places that a list on the GPU has, one after the other.
  void pack(const void* from, void* to, const std::int32_t* places, std::size_t count) {
    if (count == 0) return;
    const device::Device::Current current(device_);
    const std::int32_t* targets = nullptr;
    unsigned parts = 0;
    unsigned long long words = count;
    std::array<void*, 6> arguments{&from, &to, &places, &targets, &parts, &words};
    device_.launch(pack_, count, arguments.data(), stream_);
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const device::Device::Current current(device_);
    driver().copy(to, from, bytes, stream_);
  }
  void wait() {
    const device::Device::Current current(device_);
    driver().call(driver().calls.await_stream, stream_);
  }

 private:
  static const device::Driver& driver() { return *device::drivers().front(); }

  device::Device device_;
  void* stream_ = nullptr;
  void* pack_ = nullptr;
};

/// Numbers in a GPU's memory, or in the host's pinned memory.
template <class Value>
class Numbers {
 public:
  Numbers(MemoryKind& kind, std::size_t count)
      : count_(count), block_(kind, count * sizeof(Value)) {}
  Numbers(Gpu& gpu, const std::vector<Value>& values) : Numbers(gpu.memory, values.size()) {
    write(gpu, values);
  }
  [[nodiscard]] Value* data() const { return reinterpret_cast<Value*>(block_.data()); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(Value); }
  void write(Gpu& gpu, const std::vector<Value>& values) const {
    gpu.copy(data(), values.data(), bytes());
    gpu.wait();
  }
  [[nodiscard]] std::vector<Value> read(Gpu& gpu) const {
    std::vector<Value> values(count_);
    gpu.copy(values.data(), data(), bytes());
    gpu.wait();
    return values;
  }

 private:
  std::size_t count_;
  MemoryBlock block_;
};

/// Who sends to whom: each sender has a part of its vector for each of those that it sends to, and every second value of
/// the part is sent.
struct Routine {
  std::string name;
  std::vector<std::vector<int>> targets;  ///< of each rank, ascending
};

/// One rank's side of a routine.
struct Scatter {
  std::vector<int> sources, targets;
  std::size_t count = 0;  ///< of the values that go from one rank to another
  std::vector<double> vector;
  std::vector<std::int32_t> places;  ///< of what is sent, in bytes
  std::vector<std::int64_t> needed;  ///< by the numbers of all ranks' values
  std::vector<double> expected;
  std::int64_t first = 0;

  Scatter(const World& world, const Routine& routine, std::size_t values) : count(values) {
    std::int64_t begin = 0;
    for (int rank = 0; rank < world.size(); ++rank) {
      const auto& their_targets = routine.targets[static_cast<std::size_t>(rank)];
      if (rank == world.rank()) {
        first = begin;
        targets = their_targets;
      }
      for (std::size_t part = 0; part < their_targets.size(); ++part) {
        if (their_targets[part] != world.rank()) continue;
        sources.push_back(rank);
        for (std::size_t i = 0; i < count; ++i) {
          needed.push_back(begin + static_cast<std::int64_t>(2 * (part * count + i)));
          expected.push_back(static_cast<double>(needed.back()));
        }
      }
      begin += static_cast<std::int64_t>(2 * count * their_targets.size());
    }
    for (std::size_t i = 0; i < 2 * count * targets.size(); ++i) {
      vector.push_back(static_cast<double>(first) + static_cast<double>(i));
      if (i % 2 == 0) places.push_back(static_cast<std::int32_t>(i * sizeof(double)));
    }
  }
  [[nodiscard]] std::size_t sent() const { return count * targets.size(); }
  [[nodiscard]] std::size_t received() const { return count * sources.size(); }
};

/// A scatter by the application itself, in one of the ways that applications have.
class Application {
 public:
  enum class Way {
    collective,      ///< what is packed, by MPI_Ineighbor_alltoallv
    point_to_point,  ///< what is packed, one message to each
    whole,           ///< whole vectors are copied, and the host packs
  };

  Application(const World& world, Gpu& gpu, const Scatter& scatter, const Numbers<double>& from,
              const Numbers<double>& to, Way way)
      : gpu_(gpu),
        scatter_(scatter),
        from_(from),
        to_(to),
        way_(way),
        places_(gpu, scatter.places),
        packed_(gpu.memory, scatter.sent()),
        whole_(gpu.memory.staging(), way == Way::whole ? scatter.vector.size() : 0),
        sent_(gpu.memory.staging(), scatter.sent()),
        came_(gpu.memory.staging(), scatter.received()) {
    const auto list = [&](const std::vector<int>& ranks, std::vector<int>& counts,
                          std::vector<int>& offsets) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        counts.push_back(static_cast<int>(scatter.count));
        offsets.push_back(static_cast<int>(i * scatter.count));
      }
    };
    list(scatter.targets, send_counts_, send_offsets_);
    list(scatter.sources, receive_counts_, receive_offsets_);
    MPI_Dist_graph_create_adjacent(world.handle(), static_cast<int>(scatter.sources.size()),
                                   scatter.sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(scatter.targets.size()), scatter.targets.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() { MPI_Comm_free(&graph_); }

  void begin() {
    if (way_ == Way::whole) {
      gpu_.copy(whole_.data(), from_.data(), from_.bytes());
      gpu_.wait();
      for (std::size_t i = 0; i < sent_.size(); ++i) sent_.data()[i] = whole_.data()[2 * i];
    } else {
      gpu_.pack(from_.data(), packed_.data(), places_.data(), sent_.size());
      gpu_.copy(sent_.data(), packed_.data(), sent_.bytes());
      gpu_.wait();
    }
    if (way_ == Way::point_to_point) return post();
    requests_.resize(1);
    MPI_Ineighbor_alltoallv(sent_.data(), send_counts_.data(), send_offsets_.data(), MPI_DOUBLE,
                            came_.data(), receive_counts_.data(), receive_offsets_.data(),
                            MPI_DOUBLE, graph_, requests_.data());
  }
  void end() {
    World::wait_all(requests_);
    gpu_.copy(to_.data(), came_.data(), came_.bytes());
    gpu_.wait();
  }

 private:
  void post() {
    requests_.clear();
    for (std::size_t i = 0; i < scatter_.sources.size(); ++i) {
      MPI_Irecv(came_.data() + receive_offsets_[i], receive_counts_[i], MPI_DOUBLE,
                scatter_.sources[i], 0, graph_, &requests_.emplace_back());
    }
    for (std::size_t i = 0; i < scatter_.targets.size(); ++i) {
      MPI_Isend(sent_.data() + send_offsets_[i], send_counts_[i], MPI_DOUBLE, scatter_.targets[i],
                0, graph_, &requests_.emplace_back());
    }
  }

  Gpu& gpu_;
  const Scatter& scatter_;
  const Numbers<double>& from_;
  const Numbers<double>& to_;
  Way way_;
  Numbers<std::int32_t> places_;
  Numbers<double> packed_;
  Numbers<double> whole_, sent_, came_;
  std::vector<int> send_counts_, send_offsets_, receive_counts_, receive_offsets_;
  MPI_Comm graph_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
};

}  // namespace bench

// Scatters between vectors in GPU memory, and an application that does them without vicinal. It
// works as PETSc's star forests do with an MPI without GPU support. It packs on the GPU, copies to
// pinned host memory, sends, and copies back. It calls MPI as an application does.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/device/device.hpp"
#include "memory/device/device_memory.hpp"

namespace vicinal::python {

/// The driver in use, and its number of GPUs. Throws a device fault if there is no usable GPU.
struct FoundGpus {
  const device::Driver& driver;
  int count;
};
[[nodiscard]] FoundGpus find_gpus();

/// A GPU as an application has it, with a stream of its own.
class ApplicationGpu {
 public:
  explicit ApplicationGpu(int number);

  MemoryKind& memory;
  /// Origin of its kernels.
  enum class Kernels : std::uint8_t {
    none,         ///< no kernels: the GPU copies, and the host packs
    compiled,     ///< at run time
    precompiled,  ///< with the library
  };

  [[nodiscard]] const device::Driver& driver() const { return device_.driver(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Kernels kernels() const { return kernels_; }
  [[nodiscard]] bool packs() const { return kernels_ != Kernels::none; }
  /// On the stream: packs 8-byte words, from the offsets in a list on the GPU, into contiguous
  /// memory.
  void pack(const void* from, void* to, const std::int32_t* places, std::size_t count);
  void copy(void* to, const void* from, std::size_t bytes);
  void wait();

 private:
  [[nodiscard]] Kernels find_kernels();

  device::Device device_;
  std::string name_;
  Kernels kernels_ = Kernels::none;
  void* stream_ = nullptr;
  void* pack_ = nullptr;
};

/// Numbers in GPU memory or in pinned host memory.
template <class Value>
class Numbers {
 public:
  Numbers(MemoryKind& kind, std::size_t count)
      : count_(count), block_(kind, count * sizeof(Value)) {}
  Numbers(ApplicationGpu& gpu, const std::vector<Value>& values)
      : Numbers(gpu.memory, values.size()) {
    write(gpu, values);
  }
  [[nodiscard]] Value* data() const { return reinterpret_cast<Value*>(block_.data()); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(Value); }
  void write(ApplicationGpu& gpu, const std::vector<Value>& values) const {
    gpu.copy(data(), values.data(), bytes());
    gpu.wait();
  }
  [[nodiscard]] std::vector<Value> read(ApplicationGpu& gpu) const {
    std::vector<Value> values(count_);
    gpu.copy(values.data(), data(), bytes());
    gpu.wait();
    return values;
  }

 private:
  std::size_t count_;
  MemoryBlock block_;
};

/// One rank's side of a scatter. Its vector has one part for each target. From each part it sends
/// the values that lie a stride apart.
struct Scatter {
  std::vector<int> sources, targets;
  std::size_t count = 0;  ///< number of values from one rank to another
  std::size_t stride = 1;
  std::int64_t first = 0;            ///< global number of the vector's first value
  std::vector<std::int64_t> needed;  ///< global numbers of the received values, source by source

  [[nodiscard]] std::size_t length() const { return stride * count * targets.size(); }
  [[nodiscard]] std::size_t sent() const { return count * targets.size(); }
  [[nodiscard]] std::size_t received() const { return count * sources.size(); }
};

/// The vectors of a scatter, on a GPU.
class ScatterVectors {
 public:
  ScatterVectors(MPI_Comm comm, ApplicationGpu& used, Scatter made);

  const MPI_Comm communicator;
  ApplicationGpu& gpu;
  const Scatter scatter;
  const Numbers<double> from, to;
  const Numbers<double> there;  ///< the expected values, already on the GPU

  /// Sets the vector to the values of a round, and overwrites the received values.
  void fill(int round);
  /// Returns whether the received values are the expected ones.
  [[nodiscard]] bool right(int round) const;

 private:
  [[nodiscard]] std::vector<double> expected(int round) const;
};

/// An implementation of a scatter, compared with others.
class ScatterContestant {
 public:
  ScatterContestant() = default;
  ScatterContestant(const ScatterContestant&) = delete;
  ScatterContestant& operator=(const ScatterContestant&) = delete;
  virtual ~ScatterContestant() = default;
  virtual void begin() = 0;
  virtual void end() = 0;
};

/// An application without vicinal. If its GPU has no kernels, it copies whole vectors and packs on
/// the host.
class ScatterApplication final : public ScatterContestant {
 public:
  enum class Method : std::uint8_t {
    collective,      ///< MPI_Ineighbor_alltoallv
    point_to_point,  ///< one message to each target
    whole_vectors,   ///< MPI_Ineighbor_alltoallv, packed on the host
  };

  /// Collective. The vectors must outlive it.
  ScatterApplication(const ScatterVectors& vectors, Method method);
  ~ScatterApplication() override;

  void begin() override;
  void end() override;

 private:
  [[nodiscard]] bool host_packs() const {
    return method_ == Method::whole_vectors || !vectors_.gpu.packs();
  }
  void stage();
  void post();

  const ScatterVectors& vectors_;
  Method method_;
  Numbers<std::int32_t> places_;  ///< offsets of the sent values, in bytes
  Numbers<double> packed_;
  Numbers<double> whole_, sent_, came_;
  std::vector<int> send_counts_, send_offsets_, receive_counts_, receive_offsets_;
  MPI_Comm graph_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
};

}  // namespace vicinal::python

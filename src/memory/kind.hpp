// Kinds of memory. A plan defines what a buffer is for (`Space`). The kind of memory that a buffer
// lies in decides how it is allocated, copied, gathered, scattered and reduced, and whether MPI may
// access it. Each kind is one file and one line of the table in kinds.cpp. Processes open memory of
// other processes by IPC handles.
//
// An operation on memory that the processor cannot access directly, such as a device's, is a *job*.
// A job is prepared when a plan is bound and begun during an execution; it may finish only after
// several polls. Host memory needs no jobs: the kernels of kernels.hpp serve it.
//
// Kinds are thread-safe; a job is used by one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/runs.hpp"
#include "memory/kernels.hpp"

namespace vicinal {

/// A driver's own IPC handle: 64 opaque bytes with both drivers.
struct IpcHandle {
  std::array<std::byte, 64> bytes{};
  friend bool operator==(const IpcHandle&, const IpcHandle&) = default;
};

/// Memory inside another owner's allocation: the IPC handle of that allocation, and the offset in
/// it.
struct Lease {
  IpcHandle handle;
  std::int64_t offset = 0;  ///< in bytes
};

/// A list of copies or reductions ready to run. One side lies in a kind of memory, the other there
/// or in host memory. May be begun again only after it has finished.
class MemoryJob {
 public:
  MemoryJob() = default;
  MemoryJob(const MemoryJob&) = delete;
  MemoryJob& operator=(const MemoryJob&) = delete;
  /// Derived classes drop the operation in progress.
  virtual ~MemoryJob() = default;
  /// Begins; returns whether the job has finished already. The buffers must not overlap, and must
  /// stay valid until it has finished. begin() and poll() throw the job's error; nothing is in
  /// progress then.
  virtual bool begin(const std::byte* from, std::byte* to) = 0;
  /// Returns whether the job has finished. Never waits.
  virtual bool poll() = 0;
  /// Makes later work on the program's `stream` wait for this job. Returns false while part of the
  /// job is not on the device yet. Throws an argument fault for kinds that know no streams.
  virtual bool have_stream_await(std::uintptr_t stream);
  /// Ensures that the job, if begun, no longer accesses either side.
  virtual void drop() noexcept = 0;
};

/// Sides of a job that lie in its kind's memory; the other side lies in host memory.
struct Sides {
  bool from = true;
  bool to = true;
};

class MemoryKind {
 public:
  MemoryKind() = default;
  MemoryKind(const MemoryKind&) = delete;
  MemoryKind& operator=(const MemoryKind&) = delete;
  virtual ~MemoryKind() = default;

  [[nodiscard]] virtual const char* name() const = 0;
  /// Returns whether MPI and the processor can access this memory directly.
  [[nodiscard]] virtual bool is_reachable() const = 0;
  /// Name of this kind in MPI 4.1's "mpi_memory_alloc_kinds"; null if no MPI may get its addresses.
  [[nodiscard]] virtual const char* mpi_name() const { return nullptr; }
  /// The reachable kind that stages data between MPI and this kind.
  [[nodiscard]] virtual MemoryKind& staging() = 0;

  /// Allocates zeroed memory. Throws a memory fault if there is not enough.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;

  /// Exports memory to other processes of the host. open_shared() opens there what share()
  /// returned, for memory from allocate(); close_shared() closes it. The exporter keeps the memory
  /// until all have closed it. share() and open_shared() throw an unsupported fault for kinds that
  /// cannot export.
  [[nodiscard]] virtual IpcHandle share(std::byte* memory);
  [[nodiscard]] virtual std::byte* open_shared(const IpcHandle& handle);
  virtual void close_shared(std::byte*) noexcept {}
  /// As share(), for memory that the program allocated, at any offset in its allocation. The
  /// program keeps it until all have closed it.
  [[nodiscard]] virtual Lease lend(const std::byte* memory);

  /// Returns whether jobs that move `bytes` bytes access memory of kind `other` as if it were of
  /// this kind. For example, GPU jobs access pinned host memory directly.
  [[nodiscard]] virtual bool reaches(const MemoryKind& other, std::int64_t /*bytes*/) const {
    return &other == this;
  }
  /// Pins pages of the host, so that jobs treat them as memory of the staging kind until unpin().
  /// Returns whether it succeeded. Meanwhile the pages stay mapped, and nothing else may pin any of
  /// them.
  [[nodiscard]] virtual bool pin(std::byte*, std::size_t) { return false; }
  virtual void unpin(std::byte*) noexcept {}

  /// Launches begun jobs that wait to be batched with others. Otherwise a later poll launches them.
  virtual void launch() noexcept {}
  /// Waits for the work of the followed streams. Call it before code other than jobs accesses the
  /// memory.
  virtual void await_followed() {}
  /// Prepares a job that moves nothing and finishes when that work has. Null for kinds that need no
  /// jobs.
  [[nodiscard]] virtual std::unique_ptr<MemoryJob> prepare_fence() { return nullptr; }

  /// Returns whether the program's stream is being captured into a graph.
  [[nodiscard]] virtual bool is_captured(std::uintptr_t /*stream*/) { return false; }

  /// Prepares a job that gathers, scatters or copies as the runs say. Null for kinds that need no
  /// jobs.
  [[nodiscard]] virtual std::unique_ptr<MemoryJob> prepare_copy(std::span<const CopyRun> runs,
                                                                std::size_t element_bytes,
                                                                Sides inside) = 0;
  /// Prepares target = target op source, in the order of the runs. Null for kinds that need no
  /// jobs.
  [[nodiscard]] virtual std::unique_ptr<MemoryJob> prepare_reduction(std::span<const CopyRun> runs,
                                                                     std::size_t element_bytes,
                                                                     ReduceOp op, ElementType type,
                                                                     Sides inside) = 0;
};

/// Memory that the processor and MPI access directly: the kernels serve it.
class ReachableMemory : public MemoryKind {
 public:
  [[nodiscard]] bool is_reachable() const final { return true; }
  [[nodiscard]] MemoryKind& staging() final { return *this; }
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_copy(std::span<const CopyRun>, std::size_t,
                                                        Sides) final {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<MemoryJob> prepare_reduction(std::span<const CopyRun>, std::size_t,
                                                             ReduceOp, ElementType, Sides) final {
    return nullptr;
  }
};

[[nodiscard]] MemoryKind& host_memory();

/// Pins pages of the host during its lifetime.
class Pinning {
 public:
  Pinning() = default;
  Pinning(MemoryKind& kind, std::byte* memory, std::size_t bytes)
      : kind_(kind.pin(memory, bytes) ? &kind : nullptr), memory_(memory) {}
  Pinning(Pinning&& other) noexcept
      : kind_(std::exchange(other.kind_, nullptr)), memory_(other.memory_) {}
  Pinning& operator=(Pinning&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;
  ~Pinning() {
    if (kind_ != nullptr) kind_->unpin(memory_);
  }
  /// Kind that the pinned pages count as; null if they could not be pinned.
  [[nodiscard]] MemoryKind* kind() const { return kind_ != nullptr ? &kind_->staging() : nullptr; }

 private:
  MemoryKind* kind_ = nullptr;
  std::byte* memory_ = nullptr;
};

/// Keeps memory of another process open during its lifetime.
class Opened {
 public:
  Opened() = default;
  Opened(MemoryKind& kind, const IpcHandle& handle)
      : kind_(&kind), handle_(handle), memory_(kind.open_shared(handle)) {}
  Opened(Opened&& other) noexcept { *this = std::move(other); }
  Opened& operator=(Opened&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(handle_, other.handle_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Opened() {
    if (memory_ != nullptr) kind_->close_shared(memory_);
  }
  explicit operator bool() const { return memory_ != nullptr; }
  [[nodiscard]] MemoryKind* kind() const { return kind_; }
  [[nodiscard]] const IpcHandle& handle() const { return handle_; }
  [[nodiscard]] std::byte* memory() const { return memory_; }

 private:
  MemoryKind* kind_ = nullptr;
  IpcHandle handle_{};
  std::byte* memory_ = nullptr;
};

/// Returns the kind of memory that an address lies in: the first in the table that holds it, else
/// host memory. Null counts as host memory.
[[nodiscard]] MemoryKind& kind_of(const void* address);

/// Returns a kind with this MPI name, by which a process without such memory of its own opens
/// another process's. Null if there is none.
[[nodiscard]] MemoryKind* kind_called(std::string_view mpi_name);

/// For tests: treats memory that no kind holds as `kind` from now on. Returns the previous kind.
MemoryKind& treat_host_memory_as(MemoryKind& kind);
/// As treat_host_memory_as(kind), but only for addresses that satisfy `which`.
MemoryKind& treat_host_memory_as(MemoryKind& kind, bool (*which)(const void* address));

/// Returns the kind of an address that neither the processor nor MPI reaches; null for other
/// addresses.
[[nodiscard]] MemoryKind* kind_out_of_reach(const void* address);

/// Throws an unsupported fault if the processor does not reach the address; `what` names the
/// buffer.
void require_reachable(const void* address, const char* what);

/// Owns memory of a kind.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  /// Allocates zeroed memory, with its pages present.
  MemoryBlock(MemoryKind& kind, std::size_t bytes)
      : kind_(&kind), data_(bytes > 0 ? kind.allocate(bytes) : nullptr), bytes_(bytes) {}
  MemoryBlock(MemoryBlock&& other) noexcept
      : kind_(other.kind_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;
  ~MemoryBlock() {
    if (data_ != nullptr) kind_->release(data_);
  }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] bool serves(const MemoryKind& kind, std::size_t bytes) const {
    return kind_ == &kind && bytes_ >= bytes;
  }

 private:
  MemoryKind* kind_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace vicinal

// Kinds of memory. What a buffer is for is the plan's business (`Space`); where it lies is another thing, and
// decides how it is allocated, copied, gathered, scattered, reduced, and whether MPI may touch it. Each
// kind is one file that answers these questions, and one line of the table in kinds.cpp.
//
// An operation on memory that the processor does not reach by itself, a device's say, is a *job*: prepared
// when a plan is bound, begun during an execution, and perhaps finished only when it has been polled
// some times. Host memory needs none: the kernels of kernels.hpp serve it.
//
// Any thread may ask a kind; a job belongs to one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/runs.hpp"
#include "memory/kernels.hpp"
#include "memory/ticket.hpp"

namespace vicinal {

/// A list of copies or reductions ready to run, of which one side lies in a kind of memory and the other
/// there or in the host's. Begun again only after it has finished.
class MemoryJob {
 public:
  MemoryJob() = default;
  MemoryJob(const MemoryJob&) = delete;
  MemoryJob& operator=(const MemoryJob&) = delete;
  /// Drops what is under way.
  virtual ~MemoryJob() = default;
  /// Begins; whether it has finished at once. The buffers must not overlap, and stay until it has finished.
  /// This and poll() throw what it has failed with; nothing is under way then.
  virtual bool begin(const std::byte* from, std::byte* to) = 0;
  /// Whether what was begun has finished. Never waits.
  virtual bool poll() = 0;
  /// Has what a program puts on a stream of its own from now on come after what was begun; false where it could not be done yet,
  /// since some of it is not on the device. An argument fault for kinds that know no streams.
  virtual bool have_stream_await(std::uintptr_t stream);
  /// Sees to it that what was begun, if anything, touches neither side any more.
  virtual void drop() noexcept = 0;
};

/// Which sides of a job lie in its kind's memory; the other lies in the host's.
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
  /// Whether MPI, and the processor, may read and write it where it lies.
  [[nodiscard]] virtual bool is_reachable() const = 0;
  /// What MPI 4.1 calls memory of this kind in "mpi_memory_alloc_kinds"; null where no MPI may be given its addresses.
  [[nodiscard]] virtual const char* mpi_name() const { return nullptr; }
  /// The kind, a reachable one, in which data wait between MPI and this kind.
  [[nodiscard]] virtual MemoryKind& staging() = 0;

  /// Zeros. Throws a memory fault where there is no room for them.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;

  /// Memory of this kind of another process of the host. open_shared() takes what share() has given there, for memory that
  /// allocate() has, and close_shared() what open_shared() has given. Whoever shares keeps it until all have closed it. For kinds
  /// that cannot, share() and open_shared() throw an unsupported fault.
  [[nodiscard]] virtual MemoryTicket share(std::byte* memory);
  [[nodiscard]] virtual std::byte* open_shared(const MemoryTicket& ticket);
  virtual void close_shared(std::byte*) noexcept {}
  /// The same for memory that the program has allocated, however much of it. Whoever has allocated it keeps it until all have
  /// closed it.
  [[nodiscard]] virtual Lease lend(const std::byte* memory);

  /// Whether jobs that move so many bytes take memory of that kind for this one's, as those of GPUs do with pinned memory of the
  /// host.
  [[nodiscard]] virtual bool reaches(const MemoryKind& other, std::int64_t /*bytes*/) const {
    return &other == this;
  }
  /// Has jobs take pages of the host for memory of the staging kind, until they are dismissed; whether it could be done. Nobody else
  /// has any of these pages admitted meanwhile, and they stay mapped.
  [[nodiscard]] virtual bool admit(std::byte*, std::size_t) { return false; }
  virtual void dismiss(std::byte*) noexcept {}

  /// Has what jobs have begun go on; they may have waited for others to begin. Else that is done when one is polled again.
  virtual void launch() noexcept {}
  /// Waits until what is under way there of streams that are followed is done: before somebody else than jobs touches it.
  virtual void await_followed() {}
  /// A job that moves nothing and is over when that is. Null for kinds that need no jobs.
  [[nodiscard]] virtual std::unique_ptr<MemoryJob> prepare_fence() { return nullptr; }

  /// Whether what is put on a stream of the program's there becomes part of a graph now.
  [[nodiscard]] virtual bool is_captured(std::uintptr_t /*stream*/) { return false; }

  /// Gathers, scatters or copies, as the runs say. Null for kinds that need no jobs.
  [[nodiscard]] virtual std::unique_ptr<MemoryJob> prepare_copy(std::span<const CopyRun> runs,
                                                                std::size_t element_bytes,
                                                                Sides inside) = 0;
  /// target = target op source, in the order of the runs. Null as above.
  [[nodiscard]] virtual std::unique_ptr<MemoryJob> prepare_reduction(std::span<const CopyRun> runs,
                                                                     std::size_t element_bytes,
                                                                     ReduceOp op, ElementType type,
                                                                     Sides inside) = 0;
};

/// Memory that the processor and MPI reach: the kernels serve it.
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

/// Pages of the host that are admitted, as long as this lives.
class Admission {
 public:
  Admission() = default;
  Admission(MemoryKind& kind, std::byte* memory, std::size_t bytes)
      : kind_(kind.admit(memory, bytes) ? &kind : nullptr), memory_(memory) {}
  Admission(Admission&& other) noexcept
      : kind_(std::exchange(other.kind_, nullptr)), memory_(other.memory_) {}
  Admission& operator=(Admission&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  ~Admission() {
    if (kind_ != nullptr) kind_->dismiss(memory_);
  }
  /// What they count as, null where they could not be admitted.
  [[nodiscard]] MemoryKind* kind() const { return kind_ != nullptr ? &kind_->staging() : nullptr; }

 private:
  MemoryKind* kind_ = nullptr;
  std::byte* memory_ = nullptr;
};

/// Memory that another process has allocated, open as long as this lives.
class Opened {
 public:
  Opened() = default;
  Opened(MemoryKind& kind, const MemoryTicket& ticket)
      : kind_(&kind), ticket_(ticket), memory_(kind.open_shared(ticket)) {}
  Opened(Opened&& other) noexcept { *this = std::move(other); }
  Opened& operator=(Opened&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(ticket_, other.ticket_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Opened() {
    if (memory_ != nullptr) kind_->close_shared(memory_);
  }
  explicit operator bool() const { return memory_ != nullptr; }
  [[nodiscard]] MemoryKind* kind() const { return kind_; }
  [[nodiscard]] const MemoryTicket& ticket() const { return ticket_; }
  [[nodiscard]] std::byte* memory() const { return memory_; }

 private:
  MemoryKind* kind_ = nullptr;
  MemoryTicket ticket_{};
  std::byte* memory_ = nullptr;
};

/// The kind of memory that an address lies in: the first of the table that holds it, else the host's. Null lies
/// in the host's.
[[nodiscard]] MemoryKind& kind_of(const void* address);

/// A kind of what MPI calls so, by which a process without memory of it opens another's; null where there is none.
[[nodiscard]] MemoryKind* kind_called(std::string_view mpi_name);

/// For tests: what no kind holds is treated as of this kind from now on. Returns the kind before.
MemoryKind& treat_host_memory_as(MemoryKind& kind);

/// The kind of an address that neither the processor nor MPI reaches; null for all others.
[[nodiscard]] MemoryKind* kind_out_of_reach(const void* address);

/// Throws an unsupported fault where the processor does not reach an address; `what` names the buffer.
void require_reachable(const void* address, const char* what);

/// Memory of a kind.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  /// Zeros, in pages that are there already.
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

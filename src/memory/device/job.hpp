// Jobs on a device. A Job is a script in execution. Its steps are put on a private stream, and an
// event signals completion; or the job joins a batch. A Fence moves nothing. It finishes when the
// followed streams have done the work that they had when it began.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/device/batch.hpp"
#include "memory/device/device.hpp"
#include "memory/device/script.hpp"
#include "memory/kind.hpp"

namespace vicinal::device {

class DeviceMemory;

class Job final : public MemoryJob {
 public:
  /// The device must be current. Prepares all that executions need, so that they allocate nothing.
  Job(Device& device, DeviceMemory& memory, Script script);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() override;

  bool begin(const std::byte* from, std::byte* to) override;
  bool poll() override;
  bool have_stream_await(std::uintptr_t stream) override;
  /// Waits for the work in progress, since a device cannot cancel it.
  void drop() noexcept override;

 private:
  bool go_on();
  /// Returns the move of a job that joins batches.
  [[nodiscard]] Move only_move() const;
  [[nodiscard]] Move move_of(const MoveWords& step) const;
  [[nodiscard]] Move move_of(const MovePieces& step) const;
  bool join_batch(const Move& move);
  void leave_batch() noexcept;
  bool poll_batch();
  /// Returns whether the stream has done the work up to the event.
  bool has_happened();
  void issue(const Step& step);
  void put(const Transfer& step);
  void put(const MoveWords& step);
  void put(const MovePieces& step);
  void put(const ReduceValues& step);
  void put(const HostCopy& step);
  void put(const HostReduction& step);
  [[nodiscard]] std::byte* at(Spot spot) const;
  /// Address on the device of a list in the tables; null for none.
  [[nodiscard]] const std::byte* list(std::int64_t place) const;
  void fill_tables(std::span<const std::byte> tables);

  Device& device_;
  std::vector<Step> steps_;
  const bool joins_batches_;  ///< the only step is a copy by a kernel, so it can join a batch
  std::shared_ptr<const Words> words_;  ///< completion flags, for jobs that join batches
  MemoryBlock pinned_;
  MemoryBlock scratch_;  ///< followed by the tables
  std::size_t tables_at_ = 0;
  void* stream_ = nullptr;
  void* event_ = nullptr;

  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::size_t next_ = 0;       ///< first step that is not on the stream yet
  bool in_progress_ = false;   ///< the stream has work not known to be complete
  bool event_is_set_ = false;  ///< the event follows that work on the stream

  Batches::Place in_batch_;  ///< the job's place, while it is in a batch
  bool was_polled_ = false;  ///< since it joined
};

class Device;

class Fence final : public MemoryJob {
 public:
  /// The device must be current.
  explicit Fence(Device& device);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence() override;

  bool begin(const std::byte* from, std::byte* to) override;
  bool poll() override;
  /// Does nothing: the job accesses no memory.
  void drop() noexcept override {}

 private:
  Device& device_;
  void* event_;
  std::uint64_t count_ = 0;  ///< calls of Device::follow() before it began
};

}  // namespace vicinal::device

// A script under way on a device: its steps are put on a private stream, and an event tells when they have been done, or it joins
// a batch.
#pragma once

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
  /// For whoever has the device as the current one. Makes all that executions need, so that they allocate nothing.
  Job(Device& device, DeviceMemory& memory, Script script);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() override;

  bool begin(const std::byte* from, std::byte* to) override;
  bool poll() override;
  bool have_stream_await(std::uintptr_t stream) override;
  /// What a device has begun cannot be taken back: waits until it is done.
  void drop() noexcept override;

 private:
  bool go_on();
  /// Of one that joins batches.
  [[nodiscard]] Move only_move() const;
  [[nodiscard]] Move move_of(const MoveWords& step) const;
  [[nodiscard]] Move move_of(const MovePieces& step) const;
  bool join_batch(const Move& move);
  void leave_batch() noexcept;
  bool poll_batch();
  /// Whether what is on the stream up to the event has been done.
  bool has_happened();
  void issue(const Step& step);
  void put(const Transfer& step);
  void put(const MoveWords& step);
  void put(const MovePieces& step);
  void put(const ReduceValues& step);
  void put(const HostCopy& step);
  void put(const HostReduction& step);
  [[nodiscard]] std::byte* at(Spot spot) const;
  /// A list of the tables, on the device; null for none.
  [[nodiscard]] const std::byte* list(std::int64_t place) const;
  void fill_tables(std::span<const std::byte> tables);

  Device& device_;
  std::vector<Step> steps_;
  const bool
      joins_batches_;  ///< the only step is a copy by a kernel, which others may take part in
  std::shared_ptr<const Words> words_;  ///< by which that tells
  MemoryBlock pinned_;
  MemoryBlock scratch_;  ///< after it, the tables
  std::size_t tables_at_ = 0;
  void* stream_ = nullptr;
  void* event_ = nullptr;

  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::size_t next_ = 0;       ///< of the steps, the first that has not been put on the stream
  bool under_way_ = false;     ///< something is on the stream that nobody has seen done
  bool event_is_set_ = false;  ///< and the event is behind it

  Batches::Place in_batch_;  ///< of which it is a part, instead
  bool was_polled_ = false;  ///< since it is
};

}  // namespace vicinal::device

// Shared slots in the arena. A slot's handle is the arena offset of its header. The owner allocates
// the header while planning, and the negotiation tells the peers. For each channel the header has a
// line and flags. In the line the owner announces where the data lie. The owner and each peer have
// a flag, with which they hand the data over. So binding a plan, growing and freeing need no
// communication: a peer that finds no announcement yet looks again at its next test.
//
// Invariants:
//   1  A flag has one writer and counts its executions. It becomes g when the writer has finished
//      execution g, successfully or not, and never decreases. Its reader reads the members beside
//      `value` only while the writer cannot change them: the writer's next signal awaits the
//      reader's.
//   2  A line's `current` becomes g once its area holds for execution g. Its `failed` becomes g
//      if there is no area for g, because the owner's call has failed.
//   3  An area lies in the arena, or in a kind of memory that its owner exports by an IPC handle. A
//      peer opens exported memory. A peer whose jobs access an area in the arena pins its pages.
//      The peer's flag says so until it closes or unpins the area; meanwhile nothing of the slot is
//      released. If the owner's flag, at g, names another area or a fault, a peer closes its area
//      before its own flag becomes g.
//   4  An area is replaced only when all flags have reached the last execution that needs it. It is
//      released one execution later. A rank that wrongly keeps its element size thus still uses the
//      old area, and detects the other size beside a flag. A header is released when all flags have
//      reached its last execution; until then it is retired.
//   5  If the owner exports its source, the area is no memory. The line says how to open the
//      source. A list in the arena, constant as long as the slot lives, says which part of the
//      source stands where. The operations before the owner's signal then move no data. The owner's
//      execution g is over when all peers' flags are g, since peers read the user's buffer. The
//      program keeps that allocation, so no flag says who has it open. The owner's flag names the
//      valid area; peers that know another one read the line again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/runs.hpp"
#include "memory/arena.hpp"
#include "memory/kind.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// A flag, alone in its cache line.
struct alignas(64) Flag {
  std::atomic<std::int64_t> value;  ///< last execution that its writer has finished
  std::int64_t failed;              ///< last execution without data
  std::int64_t origin;              ///< rank whose fault caused this
  std::int64_t element_bytes;       ///< element size of its writer; 0 before the first
  /// Place of the area that its writer has opened or pinned; 0 for none.
  std::atomic<std::int64_t> opened;
  std::int64_t area;  ///< owner's flag: place of the area that it has filled

  void signal(std::int64_t generation, std::int64_t bytes, std::int64_t filled = 0) {
    element_bytes = bytes;
    area = filled;
    value.store(generation, std::memory_order_release);
  }
  void signal_fault(std::int64_t generation, std::int64_t bytes, int rank) {
    origin = rank;
    failed = generation;
    signal(generation, bytes);
  }
  [[nodiscard]] bool reached(std::int64_t generation) const {
    return value.load(std::memory_order_acquire) >= generation;
  }
};

/// The owner's announcement of where a channel's data lie.
struct alignas(64) Announcement {
  std::atomic<std::int64_t> current;  ///< last execution for which the rest holds
  std::atomic<std::int64_t> failed;   ///< last execution without an area
  std::int64_t origin;
  std::int64_t area;  ///< arena offset; negative: number of an area to open
  std::int64_t element_bytes;
  std::array<char, 8> kind;  ///< MPI's name of that area's kind; else ""
  IpcHandle handle;
  std::int64_t offset;  ///< of the source in the memory that `handle` opens
  std::int64_t lent;    ///< arena offset of the LentList; 0 if none
};

/// One channel of a header, as owner and peers see it.
class SlotView {
 public:
  SlotView() = default;
  SlotView(std::byte* header, int channel);
  [[nodiscard]] static std::size_t bytes(int peers, int channels);
  /// Writes the values that views need into a new header; its other bytes are zero.
  static void describe(std::byte* header, int peers);

  [[nodiscard]] Announcement& line() const { return *line_; }
  /// Returns a peer's flag; index -1 is the owner's.
  [[nodiscard]] Flag& flag(int index) const { return first_flag_[1 + index]; }
  /// Returns whether the owner and all peers have finished this execution.
  [[nodiscard]] bool all_reached(std::int64_t generation) const;
  /// Returns whether a peer has an area open: any, or the one at this place.
  [[nodiscard]] bool is_open(std::int64_t area = 0) const;

 private:
  Announcement* line_ = nullptr;
  Flag* first_flag_ = nullptr;
  int peers_ = 0;
};

/// The header of a slot; freed with its last user.
class SlotHeader {
 public:
  SlotHeader(std::shared_ptr<mpi::Communicator> communicator, int peers, int channels);
  SlotHeader(const SlotHeader&) = delete;
  SlotHeader& operator=(const SlotHeader&) = delete;
  ~SlotHeader();
  [[nodiscard]] Arena& arena() const { return *communicator_->arena(); }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] SlotView view(int channel) const { return {arena().at(offset_), channel}; }

 private:
  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t offset_;
};

/// List in the arena for peers: which part of the owner's source stands where in a slot.
class LentList {
 public:
  LentList(std::shared_ptr<SlotHeader> header, std::span<const CopyRun> runs);
  LentList(const LentList&) = delete;
  LentList& operator=(const LentList&) = delete;
  ~LentList() { header_->arena().release(offset_); }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] static std::vector<CopyRun> read(Arena& arena, std::int64_t offset);

 private:
  std::shared_ptr<SlotHeader> header_;
  std::int64_t offset_;
};

/// Where to allocate an owner's area.
struct SlotMemory {
  MemoryKind* visitor = nullptr;  ///< kind whose jobs access it; null for the host alone
  bool lies_there = false;        ///< in the visitor's memory if exportable, else in the arena
};

/// Memory that the owner allocated for the data of a channel.
class OwnedArea {
 public:
  OwnedArea(std::shared_ptr<SlotHeader> header, std::size_t bytes, const SlotMemory& memory);
  /// An area without memory: peers read the source, as the list says. Throws if it cannot be
  /// exported.
  OwnedArea(std::shared_ptr<SlotHeader> header, MemoryKind& kind, const std::byte* source,
            std::shared_ptr<const LentList> lent);
  OwnedArea(const OwnedArea&) = delete;
  OwnedArea& operator=(const OwnedArea&) = delete;
  ~OwnedArea();
  [[nodiscard]] std::byte* data() const {
    return kind_ != nullptr ? block_.data() : header_->arena().at(place_);
  }
  /// Null for host memory that is not pinned.
  [[nodiscard]] MemoryKind* kind() const { return kind_ != nullptr ? kind_ : pinning_.kind(); }
  void announce(Announcement& line) const;
  [[nodiscard]] bool is_open(const SlotView& view) const { return view.is_open(place_); }
  [[nodiscard]] bool is_lent() const { return lent_ != nullptr; }
  [[nodiscard]] std::int64_t place() const { return place_; }

 private:
  std::shared_ptr<SlotHeader> header_;
  Pinning pinning_;
  MemoryKind* kind_ = nullptr;
  MemoryBlock block_;
  IpcHandle handle_;
  std::int64_t offset_ = 0;
  std::shared_ptr<const LentList> lent_;
  std::int64_t place_ = 0;  ///< arena offset, or a negative number
};

/// A slot that this rank owns, in one channel.
class OwnedSlot {
 public:
  OwnedSlot(std::shared_ptr<SlotHeader> header, int channel)
      : header_(std::move(header)), view_(header_->view(channel)) {}
  OwnedSlot(OwnedSlot&&) noexcept = default;
  OwnedSlot& operator=(OwnedSlot&&) = delete;
  ~OwnedSlot();

  /// Allocates an area for elements of this size, from execution `generation` on. If it throws (for
  /// example a memory fault), the previous area stays.
  void bind(std::int64_t generation, Index extent, std::int64_t element_bytes,
            const SlotMemory& memory);
  /// Exports the source in place of an area, from that execution on. Returns false, and keeps the
  /// previous area, if that is not possible.
  bool lend(std::int64_t generation, std::int64_t element_bytes, MemoryKind& kind,
            const std::byte* source);
  /// Returns whether tell() has recorded which part of the source stands where in the slot. Call
  /// tell() once, before the first lend().
  [[nodiscard]] bool is_told() const { return lent_ != nullptr; }
  void tell(std::span<const CopyRun> runs) {
    lent_ = std::make_shared<const LentList>(header_, runs);
  }
  /// Returns whether the source is exported in place of an area; is_back(): whether all peers have
  /// finished with it in this execution.
  [[nodiscard]] bool is_lent() const { return current_ != nullptr && current_->is_lent(); }
  [[nodiscard]] bool is_back(std::int64_t generation) const {
    return !is_lent() || view_.all_reached(generation);
  }
  [[nodiscard]] std::int64_t area() const { return current_->place(); }
  /// Announces the area for this execution, unless peers have not finished with the previous one.
  /// Returns whether it did.
  bool announce(std::int64_t generation);
  /// Announces that there is no area for this execution.
  void announce_fault(std::int64_t generation, int origin);
  [[nodiscard]] std::byte* data() const { return current_->data(); }
  /// As OwnedArea::kind().
  [[nodiscard]] MemoryKind* kind() const { return current_->kind(); }
  [[nodiscard]] Flag& flag(int index) const { return view_.flag(index); }

 private:
  void replace(std::unique_ptr<OwnedArea> area, std::int64_t generation,
               std::int64_t element_bytes);

  std::shared_ptr<SlotHeader> header_;
  SlotView view_;
  std::shared_ptr<const LentList> lent_;
  std::unique_ptr<OwnedArea> current_;
  std::unique_ptr<OwnedArea> before_;  ///< while peers may still use it, rightly or not
  std::unique_ptr<OwnedArea> older_;   ///< before before_, until current_ is announced
  std::int64_t replaced_ = 0;          ///< first execution of current_
  bool announced_ = false;             ///< whether current_ was announced
  std::int64_t last_ = 0;              ///< last execution announced to peers
  std::int64_t element_bytes_ = 0;
};

/// A slot that another rank owns, in one channel.
class FarSlot {
 public:
  /// `index`: of this rank among the peers.
  FarSlot(Arena& arena, std::int64_t header, int channel, int index)
      : arena_(&arena), view_(arena.at(header), channel), index_(index) {}
  FarSlot(FarSlot&& other) noexcept
      : arena_(other.arena_),
        view_(other.view_),
        index_(other.index_),
        element_bytes_(other.element_bytes_),
        data_(std::exchange(other.data_, nullptr)),
        kind_(std::exchange(other.kind_, nullptr)),
        place_(other.place_),
        lent_(std::move(other.lent_)),
        is_lent_(other.is_lent_),
        borrowed_(std::move(other.borrowed_)),
        area_(std::move(other.area_)),
        pinning_(std::move(other.pinning_)) {}
  FarSlot& operator=(FarSlot&&) = delete;
  ~FarSlot() { close(); }
  /// Sets the element size; the area for it is not found yet.
  void bind(std::int64_t element_bytes) {
    forget();
    element_bytes_ = element_bytes;
  }
  /// Closes and forgets the area; the next execution may use another one.
  void forget() noexcept;
  /// As forget(); also closes all memory of the owner's program.
  void close() noexcept {
    forget();
    borrowed_.clear();
  }
  /// As close(), if any memory of the owner's program is open.
  void close_borrowed() noexcept {
    if (!borrowed_.empty()) close();
  }
  /// Forgets the area unless the owner has filled this one.
  void forget_unless(std::int64_t area) {
    if (data_ != nullptr && place_ != area) forget();
  }
  /// Returns where the data (`extent` elements) lie in this execution; null while that is unknown.
  /// If needed, opens the area, by `visitor` if its kind matches, or pins it for `visitor`'s jobs.
  /// Throws a count fault if the owner's element size differs, and the faults of opening.
  std::byte* find(std::int64_t generation, Index extent, MemoryKind& visitor);
  /// Returns the rank whose fault left this execution without an area, or -1.
  [[nodiscard]] int fault(std::int64_t generation) const;
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Kind that has opened the area, or that its pinned pages count as; null for other host memory.
  [[nodiscard]] MemoryKind* kind() const { return kind_ != nullptr ? kind_ : pinning_.kind(); }
  [[nodiscard]] Flag& flag(int index) const { return view_.flag(index); }
  /// Returns whether the data lie in the owner's source, as lent() lists.
  [[nodiscard]] bool is_lent() const { return is_lent_; }
  [[nodiscard]] const std::vector<CopyRun>& lent() const { return lent_; }

 private:
  /// Most allocations of the owner's program that stay open; the source seldom moves to another
  /// one.
  static constexpr std::size_t most_borrowed = 4;

  [[nodiscard]] MemoryKind& opener(const Announcement& line, MemoryKind& visitor) const;
  void open(const Announcement& line, MemoryKind& visitor);
  void borrow(const Announcement& line, MemoryKind& visitor);
  void enter(const Announcement& line, std::byte* data, std::size_t bytes, MemoryKind& visitor);

  Arena* arena_;
  SlotView view_;
  int index_;
  std::int64_t element_bytes_ = 0;
  std::byte* data_ = nullptr;
  MemoryKind* kind_ = nullptr;
  std::int64_t place_ = 0;  ///< of the area
  std::vector<CopyRun> lent_;
  bool is_lent_ = false;
  std::vector<Opened> borrowed_;  ///< most recently used last
  Opened area_;
  Pinning pinning_;
};

/// Returns the error of a rank that finds another element size than its own.
[[nodiscard]] Error size_fault(std::int64_t mine, std::int64_t theirs);

/// Releases retired slots that are no longer needed; returns whether none is left. Local and quick.
bool sweep_retired();

}  // namespace vicinal

// Shared slots in the arena. A slot's handle is the arena offset of its header, allocated by its owner
// while planning and told to the peers in the negotiation. For each channel the header has a line, in
// which the owner announces where the data lie, and a flag for the owner and for each peer, by which
// they hand the data over. So binding a plan, growing and freeing need no communication: a peer that
// finds nothing announced yet looks again at its next test.
//
// Invariants:
//   1  A flag belongs to one writer, and counts its executions: it becomes g when the writer is done
//      with execution g, well or not, and never falls. Its reader looks at what stands beside it only
//      while the writer cannot have gone on: the writer's next signal awaits the reader's.
//   2  A line's `current` becomes g once the area that it names holds for execution g, and its
//      `at_fault` once there is none for g, because the owner's call has failed.
//   3  An area lies in the arena, or in a kind of memory that its owner's processes share by tickets. Who reads or writes
//      one of the latter opens it, and whose jobs reach one in the arena has its pages admitted, which the flag says until
//      it is closed or dismissed; nothing of a slot is given back meanwhile. A peer lets go of an area before its flag becomes g
//      where the owner's, which is g, tells of another one or of a fault.
//   4  An area is replaced only when all flags have reached the last execution in which it was due, and
//      given back one execution later: a rank that wrongly keeps its element size still uses the one
//      before, and learns of it from the size beside a flag. A header is given back when all flags have
//      reached its last execution; until then it is retired.
//   5  Where the owner lends its source, the area is no memory: the line says how the source is opened, and a list in the arena, the
//      same for as long as the slot lives, what of it stands where. What the owner's flag waits for moves nothing then, and its execution g is
//      over when all peers' flags are g, since they read the user's buffer. Who has allocated that keeps it: no flag says who has it open. Which area holds is said beside the owner's flag: peers that
//      know another one look at the line anew.
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
  std::atomic<std::int64_t> value;  ///< the last execution that its writer is done with
  std::int64_t at_fault;            ///< the last one that brought nothing, for
  std::int64_t origin;              ///< a fault of this rank
  std::int64_t element_bytes;       ///< with which its writer did; 0 before the first
  /// The place of the area that its writer has open; 0 for none.
  std::atomic<std::int64_t> opened;
  std::int64_t area;  ///< the place of the one that it has filled, its owner

  void signal(std::int64_t generation, std::int64_t bytes, std::int64_t filled = 0) {
    element_bytes = bytes;
    area = filled;
    value.store(generation, std::memory_order_release);
  }
  void signal_fault(std::int64_t generation, std::int64_t bytes, int rank) {
    origin = rank;
    at_fault = generation;
    signal(generation, bytes);
  }
  [[nodiscard]] bool reached(std::int64_t generation) const {
    return value.load(std::memory_order_acquire) >= generation;
  }
};

/// Where a channel's data lie, as the owner announces it.
struct alignas(64) Announcement {
  std::atomic<std::int64_t> current;   ///< the last execution for which the rest holds
  std::atomic<std::int64_t> at_fault;  ///< the last one for which nothing does
  std::int64_t origin;
  std::int64_t area;  ///< arena offset, or, below zero, the number of one that is to be opened
  std::int64_t element_bytes;
  std::array<char, 8> kind;  ///< as MPI calls it, of such a one; else ""
  MemoryTicket ticket;
  std::int64_t offset;  ///< of what is lent, in what the ticket opens
  std::int64_t lent;    ///< arena offset of the list of what is lent, 0 for nothing
};

/// A header as all see it.
class SlotView {
 public:
  SlotView() = default;
  SlotView(std::byte* header, int channel);
  [[nodiscard]] static std::size_t bytes(int peers, int channels);
  /// Writes what views need to know; the rest of a new header is zero.
  static void describe(std::byte* header, int peers);

  [[nodiscard]] Announcement& line() const { return *line_; }
  /// Flag -1 is the owner's.
  [[nodiscard]] Flag& flag(int index) const { return first_flag_[1 + index]; }
  /// Whether owner and peers are done with this execution.
  [[nodiscard]] bool all_reached(std::int64_t generation) const;
  /// Whether a peer has an area open, or that at a place.
  [[nodiscard]] bool is_open(std::int64_t area = 0) const;

 private:
  Announcement* line_ = nullptr;
  Flag* first_flag_ = nullptr;
  int peers_ = 0;
};

/// A slot's header, freed with its last user.
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

/// In the arena, for peers: what of its owner's source stands where in a slot.
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

/// Of which memory an owner's area is to be.
struct SlotMemory {
  MemoryKind* visitor = nullptr;  ///< whose jobs are to reach it; null for the host's alone
  bool lies_there = false;  ///< in the visitor's memory if that can be shared, else in the arena
};

/// Memory that its owner allocated for the data of a channel.
class OwnedArea {
 public:
  OwnedArea(std::shared_ptr<SlotHeader> header, std::size_t bytes, const SlotMemory& memory);
  /// What is no memory of its own: peers read the source, as the list says. Throws where that cannot be shared.
  OwnedArea(std::shared_ptr<SlotHeader> header, MemoryKind& kind, const std::byte* source,
            std::shared_ptr<const LentList> lent);
  OwnedArea(const OwnedArea&) = delete;
  OwnedArea& operator=(const OwnedArea&) = delete;
  ~OwnedArea();
  [[nodiscard]] std::byte* data() const {
    return kind_ != nullptr ? block_.data() : header_->arena().at(place_);
  }
  /// Null where it is the host's, to jobs, too.
  [[nodiscard]] MemoryKind* kind() const { return kind_ != nullptr ? kind_ : admission_.kind(); }
  void announce(Announcement& line) const;
  [[nodiscard]] bool is_open(const SlotView& view) const { return view.is_open(place_); }
  [[nodiscard]] bool is_lent() const { return lent_ != nullptr; }
  [[nodiscard]] std::int64_t place() const { return place_; }

 private:
  std::shared_ptr<SlotHeader> header_;
  Admission admission_;
  MemoryKind* kind_ = nullptr;
  MemoryBlock block_;
  MemoryTicket ticket_;
  std::int64_t offset_ = 0;
  std::shared_ptr<const LentList> lent_;
  std::int64_t place_ = 0;  ///< arena offset, or a number below zero
};

/// A slot that this rank owns, in one channel.
class OwnedSlot {
 public:
  OwnedSlot(std::shared_ptr<SlotHeader> header, int channel)
      : header_(std::move(header)), view_(header_->view(channel)) {}
  OwnedSlot(OwnedSlot&&) noexcept = default;
  OwnedSlot& operator=(OwnedSlot&&) = delete;
  ~OwnedSlot();

  /// Makes an area for elements of some size, from execution `generation` on. May throw a memory fault; the area
  /// before then stays.
  void bind(std::int64_t generation, Index extent, std::int64_t element_bytes,
            const SlotMemory& memory);
  /// Has the source lent in the place of an area, from then on; whether that can be done, else the one before stays.
  bool lend(std::int64_t generation, std::int64_t element_bytes, MemoryKind& kind,
            const std::byte* source);
  /// What of the source stands where in it, to be told once before any is lent.
  [[nodiscard]] bool is_told() const { return lent_ != nullptr; }
  void tell(std::span<const CopyRun> runs) {
    lent_ = std::make_shared<const LentList>(header_, runs);
  }
  /// Whether the source is lent in the place of an area, and whether all peers are done with it in this execution.
  [[nodiscard]] bool is_lent() const { return current_ != nullptr && current_->is_lent(); }
  [[nodiscard]] bool is_back(std::int64_t generation) const {
    return !is_lent() || view_.all_reached(generation);
  }
  [[nodiscard]] std::int64_t area() const { return current_->place(); }
  /// Tells the peers that the area holds for this execution, unless those of the one before are not
  /// done with it yet; returns whether it did.
  bool announce(std::int64_t generation);
  /// Tells them that there is none for this execution.
  void announce_fault(std::int64_t generation, int origin);
  [[nodiscard]] std::byte* data() const { return current_->data(); }
  /// As the area's.
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
  std::unique_ptr<OwnedArea> older_;   ///< before that, until the current one is announced
  std::int64_t replaced_ = 0;          ///< the execution for which the current one was made
  bool announced_ = false;             ///< the current area was
  std::int64_t last_ = 0;              ///< execution that peers know of
  std::int64_t element_bytes_ = 0;
};

/// A slot of another rank's, in one channel.
class FarSlot {
 public:
  /// This rank is the peer of that index.
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
        admission_(std::move(other.admission_)) {}
  FarSlot& operator=(FarSlot&&) = delete;
  ~FarSlot() { close(); }
  /// From now on an area for elements of this size is meant, one not found yet.
  void bind(std::int64_t element_bytes) {
    forget();
    element_bytes_ = element_bytes;
  }
  /// Another area may be meant by the next execution.
  void forget() noexcept;
  /// The same, and nothing of the owner's program stays open.
  void close() noexcept {
    forget();
    borrowed_.clear();
  }
  /// Nothing of the owner's program stays open, if anything was.
  void close_borrowed() noexcept {
    if (!borrowed_.empty()) close();
  }
  /// Another one than the owner has filled is not meant any more.
  void forget_unless(std::int64_t area) {
    if (data_ != nullptr && place_ != area) forget();
  }
  /// Where the data, so many elements, lie in this execution, null while that is not known; an area that is to be opened is
  /// so by `visitor` if that is its kind, and one in the arena is admitted to its jobs if it can be. Throws a count fault
  /// where the owner uses another element size, and what opening throws.
  std::byte* find(std::int64_t generation, Index extent, MemoryKind& visitor);
  /// The rank whose fault left this execution without an area, or -1.
  [[nodiscard]] int fault(std::int64_t generation) const;
  [[nodiscard]] std::byte* data() const { return data_; }
  /// What has opened the area, or what it counts as once admitted; null where it is the host's, to jobs, too.
  [[nodiscard]] MemoryKind* kind() const { return kind_ != nullptr ? kind_ : admission_.kind(); }
  [[nodiscard]] Flag& flag(int index) const { return view_.flag(index); }
  /// Whether they lie in the owner's source, where the list says.
  [[nodiscard]] bool is_lent() const { return is_lent_; }
  [[nodiscard]] const std::vector<CopyRun>& lent() const { return lent_; }

 private:
  /// Of the owner's program's memory, which stays open: it is seldom another one.
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
  std::vector<Opened> borrowed_;  ///< that used last behind
  Opened area_;
  Admission admission_;
};

/// What a rank is told that finds another element size than its own.
[[nodiscard]] Error size_fault(std::int64_t mine, std::int64_t theirs);

/// Gives back what is retired and no longer needed; whether nothing is left. Local and quick.
bool sweep_retired();

}  // namespace vicinal

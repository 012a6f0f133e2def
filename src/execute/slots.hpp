// Shared slots in the arena. A slot's handle is the arena offset of its header, allocated by its owner
// while planning and told to the peers in the negotiation. The header has one line per channel, in
// which the owner announces the area (flags and data) of that channel once it knows the element size.
// So binding a plan, growing and freeing need no communication: a peer that finds nothing announced
// yet looks again at its next test.
//
// An area may be given back only when its peers have acknowledged all that was written for them; until
// then it rests in the yard. The same goes for announcing a new area in the place of an old one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/runs.hpp"
#include "memory/arena.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// One line of a slot's header.
struct alignas(64) Announcement {
  std::atomic<std::int64_t> version;  ///< which geometry of the channel `area` is for; 0 for none
  std::int64_t area;                  ///< arena offset
  std::int64_t peers;
  std::int64_t element_bytes;
};

/// A flag, alone in its cache line: the last execution for which its writer is done.
struct alignas(64) Flag {
  std::atomic<std::int64_t> value;
};

/// The parts of an area.
class Area {
 public:
  Area() = default;
  /// The flags for the owner and `peers` peers come first, then the data.
  Area(std::byte* base, int peers) : base_(base), peers_(peers) {}
  [[nodiscard]] static std::size_t bytes(int peers, std::size_t data_bytes) {
    return sizeof(Flag) * (1 + static_cast<std::size_t>(peers)) + data_bytes;
  }
  [[nodiscard]] bool known() const { return base_ != nullptr; }
  /// Flag -1 is the owner's.
  [[nodiscard]] std::atomic<std::int64_t>& flag(int index) const {
    return (reinterpret_cast<Flag*>(base_) + 1 + index)->value;
  }
  [[nodiscard]] std::byte* data() const {
    return base_ + sizeof(Flag) * (1 + static_cast<std::size_t>(peers_));
  }
  [[nodiscard]] int peers() const { return peers_; }

 private:
  std::byte* base_ = nullptr;
  int peers_ = 0;
};

/// A slot's header, freed with its last user.
class SlotHeader {
 public:
  SlotHeader(std::shared_ptr<mpi::Communicator> communicator, int peers);
  SlotHeader(const SlotHeader&) = delete;
  SlotHeader& operator=(const SlotHeader&) = delete;
  ~SlotHeader();
  [[nodiscard]] Arena& arena() const { return *communicator_->arena(); }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] int peers() const { return peers_; }
  [[nodiscard]] Announcement& line(int channel) const;

 private:
  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t offset_;
  int peers_;
};

/// An area that its owner allocated; given back once the peers are done with it.
class OwnedArea {
 public:
  OwnedArea(std::shared_ptr<SlotHeader> header, std::size_t data_bytes);
  OwnedArea(OwnedArea&& other) noexcept;
  OwnedArea& operator=(OwnedArea&&) = delete;
  ~OwnedArea();
  [[nodiscard]] const Area& area() const { return area_; }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  /// Whether every peer has acknowledged (or written) as much as the owner's flag says.
  [[nodiscard]] bool at_rest() const;

 private:
  std::shared_ptr<SlotHeader> header_;
  std::int64_t offset_;
  Area area_;
};

/// A slot that this rank owns, in one channel.
class OwnedSlot {
 public:
  OwnedSlot(std::shared_ptr<SlotHeader> header, int channel)
      : header_(std::move(header)), channel_(channel) {}
  OwnedSlot(OwnedSlot&&) = default;
  OwnedSlot& operator=(OwnedSlot&&) = delete;
  ~OwnedSlot();

  /// Makes an area for the channel's geometry number `version`. May throw a memory fault.
  void bind(std::int64_t version, Index extent, std::int64_t element_bytes);
  /// Announces the area, unless the peers of the one before are not done with it yet; returns
  /// whether there is nothing left to announce.
  bool announce();
  [[nodiscard]] const Area& area() const { return current_->area(); }

 private:
  std::shared_ptr<SlotHeader> header_;
  int channel_;
  std::unique_ptr<OwnedArea> current_;
  std::unique_ptr<OwnedArea> before_;
  std::int64_t version_ = 0;
  std::int64_t element_bytes_ = 0;
  bool announced_ = true;
};

/// A slot of another rank's, in one channel.
class FarSlot {
 public:
  FarSlot(Arena& arena, std::int64_t header, int channel)
      : arena_(&arena), header_(header), channel_(channel) {}
  /// From now on the area of this version is meant.
  void bind(std::int64_t version, std::int64_t element_bytes);
  /// Looks whether the area is announced. Throws a count fault where the owner uses another element
  /// size.
  bool resolve();
  [[nodiscard]] const Area& area() const { return area_; }

 private:
  Arena* arena_;
  std::int64_t header_;
  int channel_;
  std::int64_t version_ = 0;
  std::int64_t element_bytes_ = 0;
  Area area_;
};

/// Gives back what rests in the yard and is no longer needed. Local and quick.
void sweep_yard();

}  // namespace vicinal

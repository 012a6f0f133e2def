// Owning, announcing and finding the areas of shared slots.
#include "execute/slots.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "mpi/chores.hpp"

namespace vicinal {

namespace {

/// The first line of a header: how far apart its channels lie.
struct alignas(64) Heading {
  std::int64_t peers;
};

std::size_t channel_bytes(int peers) {
  return sizeof(Announcement) + sizeof(Flag) * (1 + static_cast<std::size_t>(peers));
}

/// A slot whose channel is gone but whose peers may still write its flags, and use its areas.
struct Retired {
  SlotView view;
  std::int64_t last = 0;
  std::shared_ptr<SlotHeader> header;
  std::unique_ptr<OwnedArea> areas[3] = {};
};

/// Never destroyed: the communicators that it keeps alive must not outlive their own library's static
/// objects in the wrong order.
struct RetiredSlots {
  Mutex mutex;
  std::vector<Retired> slots VICINAL_GUARDED_BY(mutex);
};

RetiredSlots& retired() {
  static auto* const instance = new RetiredSlots;
  return *instance;
}

}  // namespace

Error size_fault(std::int64_t mine, std::int64_t theirs) {
  std::ostringstream text;
  text << "this rank executes a plan with " << mine
       << " bytes per element, but another rank of its host does with " << theirs
       << "; all ranks must use the same element size";
  return Error(Fault::count, text.str());
}

bool sweep_retired() {
  std::vector<Retired>
      done;  // destroyed without the lock: what they hold may be the last of its kind
  const Lock lock(retired().mutex);
  auto& slots = retired().slots;
  const auto end = std::partition(slots.begin(), slots.end(), [](const Retired& slot) {
    return !slot.view.all_reached(slot.last);
  });
  std::move(end, slots.end(), std::back_inserter(done));
  slots.erase(end, slots.end());
  return slots.empty();
}

SlotView::SlotView(std::byte* header, int channel)
    : peers_(static_cast<int>(reinterpret_cast<const Heading*>(header)->peers)) {
  std::byte* const begin =
      header + sizeof(Heading) + static_cast<std::size_t>(channel) * channel_bytes(peers_);
  line_ = reinterpret_cast<Announcement*>(begin);
  first_flag_ = reinterpret_cast<Flag*>(begin + sizeof(Announcement));
}

std::size_t SlotView::bytes(int peers, int channels) {
  return sizeof(Heading) + static_cast<std::size_t>(channels) * channel_bytes(peers);
}

void SlotView::describe(std::byte* header, int peers) {
  reinterpret_cast<Heading*>(header)->peers = peers;
}

bool SlotView::all_reached(std::int64_t generation) const {
  for (int index = -1; index < peers_; ++index) {
    if (!flag(index).reached(generation)) return false;
  }
  return true;
}

SlotHeader::SlotHeader(std::shared_ptr<mpi::Communicator> communicator, int peers, int channels)
    : communicator_(std::move(communicator)) {
  sweep_retired();
  offset_ = arena().allocate(SlotView::bytes(peers, channels), alignof(Flag));
  SlotView::describe(arena().at(offset_), peers);
}

SlotHeader::~SlotHeader() { arena().release(offset_); }

OwnedArea::OwnedArea(std::shared_ptr<SlotHeader> header, std::size_t bytes)
    : header_(std::move(header)), offset_(header_->arena().allocate(bytes, alignof(Flag))) {}

OwnedArea::~OwnedArea() { header_->arena().release(offset_); }

OwnedSlot::~OwnedSlot() {
  if (header_ == nullptr || view_.all_reached(last_)) return;
  try {
    {
      const Lock lock(retired().mutex);
      retired().slots.push_back({view_,
                                 last_,
                                 std::move(header_),
                                 {std::move(current_), std::move(before_), std::move(older_)}});
    }
    mpi::leave_chore(sweep_retired);
  } catch (const std::exception&) {
    // Without memory to remember it, it is given back with a later one, or stays.
  }
}

void OwnedSlot::bind(std::int64_t generation, Index extent, std::int64_t element_bytes) {
  auto area = std::make_unique<OwnedArea>(
      header_, static_cast<std::size_t>(extent) * static_cast<std::size_t>(element_bytes));
  if (announced_) {
    older_ = std::move(before_);
    before_ = std::move(current_);
    replaced_ = generation;
  }
  current_ = std::move(area);
  announced_ = false;
  element_bytes_ = element_bytes;
}

bool OwnedSlot::announce(std::int64_t generation) {
  Announcement& line = view_.line();
  if (!announced_) {
    // Peers that have not even found the area before would never find it once it is replaced.
    if (before_ && !view_.all_reached(replaced_ - 1)) return false;
    older_.reset();
    line.area = current_->offset();
    line.element_bytes = element_bytes_;
    announced_ = true;
  } else if (before_ && view_.all_reached(replaced_)) {
    before_.reset();
  }
  last_ = generation;
  line.current.store(generation, std::memory_order_release);
  return true;
}

void OwnedSlot::announce_fault(std::int64_t generation, int origin) {
  Announcement& line = view_.line();
  last_ = generation;
  line.origin = origin;
  line.at_fault.store(generation, std::memory_order_release);
}

std::byte* FarSlot::find(std::int64_t generation) {
  if (data_ != nullptr) return data_;
  const Announcement& line = view_.line();
  if (line.current.load(std::memory_order_acquire) < generation) return nullptr;
  if (line.element_bytes != element_bytes_) throw size_fault(element_bytes_, line.element_bytes);
  data_ = arena_->at(line.area);
  return data_;
}

int FarSlot::fault(std::int64_t generation) const {
  const Announcement& line = view_.line();
  if (line.at_fault.load(std::memory_order_acquire) != generation) return -1;
  return static_cast<int>(line.origin);
}

}  // namespace vicinal

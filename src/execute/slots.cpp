// Owning, announcing and finding the areas of shared slots.
#include "execute/slots.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace vicinal {

namespace {

/// The first line of a header: how far apart its channels lie.
struct alignas(64) Heading {
  std::int64_t peers;
};

std::size_t channel_bytes(int peers) {
  return sizeof(Announcement) + sizeof(Flag) * (1 + static_cast<std::size_t>(peers));
}

/// Areas that their channels have let go of but whose peers may still use them. Never destroyed: the
/// communicators that the areas keep alive must not outlive their own library's static objects in the
/// wrong order.
struct Retired {
  std::mutex mutex;
  std::vector<std::unique_ptr<OwnedArea>> areas;
};

Retired& retired() {
  static auto* const instance = new Retired;
  return *instance;
}

void let_go(std::unique_ptr<OwnedArea> area, std::int64_t generation) {
  if (area == nullptr) return;
  area->retire(generation);
  if (area->at_rest()) return;
  const std::lock_guard lock(retired().mutex);
  retired().areas.push_back(std::move(area));
}

}  // namespace

void sweep_retired() {
  std::vector<std::unique_ptr<OwnedArea>> done;
  const std::lock_guard lock(retired().mutex);
  auto& areas = retired().areas;
  const auto end = std::partition(areas.begin(), areas.end(),
                                  [](const auto& area) { return !area->at_rest(); });
  std::move(end, areas.end(), std::back_inserter(done));
  areas.erase(end, areas.end());
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

SlotHeader::SlotHeader(std::shared_ptr<mpi::Communicator> communicator, int peers, int channels)
    : communicator_(std::move(communicator)) {
  sweep_retired();
  offset_ = arena().allocate(SlotView::bytes(peers, channels), alignof(Flag));
  SlotView::describe(arena().at(offset_), peers);
}

SlotHeader::~SlotHeader() { arena().release(offset_); }

OwnedArea::OwnedArea(std::shared_ptr<SlotHeader> header, int channel, std::size_t bytes)
    : header_(std::move(header)),
      view_(header_->view(channel)),
      offset_(header_->arena().allocate(bytes, alignof(Flag))) {}

OwnedArea::~OwnedArea() { header_->arena().release(offset_); }

bool OwnedArea::at_rest() const {
  for (int index = -1; index < view_.peers(); ++index) {
    if (!view_.flag(index).reached(last_)) return false;
  }
  return true;
}

OwnedSlot::~OwnedSlot() {
  // One that was never announced can have no peer.
  let_go(std::move(current_), used_);
  let_go(std::move(before_), 0);
}

void OwnedSlot::bind(std::int64_t generation, Index extent, std::int64_t element_bytes) {
  auto area = std::make_unique<OwnedArea>(
      header_, channel_, static_cast<std::size_t>(extent) * static_cast<std::size_t>(element_bytes));
  if (current_ && used_ > 0) {
    // All that came before the last execution was at rest when that was announced.
    current_->retire(generation - 1);
    before_ = std::move(current_);
  }
  current_ = std::move(area);
  used_ = 0;
  element_bytes_ = element_bytes;
}

bool OwnedSlot::announce(std::int64_t generation) {
  Announcement& line = view_.line();
  if (used_ == 0) {
    // Peers that have not even found the area before would never find it once it is replaced.
    if (before_ && !before_->at_rest()) return false;
    before_.reset();
    line.area = current_->offset();
    line.element_bytes = element_bytes_;
  }
  used_ = generation;
  line.current.store(generation, std::memory_order_release);
  return true;
}

void OwnedSlot::announce_fault(std::int64_t generation, int origin) {
  Announcement& line = view_.line();
  line.origin = origin;
  line.at_fault.store(generation, std::memory_order_release);
}

std::byte* FarSlot::find(std::int64_t generation) {
  if (data_ != nullptr) return data_;
  const Announcement& line = view_.line();
  if (line.current.load(std::memory_order_acquire) < generation) return nullptr;
  require(line.element_bytes == element_bytes_, Fault::count, "this rank executes a plan with ",
          element_bytes_, " bytes per element, but another rank of its host does with ",
          line.element_bytes, "; all ranks must use the same element size");
  data_ = arena_->at(line.area);
  return data_;
}

int FarSlot::fault(std::int64_t generation) const {
  const Announcement& line = view_.line();
  if (line.at_fault.load(std::memory_order_acquire) < generation) return -1;
  return static_cast<int>(line.origin);
}

}  // namespace vicinal

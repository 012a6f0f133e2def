// Owning, announcing and finding the areas of shared slots.
#include "execute/slots.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace vicinal {

namespace {

/// Areas whose plans are gone but whose peers may still read. Never destroyed: the communicators that
/// the areas keep alive must not outlive their own library's static objects in the wrong order.
struct Yard {
  std::mutex mutex;
  std::vector<std::unique_ptr<OwnedArea>> resting;
};

Yard& yard() {
  static auto* const instance = new Yard;
  return *instance;
}

void rest(std::unique_ptr<OwnedArea> area) {
  if (area == nullptr || area->at_rest()) return;
  const std::lock_guard lock(yard().mutex);
  yard().resting.push_back(std::move(area));
}

}  // namespace

void sweep_yard() {
  std::vector<std::unique_ptr<OwnedArea>> done;
  const std::lock_guard lock(yard().mutex);
  auto& resting = yard().resting;
  const auto end = std::partition(resting.begin(), resting.end(),
                                  [](const auto& area) { return !area->at_rest(); });
  std::move(end, resting.end(), std::back_inserter(done));
  resting.erase(end, resting.end());
}

SlotHeader::SlotHeader(std::shared_ptr<mpi::Communicator> communicator, int peers)
    : communicator_(std::move(communicator)), peers_(peers) {
  sweep_yard();
  offset_ = arena().allocate(sizeof(Announcement) * mpi::channels_per_plan, sizeof(Announcement));
}

SlotHeader::~SlotHeader() { arena().release(offset_); }

Announcement& SlotHeader::line(int channel) const {
  return reinterpret_cast<Announcement*>(arena().at(offset_))[channel];
}

OwnedArea::OwnedArea(std::shared_ptr<SlotHeader> header, std::size_t data_bytes)
    : header_(std::move(header)),
      offset_(header_->arena().allocate(Area::bytes(header_->peers(), data_bytes), 64)),
      area_(header_->arena().at(offset_), header_->peers()) {}

OwnedArea::OwnedArea(OwnedArea&& other) noexcept
    : header_(std::move(other.header_)), offset_(other.offset_), area_(other.area_) {}

OwnedArea::~OwnedArea() {
  if (header_) header_->arena().release(offset_);
}

bool OwnedArea::at_rest() const {
  const std::int64_t done = area_.flag(-1).load(std::memory_order_acquire);
  for (int peer = 0; peer < area_.peers(); ++peer) {
    if (area_.flag(peer).load(std::memory_order_acquire) < done) return false;
  }
  return true;
}

OwnedSlot::~OwnedSlot() {
  // A version that was never announced can have no peer.
  if (announced_) rest(std::move(current_));
  rest(std::move(before_));
}

void OwnedSlot::bind(std::int64_t version, Index extent, std::int64_t element_bytes) {
  auto area = std::make_unique<OwnedArea>(
      header_, static_cast<std::size_t>(extent) * static_cast<std::size_t>(element_bytes));
  if (announced_) {
    rest(std::move(before_));
    before_ = std::move(current_);
  }
  current_ = std::move(area);
  version_ = version;
  element_bytes_ = element_bytes;
  announced_ = false;
  announce();
}

bool OwnedSlot::announce() {
  if (announced_) return true;
  // Peers that have not even found the area before would never find it once it is replaced.
  if (before_ && !before_->at_rest()) return false;
  before_.reset();
  Announcement& line = header_->line(channel_);
  line.area = current_->offset();
  line.peers = header_->peers();
  line.element_bytes = element_bytes_;
  line.version.store(version_, std::memory_order_release);
  announced_ = true;
  return true;
}

void FarSlot::bind(std::int64_t version, std::int64_t element_bytes) {
  version_ = version;
  element_bytes_ = element_bytes;
  area_ = {};
}

bool FarSlot::resolve() {
  const auto& line = reinterpret_cast<Announcement*>(arena_->at(header_))[channel_];
  if (line.version.load(std::memory_order_acquire) != version_) return false;
  require(line.element_bytes == element_bytes_, Fault::count, "this rank executes a plan with ",
          element_bytes_, " bytes per element, but another rank of its host does with ",
          line.element_bytes, "; all ranks must use the same element size");
  area_ = Area(arena_->at(line.area), static_cast<int>(line.peers));
  return true;
}

}  // namespace vicinal

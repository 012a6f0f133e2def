// Owning, announcing and finding the areas of shared slots.
#include "execute/slots.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <ostream>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "memory/pages.hpp"

namespace vicinal {

namespace {

constexpr const char* instead_of_shared =
    "; give vicinal_device_way=staged, or direct, where ranks of a host cannot reach each other's "
    "GPUs";

std::size_t whole_pages(std::size_t bytes) {
  return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes), page_bytes));
}

/// First line of a header; gives the distance of its channels.
struct alignas(64) Heading {
  std::int64_t peers;
};

std::size_t channel_bytes(int peers) {
  return sizeof(Announcement) + sizeof(Flag) * (1 + static_cast<std::size_t>(peers));
}

}  // namespace

Error size_fault(std::int64_t mine, std::int64_t theirs) {
  std::ostringstream text;
  text << "this rank executes a plan with " << mine
       << " bytes per element, but another rank of its host does with " << theirs
       << "; all ranks must use the same element size";
  return Error(Fault::count, text.str());
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

bool SlotView::is_open(std::int64_t area) const {
  for (int index = 0; index < peers_; ++index) {
    const std::int64_t opened = flag(index).opened.load(std::memory_order_acquire);
    if (area != 0 ? opened == area : opened != 0) return true;
  }
  return false;
}

SlotHeader::SlotHeader(std::shared_ptr<mpi::Communicator> communicator, int peers, int channels)
    : communicator_(std::move(communicator)) {
  sweep_retired();
  offset_ = arena().allocate(SlotView::bytes(peers, channels), alignof(Flag));
  SlotView::describe(arena().at(offset_), peers);
}

SlotHeader::~SlotHeader() { arena().release(offset_); }

LentList::LentList(std::shared_ptr<SlotHeader> header, std::span<const CopyRun> runs)
    : header_(std::move(header)),
      offset_(header_->arena().allocate(sizeof(std::int64_t) + runs.size_bytes(), alignof(Flag))) {
  std::byte* const memory = header_->arena().at(offset_);
  const auto count = static_cast<std::int64_t>(runs.size());
  std::memcpy(memory, &count, sizeof count);
  std::memcpy(memory + sizeof count, runs.data(), runs.size_bytes());
}

std::vector<CopyRun> LentList::read(Arena& arena, std::int64_t offset) {
  const std::byte* const memory = arena.at(offset);
  std::int64_t count = 0;
  std::memcpy(&count, memory, sizeof count);
  std::vector<CopyRun> runs(static_cast<std::size_t>(count));
  std::memcpy(runs.data(), memory + sizeof count, runs.size() * sizeof(CopyRun));
  return runs;
}

namespace {

/// Returns a number for an area outside of the arena; it is negative.
std::int64_t next_number() {
  static std::atomic<std::int64_t> numbers = 0;
  return --numbers;
}

}  // namespace

OwnedArea::OwnedArea(std::shared_ptr<SlotHeader> header, MemoryKind& kind, const std::byte* source,
                     std::shared_ptr<const LentList> lent)
    : header_(std::move(header)), kind_(&kind), lent_(std::move(lent)), place_(next_number()) {
  const Lease lease = kind.lend(source);
  handle_ = lease.handle;
  offset_ = lease.offset;
}

OwnedArea::OwnedArea(std::shared_ptr<SlotHeader> header, std::size_t bytes,
                     const SlotMemory& memory)
    : header_(std::move(header)) {
  MemoryKind* const visitor = bytes > 0 ? memory.visitor : nullptr;
  if (visitor != nullptr && memory.lies_there) {
    block_ = MemoryBlock(*visitor, bytes);
    try {
      handle_ = visitor->share(block_.data());
      kind_ = visitor;
      place_ = next_number();
      return;
    } catch (const Error& error) {
      block_ = MemoryBlock();
      log_line(LogLevel::info, [&](std::ostream& line) {
        line << "device memory: what ranks of this host hand over goes by the host's: "
             << error.what();
      });
    }
  }
  if (visitor != nullptr) bytes = whole_pages(bytes);
  place_ = header_->arena().allocate(bytes,
                                     visitor != nullptr ? std::size_t{page_bytes} : alignof(Flag));
  if (visitor != nullptr) pinning_ = Pinning(*visitor, header_->arena().at(place_), bytes);
}

OwnedArea::~OwnedArea() {
  pinning_ = Pinning();
  if (kind_ == nullptr) header_->arena().release(place_);
}

void OwnedArea::announce(Announcement& line) const {
  line.area = place_;
  line.kind = {};
  line.offset = offset_;
  line.lent = lent_ ? lent_->offset() : 0;
  if (kind_ == nullptr) return;
  std::strncpy(line.kind.data(), kind_->mpi_name(), line.kind.size() - 1);
  line.handle = handle_;
}

void OwnedSlot::bind(std::int64_t generation, Index extent, std::int64_t element_bytes,
                     const SlotMemory& memory) {
  auto area = std::make_unique<OwnedArea>(
      header_, static_cast<std::size_t>(extent) * static_cast<std::size_t>(element_bytes), memory);
  replace(std::move(area), generation, element_bytes);
}

bool OwnedSlot::lend(std::int64_t generation, std::int64_t element_bytes, MemoryKind& kind,
                     const std::byte* source) {
  try {
    replace(std::make_unique<OwnedArea>(header_, kind, source, lent_), generation, element_bytes);
    return true;
  } catch (const Error& error) {
    log_line(LogLevel::info, [&](std::ostream& line) {
      line
          << "device memory: what ranks of this host hand over is copied, since it cannot be lent: "
          << error.what();
    });
    return false;
  }
}

void OwnedSlot::replace(std::unique_ptr<OwnedArea> area, std::int64_t generation,
                        std::int64_t element_bytes) {
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
    // Peers that have not found the previous area yet would miss it after its replacement.
    if (before_ && !view_.all_reached(replaced_ - 1)) return false;
    older_.reset();
    current_->announce(line);
    line.element_bytes = element_bytes_;
    announced_ = true;
  } else if (before_ && view_.all_reached(replaced_) && !before_->is_open(view_)) {
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
  line.failed.store(generation, std::memory_order_release);
}

std::byte* FarSlot::find(std::int64_t generation, Index extent, MemoryKind& visitor) {
  if (data_ != nullptr) return data_;
  const Announcement& line = view_.line();
  if (line.current.load(std::memory_order_acquire) < generation) return nullptr;
  if (line.element_bytes != element_bytes_) throw size_fault(element_bytes_, line.element_bytes);
  place_ = line.area;
  if (line.lent != 0) {
    borrow(line, visitor);
  } else if (line.kind.front() != '\0') {
    open(line, visitor);
  } else {
    std::byte* const data = arena_->at(line.area);
    const auto bytes = static_cast<std::size_t>(extent) * static_cast<std::size_t>(element_bytes_);
    if (!visitor.is_reachable()) enter(line, data, bytes, visitor);
    data_ = data;
  }
  return data_;
}

/// Pins the data for jobs of `visitor`, if the owner has given them pages of their own.
void FarSlot::enter(const Announcement& line, std::byte* data, std::size_t bytes,
                    MemoryKind& visitor) {
  if (bytes == 0 || line.area % page_bytes != 0) return;
  Flag& mine = view_.flag(index_);
  mine.opened.store(line.area, std::memory_order_release);
  try {
    pinning_ = Pinning(visitor, data, whole_pages(bytes));
  } catch (...) {
    mine.opened.store(0, std::memory_order_release);
    throw;
  }
  if (pinning_.kind() == nullptr) mine.opened.store(0, std::memory_order_release);
}

MemoryKind& FarSlot::opener(const Announcement& line, MemoryKind& visitor) const {
  const bool fits =
      visitor.mpi_name() != nullptr && std::strcmp(visitor.mpi_name(), line.kind.data()) == 0;
  MemoryKind* const kind = fits ? &visitor : kind_called(line.kind.data());
  require(kind != nullptr, Fault::unsupported,
          "another rank of this host hands over in memory of a GPU (", line.kind.data(),
          "), for which this rank has no driver", instead_of_shared);
  return *kind;
}

/// The owner's program keeps its allocation, so no flag says that it is open.
void FarSlot::borrow(const Announcement& line, MemoryKind& visitor) {
  const auto known = std::ranges::find(borrowed_, line.handle, &Opened::handle);
  if (known != borrowed_.end()) {
    std::rotate(known, known + 1, borrowed_.end());
  } else {
    MemoryKind& kind = opener(line, visitor);
    if (borrowed_.size() == most_borrowed) borrowed_.erase(borrowed_.begin());
    borrowed_.reserve(most_borrowed);
    try {
      borrowed_.emplace_back(kind, line.handle);
    } catch (const Error& error) {
      fail(error.fault(), error.what(), "; memory of another rank's program was to be opened",
           instead_of_shared);
    }
  }
  if (lent_.empty()) lent_ = LentList::read(*arena_, line.lent);
  data_ = borrowed_.back().memory() + line.offset;
  kind_ = borrowed_.back().kind();
  is_lent_ = true;
}

void FarSlot::open(const Announcement& line, MemoryKind& visitor) {
  MemoryKind* const kind = &opener(line, visitor);
  Flag& mine = view_.flag(index_);
  mine.opened.store(line.area, std::memory_order_release);
  try {
    area_ = Opened(*kind, line.handle);
  } catch (const std::exception& exception) {
    mine.opened.store(0, std::memory_order_release);
    const Error error = as_error(exception);
    fail(error.fault(), error.what(), "; memory of another rank's GPU was to be opened",
         instead_of_shared);
  }
  kind_ = kind;
  data_ = area_.memory();
}

void FarSlot::forget() noexcept {
  data_ = nullptr;
  kind_ = nullptr;
  is_lent_ = false;
  if (!area_ && pinning_.kind() == nullptr) return;
  area_ = Opened();
  pinning_ = Pinning();
  view_.flag(index_).opened.store(0, std::memory_order_release);
}

int FarSlot::fault(std::int64_t generation) const {
  const Announcement& line = view_.line();
  if (line.failed.load(std::memory_order_acquire) != generation) return -1;
  return static_cast<int>(line.origin);
}

}  // namespace vicinal

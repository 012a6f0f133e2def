// What of slots is given back later than those who had it go: their peers, or streams of the program's, are not done.
#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "execute/slots.hpp"
#include "mpi/chores.hpp"

namespace vicinal {

namespace {

/// A slot whose channel is gone but whose peers may still write its flags, and use its areas.
struct Retired {
  SlotView view;
  std::int64_t last = 0;
  std::shared_ptr<SlotHeader> header;
  std::unique_ptr<OwnedArea> areas[3] = {};
  std::vector<std::unique_ptr<OwnedArea>> left = {};
};

/// Slots of others that are open, or whose pages are admitted, and what they lie in.
struct RetiredVisits {
  std::shared_ptr<mpi::Communicator> communicator;
  std::vector<FarSlot> slots;
};

/// Never destroyed: the communicators that it keeps alive must not outlive their own library's static
/// objects in the wrong order. Beside slots that peers may still use it has what must not be given back while streams may
/// wait for exchanges: whoever does that waits for the streams.
struct RetiredSlots {
  Mutex mutex;
  std::vector<Retired> slots VICINAL_GUARDED_BY(mutex);
  std::vector<RetiredVisits> visits VICINAL_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<OwnedArea>> areas VICINAL_GUARDED_BY(mutex);
  std::vector<std::vector<Opened>> opened VICINAL_GUARDED_BY(mutex);
};

RetiredSlots& retired() {
  static NoDestructor<RetiredSlots> instance;
  return *instance;
}

/// Has it given back by a chore. Without memory to remember it, nobody does: to give it back now would be wrong.
template <class Item>
void give_back_later(std::vector<Item> RetiredSlots::* list, Item item) noexcept try {
  {
    const Lock lock(retired().mutex);
    (retired().*list).push_back(std::move(item));
  }
  mpi::leave_chore(sweep_retired);
} catch (const std::exception&) {
  NoDestructor<Item> left(std::move(item));
}

}  // namespace

bool sweep_retired() {
  const NoWaitBegins no_wait_begins;
  // Destroyed without the lock: what they hold may be the last of its kind.
  std::vector<Retired> done;
  std::vector<RetiredVisits> visits;
  std::vector<std::unique_ptr<OwnedArea>> areas;
  std::vector<std::vector<Opened>> opened;
  const Lock lock(retired().mutex);
  auto& slots = retired().slots;
  if (streams_may_wait()) {
    return slots.empty() && retired().visits.empty() && retired().areas.empty() &&
           retired().opened.empty();
  }
  visits.swap(retired().visits);
  areas.swap(retired().areas);
  opened.swap(retired().opened);
  const auto end = std::partition(slots.begin(), slots.end(), [](const Retired& slot) {
    return !slot.view.all_reached(slot.last) || slot.view.is_open();
  });
  std::move(end, slots.end(), std::back_inserter(done));
  slots.erase(end, slots.end());
  return slots.empty();
}

void retire(std::vector<FarSlot> slots, std::shared_ptr<mpi::Communicator> communicator) noexcept {
  const NoWaitBegins no_wait_begins;
  if (!streams_may_wait()) return slots.clear();
  give_back_later(&RetiredSlots::visits, {std::move(communicator), std::move(slots)});
}

void retire(std::vector<Opened> opened) noexcept {
  if (opened.empty()) return;
  const NoWaitBegins no_wait_begins;
  if (!streams_may_wait()) return opened.clear();
  give_back_later(&RetiredSlots::opened, std::move(opened));
}

OwnedSlot::~OwnedSlot() {
  if (header_ == nullptr) return;
  const NoWaitBegins no_wait_begins;
  if (view_.all_reached(last_) && !view_.is_open() && !streams_may_wait()) {
    for (auto* const area : {&current_, &before_, &older_}) area->reset();
    left_.clear();
    return;
  }
  give_back_later(&RetiredSlots::slots,
                  {view_,
                   last_,
                   std::move(header_),
                   {std::move(current_), std::move(before_), std::move(older_)},
                   std::move(left_)});
}

void OwnedSlot::give_back(std::unique_ptr<OwnedArea> area) noexcept {
  const NoWaitBegins no_wait_begins;
  if (area == nullptr || !streams_may_wait()) return area.reset();
  give_back_later(&RetiredSlots::areas, std::move(area));
}

}  // namespace vicinal

// Deferred release of slots whose peers still use them.
#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "execute/slots.hpp"
#include "mpi/deferred.hpp"

namespace vicinal {

namespace {

/// A slot without a channel; peers may still write its flags and use its areas.
struct Retired {
  SlotView view;
  std::int64_t last = 0;
  std::shared_ptr<SlotHeader> header;
  std::unique_ptr<OwnedArea> areas[3] = {};
};

/// Never destroyed: static objects that its communicators need may be destroyed earlier.
struct RetiredSlots {
  Mutex mutex;
  std::vector<Retired> slots VICINAL_GUARDED_BY(mutex);
};

RetiredSlots& retired() {
  static NoDestructor<RetiredSlots> instance;
  return *instance;
}

}  // namespace

bool sweep_retired() {
  // Destroyed after unlocking, because it may hold last references.
  std::vector<Retired> done;
  const Lock lock(retired().mutex);
  auto& slots = retired().slots;
  const auto end = std::partition(slots.begin(), slots.end(), [](const Retired& slot) {
    return !slot.view.all_reached(slot.last) || slot.view.is_open();
  });
  std::move(end, slots.end(), std::back_inserter(done));
  slots.erase(end, slots.end());
  return slots.empty();
}

/// If recording the slot fails to allocate, it is never released; peers may still use it.
OwnedSlot::~OwnedSlot() {
  if (header_ == nullptr || (view_.all_reached(last_) && !view_.is_open())) return;
  Retired later{view_, last_, std::move(header_)};
  std::size_t i = 0;
  for (auto* const area : {&current_, &before_, &older_}) later.areas[i++] = std::move(*area);
  try {
    {
      const Lock lock(retired().mutex);
      retired().slots.push_back(std::move(later));
    }
    mpi::defer(sweep_retired);
  } catch (const std::exception&) {
    NoDestructor<Retired> left(std::move(later));
  }
}

}  // namespace vicinal

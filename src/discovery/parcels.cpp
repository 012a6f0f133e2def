// Collects and sorts messages.
#include "discovery/parcels.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <string>

namespace vicinal {

std::span<std::byte> Arrivals::room(int source, std::size_t bytes) {
  Item& item = items_.emplace_back();
  item.source = source;
  try {
    item.own = std::make_unique_for_overwrite<std::byte[]>(bytes);
  } catch (const std::bad_alloc&) {
    if (!lacking_) lacking_ = {source, bytes};
    return {};
  }
  item.bytes = bytes;
  return {item.own.get(), bytes};
}

void Arrivals::add(int source, std::span<const std::byte> bytes) {
  const std::size_t offset = pool_.size();
  try {
    pool_.insert(pool_.end(), bytes.begin(), bytes.end());
    items_.push_back({source, bytes.size(), offset, nullptr});
  } catch (const std::bad_alloc&) {
    if (!lacking_) lacking_ = {source, bytes.size()};
    items_.push_back({source, 0, 0, nullptr});
  }
}

Inbox Arrivals::take() {
  std::vector<std::size_t> order(items_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return items_[a].source < items_[b].source;
  });
  std::size_t total = 0;
  for (const Item& item : items_) total += item.bytes;
  Inbox inbox;
  inbox.ranks.reserve(items_.size());
  inbox.offsets.reserve(items_.size() + 1);
  if (lacking_) {
    inbox.lacking.emplace(Fault::memory, "there is no memory for a message of " +
                                             std::to_string(lacking_->bytes) + " bytes that rank " +
                                             std::to_string(lacking_->source) + " has sent");
  }
  try {
    if (!inbox.lacking) inbox.data.reserve(total);
  } catch (const std::exception&) {
    inbox.lacking.emplace(Fault::memory, "there is no memory for the " + std::to_string(total) +
                                             " bytes of all messages that have come");
  }
  for (const std::size_t which : order) {
    const std::span<const std::byte> bytes = bytes_of(items_[which]);
    inbox.ranks.push_back(items_[which].source);
    if (!inbox.lacking) inbox.data.insert(inbox.data.end(), bytes.begin(), bytes.end());
    inbox.offsets.push_back(static_cast<std::int64_t>(inbox.data.size()));
  }
  return inbox;
}

}  // namespace vicinal

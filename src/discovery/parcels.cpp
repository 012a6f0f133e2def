// Collecting messages and putting them in order.
#include "discovery/parcels.hpp"

#include <algorithm>
#include <numeric>

namespace vicinal {

std::span<std::byte> Arrivals::room(int source, std::size_t bytes) {
  Item& item = items_.emplace_back();
  item.source = source;
  item.bytes = bytes;
  item.own = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return {item.own.get(), bytes};
}

void Arrivals::add(int source, std::span<const std::byte> bytes) {
  items_.push_back({source, bytes.size(), pool_.size(), nullptr});
  pool_.insert(pool_.end(), bytes.begin(), bytes.end());
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
  inbox.data.reserve(total);
  for (const std::size_t which : order) {
    const std::span<const std::byte> bytes = bytes_of(items_[which]);
    inbox.ranks.push_back(items_[which].source);
    inbox.data.insert(inbox.data.end(), bytes.begin(), bytes.end());
    inbox.offsets.push_back(static_cast<std::int64_t>(inbox.data.size()));
  }
  return inbox;
}

}  // namespace vicinal

// Counts message by message as the exchange would send them.
#include "cost/exchange_messages.hpp"

#include <cstddef>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "locality/region_pairs.hpp"

namespace vicinal {
namespace {

std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

/// Counts rounds in which rank r of n sends a message to rank r + 1, r + 2, r + 4, ...: a
/// dissemination, and mpi::reduce_scatter.
void add_rounds_of_ranks(const Machine& machine, std::vector<std::int64_t>& sent) {
  const int size = machine.size();
  for (int step = 1; step < size; step *= 2) {
    for (int rank = 0; rank < size; ++rank) {
      if (!machine.same_region(rank, (rank + step) % size)) ++sent[as_size(rank)];
    }
  }
}

void add_rounds_of_region_leaders(const Machine& machine, std::vector<std::int64_t>& sent) {
  for (int step = 1; step < machine.regions(); step *= 2) {
    for (int region = 0; region < machine.regions(); ++region) {
      ++sent[as_size(region_leader(machine, region))];
    }
  }
}

bool regions_share_memory(const Machine& machine) {
  for (int region = 0; region < machine.regions(); ++region) {
    if (!share_a_host(machine, region)) return false;
  }
  return true;
}

/// Returns the pairs of regions where the first has data for the second.
std::set<std::pair<int, int>> speaking_regions(const Machine& machine,
                                               std::span<const SentMessage> messages) {
  std::set<std::pair<int, int>> pairs;
  for (const SentMessage& message : messages) {
    const int from = machine.region_of(message.source);
    const int to = machine.region_of(message.target);
    if (from != to) pairs.emplace(from, to);
  }
  return pairs;
}

void add_straight(const Machine& machine, std::span<const SentMessage> messages,
                  std::int64_t from_bytes, std::vector<std::int64_t>& sent) {
  for (const SentMessage& message : messages) {
    if (message.bytes >= from_bytes && !machine.same_region(message.source, message.target)) {
      ++sent[as_size(message.source)];
    }
  }
}

void add_locality(const Machine& machine, std::span<const SentMessage> messages, bool to_all,
                  ExchangeMessages& sent) {
  const auto speaking = speaking_regions(machine, messages);
  for (const auto& [from, to] : speaking) ++sent.payload[as_size(leader(machine, from, to))];
  add_straight(machine, messages, static_cast<std::int64_t>(straight_bytes), sent.payload);
  for (int from = 0; to_all && from < machine.regions(); ++from) {
    for (int to = 0; to < machine.regions(); ++to) {
      if (from == to || speaking.contains({from, to})) continue;
      ++sent.protocol[as_size(leader(machine, from, to))];
    }
  }
}

}  // namespace

ExchangeMessages count_messages(Method method, const Machine& machine,
                                std::span<const SentMessage> messages, bool shared_memory,
                                const Profile& profile) {
  if (method == Method::automatic) method = choose_method(machine, shared_memory, profile);
  ExchangeMessages sent(machine.size());
  switch (method) {
    case Method::personalized:
      add_straight(machine, messages, 0, sent.payload);
      add_rounds_of_ranks(machine, sent.protocol);
      return sent;
    case Method::nonblocking:
      add_straight(machine, messages, 0, sent.payload);
      add_rounds_of_ranks(machine, sent.inside_mpi);
      return sent;
    case Method::locality:
      add_locality(machine, messages, false, sent);
      if (shared_memory && regions_share_memory(machine)) {
        add_rounds_of_region_leaders(machine, sent.protocol);
      } else if (machine.regions() > 1) {
        add_rounds_of_ranks(machine, sent.inside_mpi);
      }
      return sent;
    case Method::locality_personalized: add_locality(machine, messages, true, sent); return sent;
    case Method::automatic:
    case Method::one_sided: break;
  }
  fail(Fault::info, "the messages of the exchange method ", name(method),
       " were to be counted, but it sends none: it writes to the memory of others");
}

ExchangeMessages count_as_published(const Machine& machine, std::span<const SentMessage> messages) {
  ExchangeMessages sent(machine.size());
  std::set<std::pair<int, int>> served;
  for (const SentMessage& message : messages) {
    const int region = machine.region_of(message.target);
    if (region == machine.region_of(message.source)) continue;
    if (served.emplace(message.source, region).second) ++sent.payload[as_size(message.source)];
  }
  add_rounds_of_ranks(machine, sent.inside_mpi);
  return sent;
}

std::vector<std::int64_t> count_region_pairs(const Machine& machine,
                                             std::span<const SentMessage> messages) {
  std::vector<std::int64_t> pairs(as_size(machine.regions()));
  for (const auto& [from, to] : speaking_regions(machine, messages)) ++pairs[as_size(from)];
  return pairs;
}

}  // namespace vicinal

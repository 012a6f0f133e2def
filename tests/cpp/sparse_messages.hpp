// Shared parts of the sparse exchange tests: every method over every kind of regions. Messages
// follow from ranks and round, so each rank knows what it must receive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "discovery/exchange.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::testing {

using Bytes = std::vector<std::byte>;

inline constexpr std::array flat_methods{Method::personalized, Method::nonblocking};
inline constexpr std::array locality_methods{Method::locality, Method::locality_personalized};

inline std::shared_ptr<mpi::Communicator> world() { return mpi::Communicator::of(MPI_COMM_WORLD); }

/// Regions: equal, unequal (one has one rank), round-robin, one rank each, and the hosts.
inline std::vector<std::string> region_kinds(int size) {
  std::string unequal = "list:0";
  for (int rank = 1; rank < size; ++rank)
    unequal += ',' + std::to_string(1 + std::min(2, rank / 3));
  return {"blocks:4", unequal, "round-robin:3", "blocks:1", "node"};
}

/// Every method, with every kind of regions, and with and without shared memory where that matters.
inline std::vector<ExchangeOptions> all_options(int size) {
  std::vector<ExchangeOptions> all;
  for (const Method method : flat_methods) all.emplace_back(method);
  all.emplace_back(Method::automatic);
  for (const Method method : locality_methods) {
    for (const std::string& regions : region_kinds(size)) {
      for (const bool shared : {true, false}) {
        ExchangeOptions& options = all.emplace_back(method);
        options.regions = regions;
        options.shared_memory = shared;
      }
    }
  }
  return all;
}

inline std::string text_of(const ExchangeOptions& options) {
  return std::string(name(options.method)) + " over " + options.regions +
         (options.shared_memory ? "" : " by messages");
}

struct Message {
  int peer = 0;
  Bytes bytes;
  friend bool operator==(const Message&, const Message&) = default;
};

inline Bytes random_bytes(std::mt19937& random, std::size_t count) {
  Bytes bytes(count);
  // Messages of zeros only, now and then: the exchange must deliver them as well.
  const bool zeros = random() % 3 == 0;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(zeros ? 0 : random() % 256);
  return bytes;
}

/// Messages that `from` sends to `to` in a round.
inline std::vector<Bytes> between(int from, int to, int round, std::size_t most) {
  std::mt19937 random(static_cast<unsigned>((from * 1000 + to) * 1000 + round));
  std::vector<Bytes> messages;
  const unsigned count = random() % 3 == 0 ? 1 + random() % 2 : 0;
  for (unsigned i = 0; i < count; ++i) {
    const bool empty = random() % 4 == 0;
    messages.push_back(random_bytes(random, empty ? 0 : random() % most));
  }
  return messages;
}

template <class Between>
std::vector<Message> sent_by(int rank, int size, Between messages) {
  std::vector<Message> all;
  for (int peer = size - 1; peer >= 0; --peer) {
    for (Bytes& bytes : messages(rank, peer)) all.push_back({peer, std::move(bytes)});
  }
  return all;
}

template <class Between>
std::vector<Message> received_by(int rank, int size, Between messages) {
  std::vector<Message> all;
  for (int peer = 0; peer < size; ++peer) {
    for (Bytes& bytes : messages(peer, rank)) all.push_back({peer, std::move(bytes)});
  }
  return all;
}

inline std::vector<Parcel> parcels_of(const std::vector<Message>& messages) {
  std::vector<Parcel> parcels;
  for (const Message& message : messages) parcels.push_back({message.peer, message.bytes});
  return parcels;
}

inline std::vector<Message> messages_in(const Inbox& inbox) {
  std::vector<Message> messages;
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    const auto bytes = inbox.message(i);
    messages.push_back({inbox.ranks[i], Bytes(bytes.begin(), bytes.end())});
  }
  return messages;
}

inline void check_same(const std::vector<Message>& got, const std::vector<Message>& expected,
                       const std::string& where) {
  if (got == expected) return;
  std::ostringstream text;
  for (const Message& message : got) text << ' ' << message.peer << ':' << message.bytes.size();
  text << ", not";
  for (const Message& message : expected) {
    text << ' ' << message.peer << ':' << message.bytes.size();
  }
  fail_check(__FILE__, __LINE__, where, " gave (rank:bytes)", text.str());
}

}  // namespace vicinal::testing

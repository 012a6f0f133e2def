// One-sided exchange of messages of one size. Each sender adds one to a counter in the receiver's
// memory, and what was there before is the slot that it has drawn. Once all have drawn, each
// receiver knows how many messages come, and makes room for as many; then the senders put a header
// and the message into their slots. The header names the sender, so messages of zeros are messages.
// Slots are drawn and not reckoned from ranks, so memory grows with what is received and not with
// the number of ranks.
//
// Cost: an allreduce (which compares the sizes and brings findings), two windows, and for each
// message one atomic operation and one put. After the constant-size exchange by remote memory
// access that Geyko and Bienz add to their algorithms 1 to 3, with slots in the place of an entry
// for every rank.
//
// The last barrier is after everything, so calls in a row cannot mix.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "discovery/methods.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"
#include "mpi/window.hpp"

namespace vicinal {
namespace {

struct SlotHeader {
  std::int32_t source = 0;
  std::int32_t number = 0;  ///< of the message, among those of its sender
};

void finish(std::vector<mpi::Request>& requests) {
  for (mpi::Request& request : requests) {
    mpi::poll_until([&] { return request.test(); });
  }
}

/// Compares the sizes of all ranks, and learns of findings. All have entered when it is complete.
void meet(mpi::Communicator& communicator, std::int64_t bytes, const std::optional<Finding>& mine) {
  // A rank with a finding goes along with any size.
  std::array<std::int64_t, 3> least{vote(communicator, mine), bytes, -bytes};
  mpi::allreduce_min(communicator.handle(), least);
  settle(communicator, least[0], mine);
  require(least[1] == -least[2], Fault::count, "the ranks exchange blocks of ", least[1], " to ",
          -least[2], " bytes (this one, rank ", communicator.rank(), ", of ", bytes,
          "); all must give the same size");
}

}  // namespace

Inbox exchange_one_sided(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                         std::int64_t bytes, const std::optional<Finding>& mine) {
  meet(communicator, bytes, mine);
  const int rank = communicator.rank();
  const std::int64_t one = 1;
  std::vector<std::int64_t> drawn(outbox.size());
  std::vector<mpi::Request> requests;
  mpi::Window counter(communicator.handle(), sizeof(std::int64_t));
  for (std::size_t i = 0; i < outbox.size(); ++i) {
    if (outbox[i].peer != rank) {
      requests.push_back(counter.fetch_add(one, drawn[i], outbox[i].peer, 0));
    }
  }
  finish(requests);
  counter.flush();
  mpi::barrier(communicator.handle());
  std::int64_t count = 0;
  std::memcpy(&count, counter.read().data(), sizeof count);
  counter.free();

  const std::size_t slot_bytes = (sizeof(SlotHeader) + static_cast<std::size_t>(bytes) + 7) / 8 * 8;
  Arrivals arrivals;
  std::vector<std::byte> slots(outbox.size() * slot_bytes);
  requests.clear();
  mpi::Window data(communicator.handle(), static_cast<std::size_t>(count) * slot_bytes);
  for (std::size_t i = 0; i < outbox.size(); ++i) {
    if (outbox[i].peer == rank) {
      arrivals.add(rank, outbox[i].bytes);
      continue;
    }
    const SlotHeader header{rank, static_cast<std::int32_t>(i)};
    const auto slot = std::span(slots).subspan(i * slot_bytes, slot_bytes);
    std::memcpy(slot.data(), &header, sizeof header);
    std::copy(outbox[i].bytes.begin(), outbox[i].bytes.end(), slot.begin() + sizeof header);
    requests.push_back(
        data.put(slot, outbox[i].peer, static_cast<std::size_t>(drawn[i]) * slot_bytes));
  }
  finish(requests);
  data.flush();
  mpi::barrier(communicator.handle());

  const std::span<const std::byte> memory = data.read();
  std::vector<std::pair<SlotHeader, std::size_t>> order(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(&order[i].first, memory.data() + i * slot_bytes, sizeof(SlotHeader));
    order[i].second = i;
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.source, a.first.number) < std::pair(b.first.source, b.first.number);
  });
  for (const auto& [header, place] : order) {
    arrivals.add(header.source, memory.subspan(place * slot_bytes + sizeof(SlotHeader),
                                               static_cast<std::size_t>(bytes)));
  }
  data.free();
  return arrivals.take();
}

}  // namespace vicinal

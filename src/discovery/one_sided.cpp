// One-sided exchange of messages of one size. Each sender adds one to a counter in the receiver's
// memory; the previous value is the sender's slot. The maximum of all drawn slots gives the largest
// number of messages of any rank, and hence whether the windows have room. Then the senders put a
// header and the message into their slots. The header names the sender, so a message of zeros is
// recognized. Slots are drawn, not computed from ranks, so memory grows with the received messages
// and not with the number of ranks.
//
// Cost: two allreduces, a barrier, and per message one atomic operation and one put. The first
// allreduce compares the sizes and shares findings; the second reduces the drawn slots. The window
// is kept with the communicator. After the constant-size exchange by remote memory access that
// Geyko and Bienz add to their algorithms 1 to 3. Here slots replace an entry for every rank.
//
// No rank leaves the first allreduce before all have entered the call, and hence completed the
// previous one. So neither the counters nor the slots of successive calls can mix.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "discovery/exchange.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"
#include "mpi/window.hpp"

namespace vicinal {
namespace {

struct SlotHeader {
  std::int32_t source = 0;
  std::int32_t number = 0;  ///< of the message, among those of its sender
};

void finish(std::vector<mpi::PendingOperation>& requests) {
  for (mpi::PendingOperation& request : requests) {
    mpi::poll_until([&] { return request.test(); },
                    "access to the memory of another rank of its communicator");
  }
}

/// Layout of a rank's memory: the counter, alone in its cache line, then slots.
constexpr std::size_t first_slot = 64;
constexpr std::size_t first_room = 4096;

/// The window of a communicator between calls.
struct KeptWindow {
  mpi::Window* window = nullptr;
  ~KeptWindow() {
    if (window != nullptr) window->lay_by();
  }
};

/// Compares the sizes of all ranks, and shares findings. On return all ranks have entered. Returns
/// the window that all have, or a new one.
mpi::Window& agreed_window(mpi::Communicator& communicator, std::int64_t bytes,
                           const std::optional<Error>& mine) {
  auto& own = communicator.extension<KeptWindow>();
  if (own.window == nullptr) own.window = mpi::Window::find(communicator.handle());
  const std::int64_t number = own.window == nullptr ? -1 : own.window->number();
  // A rank with a finding accepts any size.
  const std::int64_t next = communicator.rank() == 0 ? mpi::Window::draw_number() : 0;
  std::array<std::int64_t, 5> least{bytes, -bytes, number, -number, -next};
  agree(communicator, mine, least);
  require(least[0] == -least[1], Fault::count, "the ranks exchange blocks of ", least[0], " to ",
          -least[1], " bytes (this one, rank ", communicator.rank(), ", of ", bytes,
          "); all must give the same size");
  // Returned after a successful call only: after a failed one, operations may be in progress.
  mpi::Window* const found = std::exchange(own.window, nullptr);
  if (least[2] == -least[3] && found != nullptr) return *found;
  if (found != nullptr) found->lay_by();
  return mpi::Window::make(communicator.handle(), first_slot + first_room, -least[4]);
}

/// Returns the largest number of messages that any rank receives.
std::int64_t most(mpi::Communicator& communicator, std::span<const std::int64_t> drawn) {
  std::int64_t least = 0;
  for (const std::int64_t before : drawn) least = std::min(least, -(before + 1));
  mpi::allreduce_min(communicator.handle(), std::span(&least, 1));
  return -least;
}

}  // namespace

Inbox exchange_one_sided(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                         std::int64_t bytes, const std::optional<Error>& mine) {
  const std::size_t slot_bytes = (sizeof(SlotHeader) + static_cast<std::size_t>(bytes) + 7) / 8 * 8;
  std::vector<std::int64_t> drawn;
  std::vector<std::byte> slots;
  std::vector<mpi::PendingOperation> requests;
  std::optional<Error> finding = mine;
  // Allocates before the collective steps; later a failure could not be shared.
  attempt(finding, [&] {
    drawn.resize(outbox.size(), -1);
    slots.resize(outbox.size() * slot_bytes);
    requests.reserve(outbox.size());
  });
  mpi::Window& window = agreed_window(communicator, bytes, finding);
  const int rank = communicator.rank();
  const std::int64_t one = 1;
  for (std::size_t i = 0; i < outbox.size(); ++i) {
    if (outbox[i].peer != rank) {
      requests.push_back(window.fetch_add(one, drawn[i], outbox[i].peer, 0));
    }
  }
  finish(requests);
  window.flush();
  const std::int64_t most_received = most(communicator, drawn);
  std::int64_t count = 0;
  std::memcpy(&count, window.read().data(), sizeof count);
  window.clear(0, sizeof count);

  Arrivals arrivals;
  requests.clear();
  const std::size_t room = first_slot + static_cast<std::size_t>(most_received) * slot_bytes;
  if (room > window.size()) window.resize(communicator.handle(), std::bit_ceil(room));
  for (std::size_t i = 0; i < outbox.size(); ++i) {
    if (outbox[i].peer == rank) {
      arrivals.add(rank, outbox[i].bytes);
      continue;
    }
    const SlotHeader header{rank, static_cast<std::int32_t>(i)};
    const auto slot = std::span(slots).subspan(i * slot_bytes, slot_bytes);
    std::memcpy(slot.data(), &header, sizeof header);
    std::copy(outbox[i].bytes.begin(), outbox[i].bytes.end(), slot.begin() + sizeof header);
    requests.push_back(window.put(slot, outbox[i].peer,
                                  first_slot + static_cast<std::size_t>(drawn[i]) * slot_bytes));
  }
  finish(requests);
  window.flush();
  mpi::barrier(communicator.handle());

  const std::span<const std::byte> memory = window.read().subspan(first_slot);
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
  communicator.extension<KeptWindow>().window = &window;
  return arrivals.take();
}

}  // namespace vicinal

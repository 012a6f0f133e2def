// Where a call's data lie between their lowest byte and their highest.
#include "interpose/hosted.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "memory/stand_in.hpp"
#include "mpi/device_pointers.hpp"

namespace vicinal::interpose {

Hosted::Hosted(const NeighborArguments& arguments, mpi::Communicator& communicator)
    : communicator_(communicator),
      send_(side_of(arguments.send)),
      receive_(side_of(arguments.receive)) {
  // The gaps, too: of what comes, MPI writes its places alone.
  fetch(send_);
}

Hosted::HostedSide Hosted::side_of(const EdgeData& data) {
  HostedSide side;
  side.data = data;
  std::byte* highest = nullptr;
  for (const EdgePiece& piece : data.pieces) {
    if (piece.bytes() == 0) continue;
    const Index last = (piece.count - 1) * piece.type.extent;
    std::byte* const first = address(data.buffer, piece.offset + piece.type.true_lower_bound);
    std::byte* const begin = first + std::min<Index>(last, 0);
    std::byte* const end = first + std::max<Index>(last, 0) + piece.type.true_extent;
    if (side.lowest == nullptr) side.kind = kind_out_of_reach(begin);
    side.lowest = side.lowest == nullptr ? begin : std::min(side.lowest, begin);
    highest = std::max(highest, end);
  }
  if (side.kind != nullptr && mpi_takes(*side.kind)) side.kind = nullptr;
  if (side.kind != nullptr) side.bytes.resize(static_cast<std::size_t>(highest - side.lowest));
  return side;
}

template <class Step>
void Hosted::try_device(Step step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    fault_ = std::current_exception();
  }
}

bool Hosted::mpi_takes(MemoryKind& kind) {
  bool takes = false;
  try_device([&] { takes = mpi::takes_pointers(communicator_, kind); });
  return takes;
}

void Hosted::fetch(HostedSide& side) {
  if (side.kind == nullptr) return;
  try_device([&] {
    StandIn fetched(communicator_.extension<StandInPool>(), *side.kind, StandIn::Way::fetched,
                    StandIn::From::one_buffer,
                    {{side.lowest, static_cast<std::int64_t>(side.bytes.size())}});
    fetched.copy(progress);
    std::copy_n(fetched.at(side.lowest), side.bytes.size(), side.bytes.begin());
  });
}

const void* Hosted::moved(const void* given, const HostedSide& side) {
  if (side.kind == nullptr) return given;
  return address(side.bytes.data(),
                 static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(given) -
                                           reinterpret_cast<std::uintptr_t>(side.lowest)));
}

void Hosted::bring_back() {
  if (fault_) std::rethrow_exception(fault_);
  if (receive_.kind == nullptr) return;
  std::vector<UserBytes> stretches;
  for (const EdgePiece& piece : receive_.data.pieces) {
    if (piece.bytes() == 0) continue;
    std::byte* const at = address(receive_.data.buffer, piece.offset);
    if (!piece.type.contiguous) require_reachable(at, "receive buffer, of a datatype with gaps,");
    stretches.push_back({at, piece.bytes()});
  }
  StandIn back(communicator_.extension<StandInPool>(), *receive_.kind, StandIn::Way::brought_back,
               StandIn::From::one_buffer, stretches);
  for (const UserBytes& it : stretches) {
    std::copy_n(receive_.bytes.begin() + (it.begin - receive_.lowest), it.bytes, back.at(it.begin));
  }
  back.copy(progress);
}

}  // namespace vicinal::interpose

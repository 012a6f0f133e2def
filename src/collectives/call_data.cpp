// Replaces pieces in memory that MPI does not reach by bounce buffers.
#include "collectives/call_data.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace vicinal {

namespace {

/// Returns whether displacements are addresses.
bool lies_anywhere(const EdgeData& data) { return data.in_bytes && data.buffer == MPI_BOTTOM; }

/// Returns the memory kind of pieces that MPI does not reach, or null. Checks the first piece with
/// data, or all pieces if each has an address of its own.
MemoryKind* kind_of_pieces(const EdgeData& data) {
  const bool anywhere = lies_anywhere(data);
  for (const EdgePiece& piece : data.pieces) {
    if (piece.bytes() == 0) continue;
    MemoryKind* const kind = kind_out_of_reach(address(data.buffer, piece.offset));
    if (kind != nullptr || !anywhere) return kind;
  }
  return nullptr;
}

[[noreturn]] void refuse_two(const MemoryKind& one, const MemoryKind& other) {
  fail(Fault::unsupported, "an exchange from ", one.name(), " to ", other.name(),
       " memory is not possible; let one of the buffers lie in the host's");
}

/// Returns the pieces that a bounce buffer for memory of `kind` replaces.
std::vector<EdgePiece*> pieces_in(EdgeData& data, MemoryKind& kind, const char* what) {
  std::vector<EdgePiece*> result;
  for (EdgePiece& piece : data.pieces) {
    if (piece.bytes() == 0) continue;
    const std::byte* const at = address(data.buffer, piece.offset);
    MemoryKind* const its = lies_anywhere(data) ? kind_out_of_reach(at) : &kind;
    if (its != nullptr && its != &kind) refuse_two(kind, *its);
    // A piece with gaps that this check accepts is within reach of MPI, and needs no bounce buffer.
    if (!piece.type.contiguous) require_reachable(at, what);
    if (its != nullptr && piece.type.contiguous) result.push_back(&piece);
  }
  return result;
}

std::unique_ptr<BounceBuffer> bounce_buffer_for(EdgeData& data, MemoryKind& kind,
                                                BounceBuffer::Direction direction, const char* what,
                                                mpi::Communicator& communicator) {
  const std::vector<EdgePiece*> pieces = pieces_in(data, kind, what);
  if (pieces.empty()) return nullptr;
  std::vector<UserBytes> stretches;
  for (const EdgePiece* const piece : pieces) {
    stretches.push_back({address(data.buffer, piece->offset), piece->bytes()});
  }
  const auto from =
      lies_anywhere(data) ? BounceBuffer::From::anywhere : BounceBuffer::From::one_buffer;
  auto bounce_buffer = std::make_unique<BounceBuffer>(communicator.extension<BounceBufferPool>(),
                                                      kind, direction, from, std::move(stretches));
  for (EdgePiece* const piece : pieces) {
    const std::byte* const at = bounce_buffer->at(address(data.buffer, piece->offset));
    // Computed as in address(), since the bounce buffer is another object than the buffer.
    piece->offset = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) -
                                              reinterpret_cast<std::uintptr_t>(data.buffer));
  }
  return bounce_buffer;
}

}  // namespace

EdgeData copied(EdgeData data, mpi::Communicator& communicator) {
  std::unique_ptr<BounceBuffer> fetched;
  if (MemoryKind* const kind = kind_of_pieces(data); kind != nullptr) {
    fetched = bounce_buffer_for(data, *kind, BounceBuffer::Direction::fetched,
                                "receive buffer, with MPI_IN_PLACE,", communicator);
    if (fetched) fetched->copy(progress);
  }
  std::int64_t bytes = 0;
  for (const EdgePiece& piece : data.pieces) bytes += piece.bytes();
  const auto block =
      std::make_shared<const MemoryBlock>(host_memory(), static_cast<std::size_t>(bytes));
  const mpi::Datatype byte = mpi::describe(MPI_BYTE);
  EdgeData result;
  result.buffer = block->data();
  result.copy = block;
  result.one_block = data.one_block;
  std::int64_t place = 0;
  for (const EdgePiece& piece : data.pieces) {
    mpi::pack(piece.type, address(data.buffer, piece.offset), piece.count, block->data() + place,
              communicator.handle());
    result.pieces.push_back({piece.entry, place, piece.bytes(), byte});
    place += piece.bytes();
  }
  return result;
}

CallData::CallData(EdgeData&& sent, EdgeData&& received, mpi::Communicator& communicator)
    : send(std::move(sent)), receive(std::move(received)) {
  MemoryKind* const from = kind_of_pieces(send);
  MemoryKind* const to = kind_of_pieces(receive);
  if (from == nullptr && to == nullptr) return;
  if (from != nullptr && to != nullptr && from != to) refuse_two(*from, *to);
  if (to != nullptr) {
    receive.at_most = false;  // all of it is copied back, so all of it must arrive
    brought_back_ = bounce_buffer_for(receive, *to, BounceBuffer::Direction::brought_back,
                                      "receive buffer, of a datatype with gaps,", communicator);
  }
  if (from == nullptr) return;
  fetched_ = bounce_buffer_for(send, *from, BounceBuffer::Direction::fetched,
                               "send buffer, of a datatype with gaps,", communicator);
  if (fetched_) fetched_->begin();
}

bool CallData::fetch() {
  if (fault_) std::rethrow_exception(fault_);
  try {
    return fetched_->poll();
  } catch (...) {
    fault_ = std::current_exception();
    throw;
  }
}

bool CallData::is_fetching() noexcept {
  try {
    return !is_there();
  } catch (...) {
    return false;
  }
}

bool CallData::bring_back() {
  if (!std::exchange(is_in_progress_, true)) brought_back_->begin();
  return brought_back_->poll();
}

}  // namespace vicinal

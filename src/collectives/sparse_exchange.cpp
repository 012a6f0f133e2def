// Converts a user's arguments to parcels, and received bytes to elements.
#include "collectives/sparse_exchange.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "mpi/communicator.hpp"
#include "mpi/environment.hpp"
#include "progress/activity.hpp"

namespace vicinal {
namespace {

/// For reports of long waits.
constexpr const char* name_of_call = "a sparse exchange";

/// Returns the number of bytes in `count` elements. Throws a count fault if it cannot be
/// represented.
std::int64_t bytes_of(Index count, const mpi::Datatype& type, std::size_t message) {
  require(count >= 0, Fault::count, "the count of message ", message, " is ", count,
          "; counts must not be negative");
  require(type.size == 0 || count <= std::numeric_limits<std::int64_t>::max() / type.size,
          Fault::count, "message ", message, " has ", count, " elements of ", type.size,
          " bytes, more bytes than can be counted");
  return count * type.size;
}

/// The parcels of an exchange, or the fault in its arguments.
struct Outbox {
  std::optional<PackedMessages> packed;
  std::vector<Parcel> parcels;
  std::optional<Error> finding;
};

Outbox outbox_of(const std::vector<int>& destinations, const MessageData& data,
                 mpi::Communicator& communicator, std::optional<Error> fault) {
  Outbox outbox;
  if (fault) outbox.finding.emplace(std::move(*fault));
  attempt(outbox.finding, [&] {
    outbox.packed.emplace(data, communicator);
    const auto& messages = outbox.packed->messages();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      outbox.parcels.push_back({destinations[i], messages[i]});
    }
  });
  return outbox;
}

/// Settings on which the ranks of a communicator have agreed.
struct SettingsInUse {
  std::set<std::int64_t> fingerprints;
};

/// Makes sure that all ranks give the same settings, unless they have agreed on them here before.
/// Throws on all ranks if they differ. Does not detect that a single rank later changes its
/// settings.
void agree_on_settings(mpi::Communicator& communicator, const Settings& settings,
                       const std::optional<Error>& fault) {
  const std::string regions = communicator.default_regions();
  const std::int64_t number = fingerprint(settings, regions);
  auto& agreed = communicator.extension<SettingsInUse>().fingerprints;
  if (agreed.contains(number)) return;
  agree(communicator, fault ? std::optional<Error>(*fault) : std::nullopt, {},
        given_settings(settings, regions));
  agreed.insert(number);
}

}  // namespace

std::unique_ptr<BounceBuffer> fetch(std::vector<std::span<const std::byte>>& messages,
                                    mpi::Communicator& communicator) {
  MemoryKind* kind = nullptr;
  std::vector<std::span<const std::byte>*> there;
  std::vector<UserBytes> stretches;
  for (auto& message : messages) {
    MemoryKind* const its = message.empty() ? nullptr : kind_out_of_reach(message.data());
    if (its == nullptr) continue;
    if (kind == nullptr) kind = its;
    require(kind == its, Fault::unsupported, "messages lie in ", kind->name(), " and in ",
            its->name(), " memory; let all of an exchange lie in one or in the host's");
    there.push_back(&message);
    // Nobody writes through this pointer.
    stretches.push_back(
        {const_cast<std::byte*>(message.data()), static_cast<std::int64_t>(message.size())});
  }
  if (kind == nullptr) return nullptr;
  auto fetched = std::make_unique<BounceBuffer>(communicator.extension<BounceBufferPool>(), *kind,
                                                BounceBuffer::Direction::fetched,
                                                BounceBuffer::From::anywhere, std::move(stretches));
  for (auto* const message : there) *message = {fetched->at(message->data()), message->size()};
  fetched->copy(progress);
  return fetched;
}

PackedMessages::PackedMessages(const MessageData& data, mpi::Communicator& communicator) {
  if (data.counts.empty()) return;
  const mpi::Datatype type = mpi::describe(data.type);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < data.counts.size(); ++i) {
    const std::int64_t bytes = bytes_of(data.counts[i], type, i);
    require(bytes <= std::numeric_limits<std::int64_t>::max() - total, Fault::count, "the first ",
            i + 1, " messages have more bytes than can be counted");
    require(bytes <= mpi::most_in_message, Fault::count, "message ", i, " has ", bytes,
            " bytes; at most ", mpi::most_in_message, " are possible");
    total += bytes;
  }
  require(total == 0 || data.buffer != nullptr, Fault::buffer, "the send buffer is null, but ",
          total, " bytes are to be sent");
  const auto* const start = static_cast<const std::byte*>(data.buffer);
  if (!type.contiguous) {
    require_reachable(start, "send buffer of a sparse exchange, of a datatype with gaps,");
    packed_ = MemoryBlock(kind_of(start).staging(), static_cast<std::size_t>(total));
  }
  std::size_t place = 0;
  for (std::size_t i = 0; i < data.counts.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(data.counts[i] * type.size);
    const std::byte* from = bytes == 0 ? nullptr : start + data.displacements[i] * type.extent;
    if (!type.contiguous) {
      mpi::pack(type, from, data.counts[i], packed_.data() + place, communicator.handle());
      from = packed_.data() + place;
      place += bytes;
    }
    messages_.push_back({from, bytes});
  }
  if (type.contiguous && kind_out_of_reach(start) != nullptr) {
    fetched_ = fetch(messages_, communicator);
  }
}

Received Received::exchange(MPI_Comm user, const std::vector<int>& destinations,
                            const MessageData& data, MPI_Datatype received_type,
                            const Settings& settings, std::optional<Error> fault) {
  const auto communicator = mpi::Communicator::of(user);
  const mpi::NamedCall call(*communicator, name_of_call);
  agree_on_settings(*communicator, settings, fault);
  Received received(communicator);
  Outbox outbox = outbox_of(destinations, data, *communicator, std::move(fault));
  attempt(outbox.finding, [&] { received.element_bytes_ = mpi::describe(received_type).size; });
  received.inbox_ = vicinal::exchange(*communicator, std::move(outbox.parcels),
                                      exchange_options(settings), std::move(outbox.finding));
  received.count_elements();
  return received;
}

Received Received::exchange_blocks(MPI_Comm user, const std::vector<int>& destinations,
                                   const void* buffer, Index count, MPI_Datatype type,
                                   MPI_Datatype received_type, const Settings& settings,
                                   std::optional<Error> fault) {
  const auto communicator = mpi::Communicator::of(user);
  const mpi::NamedCall call(*communicator, name_of_call);
  agree_on_settings(*communicator, settings, fault);
  Received received(communicator);
  MessageData data{buffer, {}, {}, type};
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    data.counts.push_back(count);
    data.displacements.push_back(static_cast<Index>(i) * count);
  }
  Outbox outbox = outbox_of(destinations, data, *communicator, std::move(fault));
  std::int64_t bytes = 0;
  attempt(outbox.finding, [&] {
    bytes = bytes_of(count, mpi::describe(type), 0);
    received.element_bytes_ = mpi::describe(received_type).size;
  });
  received.inbox_ = vicinal::exchange_blocks(*communicator, std::move(outbox.parcels), bytes,
                                             exchange_options(settings), std::move(outbox.finding));
  received.count_elements();
  return received;
}

Received Received::ask(MPI_Comm user, const std::vector<int>& destinations, const MessageData& data,
                       MPI_Datatype received_type, const Settings& settings,
                       std::optional<Error> fault) {
  const auto communicator = mpi::Communicator::of(user);
  const mpi::NamedCall call(*communicator, name_of_call);
  agree_on_settings(*communicator, settings, fault);
  Received received(communicator);
  Outbox outbox = outbox_of(destinations, data, *communicator, std::move(fault));
  attempt(outbox.finding, [&] { received.element_bytes_ = mpi::describe(received_type).size; });
  received.query_ = std::make_unique<Query>(*communicator, std::move(outbox.parcels),
                                            exchange_options(settings), std::move(outbox.finding));
  try {
    received.count_elements();
  } catch (const std::exception&) {
    // The asking ranks wait for an answer, which the caller has no handle to give.
    received.query_->answer({}, current_fault());
    throw;
  }
  return received;
}

Received Received::answer(const MessageData& data, MPI_Datatype received_type,
                          std::optional<Error> fault) {
  mpi::check_usable();
  require(
      query_ != nullptr, Fault::argument,
      "these messages are no requests, which vicinal_sparse_query returns; they have no answer");
  require(
      !answered_, Fault::argument,
      "these requests have been answered already; each query has one answer, a refused one too");
  answered_ = true;
  const mpi::NamedCall call(*communicator_, name_of_call);
  Received replies(communicator_);
  std::optional<Error> finding;
  if (fault) finding.emplace(std::move(*fault));
  std::optional<PackedMessages> packed;
  attempt(finding, [&] {
    packed.emplace(data, *communicator_);
    replies.element_bytes_ = mpi::describe(received_type).size;
  });
  std::vector<std::span<const std::byte>> messages;
  if (packed) messages = packed->messages();
  replies.inbox_ = query_->answer(messages, finding);
  replies.count_elements();
  return replies;
}

void Received::count_elements() {
  inbox().require_whole();
  for (std::size_t i = 0; i < inbox().size(); ++i) {
    const auto bytes = static_cast<std::int64_t>(inbox().message(i).size());
    require(bytes == 0 || (element_bytes_ > 0 && bytes % element_bytes_ == 0), Fault::count,
            "rank ", inbox().ranks[i], " has sent ", bytes,
            " bytes, which is no whole number of elements of ", element_bytes_, " bytes");
    counts_.push_back(bytes == 0 ? 0 : bytes / element_bytes_);
    displacements_.push_back(displacements_.back() + counts_.back());
  }
}

void Received::copy(void* buffer, Index capacity, MPI_Datatype type) const {
  const mpi::Datatype into = mpi::describe(type);
  require(into.size == element_bytes_, Fault::type, "elements of ", into.size,
          " bytes are to be copied, but what was received are elements of ", element_bytes_,
          " bytes");
  require(capacity >= elements(), Fault::count, "there is room for ", capacity, " elements, but ",
          elements(), " were received");
  require(elements() == 0 || buffer != nullptr, Fault::buffer, "the receive buffer is null, but ",
          elements(), " elements were received");
  MemoryKind* const kind = elements() == 0 ? nullptr : kind_out_of_reach(buffer);
  if (kind == nullptr || !into.contiguous) {
    require_reachable(buffer, "buffer for what a sparse exchange has brought");
    return mpi::unpack(into, data(), buffer, elements(), communicator_->handle());
  }
  auto* const target = static_cast<std::byte*>(buffer);
  BounceBuffer bounce_buffer(communicator_->extension<BounceBufferPool>(), *kind,
                             BounceBuffer::Direction::brought_back, BounceBuffer::From::one_buffer,
                             {{target, bytes()}});
  std::copy_n(data(), bytes(), bounce_buffer.at(target));
  bounce_buffer.copy(progress);
}

}  // namespace vicinal

// Named records (records.hpp) sent as control messages. The first word of a message is a hash of
// the record's name. Readers check it, so that no message is mistaken for another kind.
//
//   struct Offer { static constexpr std::string_view name = "offer"; ... };
//   outbox.push_back(message_to(peer, Offer{...}));
//   open<Offer, Expectation>(message, Either{[&](Offer offer) {...},
//                                            [&](Expectation expectation) {...}});
#pragma once

#include <string_view>
#include <utility>

#include "base/conversation.hpp"
#include "base/records.hpp"

namespace vicinal {

/// Combines several one-argument functions into one overloaded function object.
template <class... Functions>
struct Either : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Either(Functions...) -> Either<Functions...>;

/// Returns the first word of a control message of this name (FNV-1a hash).
constexpr std::int64_t kind_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  return static_cast<std::int64_t>(hash >> 1U);
}

namespace detail {
/// Returns this thread's buffer for its next control message, emptied.
inline Words& empty_draft() {
  constexpr std::size_t usual = 4096;
  thread_local Words draft;
  if (draft.capacity() > usual) Words().swap(draft);
  draft.clear();
  return draft;
}
}  // namespace detail

template <class Contents>
Words words_of(const Contents& contents) {
  // Returns a copy without spare capacity: with many virtual ranks, control messages take most of
  // the memory.
  Words& draft = detail::empty_draft();
  draft.push_back(kind_of(Contents::name));
  WordWriter(draft).write(contents);
  return {draft.begin(), draft.end()};
}

template <class Contents>
ControlMessage message_to(int peer, const Contents& contents) {
  return {peer, words_of(contents)};
}

template <class Contents>
bool holds(const ControlMessage& message) {
  return !message.words.empty() && message.words.front() == kind_of(Contents::name);
}

/// Reads `Contents` from the words that rank `peer` sent. Throws an internal fault if they are
/// another record.
template <class Contents>
Contents contents_of(const Words& words, int peer) {
  require(!words.empty() && words.front() == kind_of(Contents::name), Fault::internal,
          "a control message from rank ", peer, " is no ", Contents::name);
  const std::span<const std::int64_t> all(words);
  WordReader reader(all.subspan(1), Contents::name, peer);
  auto contents = reader.read<Contents>();
  reader.finish();
  return contents;
}
template <class Contents>
Contents contents_of(const ControlMessage& message) {
  return contents_of<Contents>(message.words, message.peer);
}

/// Calls `visit` with the record in a control message. Throws an internal fault if it is none of
/// `Contents`.
template <class... Contents, class Visit>
void open(const ControlMessage& message, Visit&& visit) {
  const bool known =
      ((holds<Contents>(message) && (visit(contents_of<Contents>(message)), true)) || ...);
  require(known, Fault::internal, "a control message from rank ", message.peer,
          " is of no kind that was expected now");
}

}  // namespace vicinal

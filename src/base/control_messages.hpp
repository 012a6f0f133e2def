// Letters as records (records.hpp) with a name. The first word of a letter is made of its name, so that it is known
// for what it is, and nothing else is taken for it.
//
//   struct Offer { static constexpr std::string_view name = "offer"; ... };
//   outbox.push_back(letter_to(peer, Offer{...}));
//   open<Offer, Expectation>(letter, Either{[&](Offer offer) {...}, [&](Expectation expectation) {...}});
#pragma once

#include <string_view>
#include <utility>

#include "base/conversation.hpp"
#include "base/records.hpp"

namespace vicinal {

/// What several functions of one argument are together.
template <class... Functions>
struct Either : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Either(Functions...) -> Either<Functions...>;

/// The first word of a letter of that name (FNV-1a).
constexpr std::int64_t kind_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  return static_cast<std::int64_t>(hash >> 1U);
}

namespace detail {
/// Where this thread writes its next letter.
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
  // Of many virtual ranks, letters are most of what lies in memory: they have no room to spare.
  Words& draft = detail::empty_draft();
  draft.push_back(kind_of(Contents::name));
  WordWriter(draft).write(contents);
  return {draft.begin(), draft.end()};
}

template <class Contents>
Letter letter_to(int peer, const Contents& contents) {
  return {peer, words_of(contents)};
}

template <class Contents>
bool holds(const Letter& letter) {
  return !letter.words.empty() && letter.words.front() == kind_of(Contents::name);
}

/// What words from another rank hold, which must be this.
template <class Contents>
Contents contents_of(const Words& words, int peer) {
  require(!words.empty() && words.front() == kind_of(Contents::name), Fault::internal,
          "a letter from rank ", peer, " is no ", Contents::name);
  const std::span<const std::int64_t> all(words);
  WordReader reader(all.subspan(1), Contents::name, peer);
  auto contents = reader.read<Contents>();
  reader.finish();
  return contents;
}
template <class Contents>
Contents contents_of(const Letter& letter) {
  return contents_of<Contents>(letter.words, letter.peer);
}

/// Calls `visit` with what a letter holds, which must be one of these.
template <class... Contents, class Visit>
void open(const Letter& letter, Visit&& visit) {
  const bool known =
      ((holds<Contents>(letter) && (visit(contents_of<Contents>(letter)), true)) || ...);
  require(known, Fault::internal, "a letter from rank ", letter.peer,
          " is of no kind that was expected now");
}

}  // namespace vicinal

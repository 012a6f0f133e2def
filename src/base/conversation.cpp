// What is said of a rank that waits. It is put together when somebody asks, never before, since hardly
// anybody ever does.
#include "base/conversation.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace vicinal {

namespace {

/// Of so many ranks each is named; of more, the first ones.
constexpr std::size_t most_named = 8;

/// "1, 3 and 7", each with what goes before and after it; of many the first, "and 20 others".
std::string list_of(std::span<const int> ranks, const char* before, const char* after) {
  const std::size_t named = ranks.size() > most_named + 1 ? most_named : ranks.size();
  std::ostringstream text;
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text << (i + 1 == ranks.size() ? " and " : ", ");
    text << before << ranks[i] << after;
  }
  if (named < ranks.size()) {
    text << " and " << ranks.size() - named << (*after == 0 ? " others" : " others'");
  }
  return text.str();
}

/// Of senders, named as often as they write, those that have written less.
std::string letters_of(std::vector<int> senders, std::span<const Letter> arrived,
                       std::string_view what) {
  std::vector<int> written;
  written.reserve(arrived.size());
  for (const Letter& letter : arrived) written.push_back(letter.peer);
  std::sort(senders.begin(), senders.end());
  std::sort(written.begin(), written.end());
  std::vector<int> missing;
  std::set_difference(senders.begin(), senders.end(), written.begin(), written.end(),
                      std::back_inserter(missing));
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.empty()) return {};
  return list_of(missing, "rank ", "'s") + " " + std::string(what);
}

}  // namespace

void Expected::add(std::int64_t kind, std::vector<int> senders, std::string_view what) {
  const std::size_t count = senders.size();
  senders_.insert(senders_.end(), senders.begin(), senders.end());
  add_unnamed(kind, count, [senders = std::move(senders), what](std::span<const Letter> arrived) {
    return letters_of(senders, arrived, what);
  });
}

void Expected::add_unnamed(std::int64_t kind, std::size_t count, Missing missing) {
  if (count == 0) return;
  count_ += count;
  groups_.push_back({kind, std::move(missing)});
}

std::string Expected::missing(std::span<const Letter> arrived) const {
  std::string text;
  for (const Group& group : groups_) {
    std::vector<Letter> its;
    for (const Letter& letter : arrived) {
      if (group.kind == any_kind || letter.words.front() == group.kind) its.push_back(letter);
    }
    const std::string more = group.missing(its);
    if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
  }
  return text;
}

std::string carriers_of(std::span<const int> sources) {
  if (sources.empty()) return {};
  const std::string which = list_of(sources, "", "");
  return sources.size() == 1 ? "whoever carries the edge from rank " + which
                             : "whoever carries the edges from ranks " + which;
}

std::string describe_wait(const Conversation::Pending& pending, std::span<const Letter> arrived) {
  std::string text;
  const std::size_t expected = pending.expected.count();
  if (arrived.size() >= expected) {
    text = "nobody: all letters are there";
  } else {
    text = pending.expected.missing(arrived);
    if (text.empty()) {
      text = std::to_string(expected - arrived.size()) + " of " + std::to_string(expected) +
             " letters";
    }
  }
  if (!pending.purpose.empty()) text += ", " + std::string(pending.purpose);
  return text;
}

}  // namespace vicinal

// Describes what a waiting rank waits for. The text is built only on demand, since it is rarely
// needed.
#include "base/conversation.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace vicinal {

namespace {

/// Maximum number of ranks listed by name.
constexpr std::size_t most_named = 8;

/// Returns "1, 3 and 7", with `before` and `after` around each rank. Long lists end in "and 20
/// others".
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

/// Names the senders with fewer messages in `arrived` than entries in `senders`.
std::string messages_of(std::vector<int> senders, std::span<const ControlMessage> arrived,
                        std::string_view what) {
  std::vector<int> written;
  written.reserve(arrived.size());
  for (const ControlMessage& message : arrived) written.push_back(message.peer);
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
  add_unnamed(kind, count,
              [senders = std::move(senders), what](std::span<const ControlMessage> arrived) {
                return messages_of(senders, arrived, what);
              });
}

void Expected::add_unnamed(std::int64_t kind, std::size_t count, Missing missing) {
  if (count == 0) return;
  count_ += count;
  groups_.push_back({kind, std::move(missing)});
}

std::string Expected::missing(std::span<const ControlMessage> arrived) const {
  std::string text;
  for (const Group& group : groups_) {
    std::vector<ControlMessage> its;
    for (const ControlMessage& message : arrived) {
      if (group.kind == any_kind || message.words.front() == group.kind) its.push_back(message);
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

std::string describe_wait(const Conversation::Pending& pending,
                          std::span<const ControlMessage> arrived) {
  std::string text;
  const std::size_t expected = pending.expected.count();
  if (arrived.size() >= expected) {
    text = "nobody: all control messages are there";
  } else {
    text = pending.expected.missing(arrived);
    if (text.empty()) {
      text = std::to_string(expected - arrived.size()) + " of " + std::to_string(expected) +
             " control messages";
    }
  }
  if (!pending.purpose.empty()) text += ", " + std::string(pending.purpose);
  return text;
}

}  // namespace vicinal

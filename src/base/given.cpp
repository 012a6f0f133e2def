// Comparing what ranks have given.
#include "base/given.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/scramble.hpp"

namespace vicinal {

namespace {

constexpr std::size_t bytes_of_word = sizeof(std::int64_t);

void append(Words& words, std::string_view text) {
  const std::size_t at = words.size() + 1;
  words.push_back(static_cast<std::int64_t>(text.size()));
  words.resize(at + (text.size() + bytes_of_word - 1) / bytes_of_word, 0);
  if (!text.empty()) std::memcpy(words.data() + at, text.data(), text.size());
}

/// Reads a text and steps over it.
std::string take(std::span<const std::int64_t>& words) {
  const auto bytes = static_cast<std::size_t>(words.front());
  std::string text(bytes, '\0');
  if (bytes > 0) std::memcpy(text.data(), words.data() + 1, bytes);
  words = words.subspan(1 + (bytes + bytes_of_word - 1) / bytes_of_word);
  return text;
}

std::string shown(const std::optional<std::string>& value) {
  return value ? "'" + *value + "'" : "not set";
}

}  // namespace

std::int64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  }
  return static_cast<std::int64_t>(hash >> 1);
}

std::int64_t fingerprint(std::span<const Given> given) {
  std::uint64_t hash = 0;
  for (const Given& each : given) {
    hash = scramble(hash + static_cast<std::uint64_t>(fingerprint(each.name)));
    hash += each.value ? 1 + static_cast<std::uint64_t>(fingerprint(*each.value)) : 0;
  }
  return static_cast<std::int64_t>(hash >> 1);
}

Words to_words(std::span<const Given> given) {
  Words words;
  for (const Given& each : given) {
    append(words, each.name);
    words.push_back(each.value ? 1 : 0);
    if (each.value) append(words, *each.value);
  }
  return words;
}

std::vector<Given> to_given(std::span<const std::int64_t> words) {
  std::vector<Given> given;
  while (!words.empty()) {
    Given& each = given.emplace_back();
    each.name = take(words);
    const bool has_value = words.front() != 0;
    words = words.subspan(1);
    if (has_value) each.value = take(words);
  }
  return given;
}

Words to_words(std::string_view text) {
  Words words;
  append(words, text);
  return words;
}

std::string to_text(std::span<const std::int64_t> words) { return take(words); }

std::string difference(std::span<const Given> one, int its_rank, std::span<const Given> other,
                       int other_rank) {
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    if (one[i].value == other[i].value) continue;
    std::ostringstream text;
    text << one[i].name << " is " << shown(one[i].value) << " on rank " << its_rank << ", but "
         << shown(other[i].value) << " on rank " << other_rank << "; all ranks must give the same";
    const bool settable =
        one[i].name.starts_with("vicinal_") || one[i].name.starts_with("VICINAL_");
    if (settable) text << ": perhaps an environment variable was not forwarded by the launcher";
    return text.str();
  }
  return {};
}

}  // namespace vicinal

// Suggestions for misspelled words.
#pragma once

#include <span>
#include <string_view>

namespace vicinal {

/// Returns the known word with the fewest insertions, deletions and replacements of characters to
/// `word`. Returns "" if the best one needs more than one edit per three characters. A prefix that
/// `word` shares with all known words does not count.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace vicinal

// The form of plans and patterns for letters: all fields, as words. For whoever looks at the plans of
// several ranks together while the ranks run.
#pragma once

#include <cstdint>
#include <span>

#include "base/conversation.hpp"
#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace vicinal {

/// Appends it.
void write_words(Words& words, const Plan& plan);
void write_words(Words& words, const Pattern& pattern);

/// Reads what was written from the beginning of `words`, which then begins behind it. Throws an internal
/// fault where the words are not what was written.
Plan read_plan(std::span<const std::int64_t>& words);
Pattern read_pattern(std::span<const std::int64_t>& words);

}  // namespace vicinal

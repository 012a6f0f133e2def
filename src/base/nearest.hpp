// What somebody may have meant who wrote something else.
#pragma once

#include <span>
#include <string_view>

namespace vicinal {

/// That of the known words which takes the fewest letters to be left out, put in or replaced to become `word`; "" where
/// the nearest takes more than one in three. A prefix that `word` shares with all of them does not count.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace vicinal

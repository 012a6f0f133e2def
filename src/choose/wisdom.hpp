// Wisdom: what measuring has found, in a file that outlives the program. It is read and written by one rank of each
// component, so the others never have another opinion; where there are several, or several jobs, each adds to what
// is there.
//
//   vicinal wisdom 1
//   automatic=10500 direct=14200<TAB>what was measured, in one line
//   end 1
//
// Times are in nanoseconds, of one execution (of a halo, there and back). The last line has the number of those before
// it, so that a file which was cut short is known for what it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal {

/// By planner.
using Times = std::map<std::string, std::int64_t, std::less<>>;

struct WisdomEntry {
  Times times;
  std::string key;
};

struct WisdomFile {
  /// Whose file it is: nobody's where there is none yet, or an empty one.
  enum class Kind : std::uint8_t { absent, whole, cut_short, foreign };
  Kind kind = Kind::absent;
  std::vector<WisdomEntry> entries;  ///< the oldest first
  std::string fault;                 ///< what is wrong with it, where something is
};

/// What a text is.
WisdomFile read_wisdom(std::string_view text);
std::string write_wisdom(const std::vector<WisdomEntry>& entries);

/// What the file says of the key; nothing, after a warning where something is wrong with it, where it says nothing.
std::optional<Times> recall(const std::string& named, std::string_view key);

/// Adds the entry to what the file holds by then, in the place of the one of the same key. Whoever reads it sees all
/// of the old file or all of the new one. Where it cannot be written a warning says so; what is not ours is left as it
/// is.
void remember(const std::string& named, WisdomEntry entry);

}  // namespace vicinal

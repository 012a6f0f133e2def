// Wisdom: results of measurements, in a file that outlives the program. One rank of each component
// reads and writes it, so all ranks use the same results. Several components or jobs each add their
// entries to the file.
//
//   vicinal wisdom 1
//   automatic=10500 direct=14200<TAB>what was measured, in one line
//   end 1
//
// Times are in nanoseconds, of one execution. The last line has the number of entries, so that a
// file that was cut short is detected.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal {

/// by planner
using Times = std::map<std::string, std::int64_t, std::less<>>;

struct WisdomEntry {
  Times times;
  std::string key;
};

struct WisdomFile {
  /// State of a file: `absent` if there is none yet, or an empty one; `foreign` if it is no wisdom
  /// file.
  enum class Kind : std::uint8_t { absent, whole, cut_short, foreign };
  Kind kind = Kind::absent;
  std::vector<WisdomEntry> entries;  ///< oldest first
  std::string fault;                 ///< what is wrong with the file; "" if nothing
};

/// Parses the text of a file.
WisdomFile read_wisdom(std::string_view text);
std::string write_wisdom(const std::vector<WisdomEntry>& entries);

/// Returns the file's times for the key; nothing if it has none. Warns if something is wrong with
/// the file.
std::optional<Times> recall(const std::string& named, std::string_view key);

/// Adds the entry to the file's present contents, or replaces the one with its key. A reader sees
/// all of the old file or all of the new one. Warns if the file cannot be written; leaves a foreign
/// file as it is.
void remember(const std::string& named, WisdomEntry entry);

}  // namespace vicinal

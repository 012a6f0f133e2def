// What the library says of its own accord: warnings on standard error, and with VICINAL_LOG more, perhaps
// in a file. A line begins with the rank, and is written whole by one write, so that ranks do not mix theirs.
//
// Any thread may call any of this at any time. What is not written costs one relaxed load; what would cost
// more to find out asks `logs` first. Nothing here throws but open_log, so logging never is a fault.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace vicinal {

enum class LogLevel : std::uint8_t {
  warn,   ///< what a person has asked for and does not get
  info,   ///< what was chosen and why: a line per plan
  debug,  ///< what choosing has cost
};

/// What VICINAL_LOG asks for.
struct LogWish {
  LogLevel level = LogLevel::warn;
  std::string file;  ///< "" for standard error
};

/// Reads "LEVEL" or "LEVEL:FILE"; nothing where the text is neither.
std::optional<LogWish> read_log_wish(std::string_view text);

/// Logs as VICINAL_LOG says from now on, as this rank of MPI_COMM_WORLD, whose number stands for %r in the file's
/// name. What is there is kept. Throws an info fault where the wish cannot be read or the file not be written.
void open_log(int world_rank);

/// Lines begin with this rank from now on, even where the log is not open yet.
void sign_log(int world_rank) noexcept;

/// Writes "vicinal: rank R: TEXT", where lines of that level are wanted; warnings on standard error, too.
void write_log(LogLevel level, std::string_view text) noexcept;

namespace detail {
inline std::atomic<LogLevel> log_level = LogLevel::warn;
void write_once(LogLevel level, const std::string& text);
}  // namespace detail

inline bool logs(LogLevel level) noexcept {
  return level <= detail::log_level.load(std::memory_order_relaxed);
}

/// Writes all the parts, streamed one after the other, once per process for each text.
template <class... Parts>
void log_once(LogLevel level, const Parts&... parts) noexcept {
  if (!logs(level)) return;
  try {
    std::ostringstream text;
    (text << ... << parts);
    detail::write_once(level, text.str());
  } catch (const std::exception&) {
    // Without memory for it nothing is said.
  }
}

/// Warns, once. Of ranks that know the same, the lowest does it.
template <class... Parts>
void warn_once(const Parts&... parts) noexcept {
  log_once(LogLevel::warn, "warning: ", parts...);
}

/// Calls `write` with a stream for the line, where lines of that level are wanted.
template <class Write>
void log_line(LogLevel level, Write write) noexcept {
  if (!logs(level)) return;
  try {
    std::ostringstream line;
    write(line);
    write_log(level, line.str());
  } catch (const std::exception&) {
    // As above.
  }
}

}  // namespace vicinal

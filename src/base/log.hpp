// The log: warnings on standard error and, with VICINAL_LOG, more messages, optionally in a file.
// Each line begins with the rank and goes out in one write(), so that lines of several ranks do not
// mix.
//
// All functions are thread-safe. A suppressed message costs one relaxed load. Callers test logs()
// before they compute an expensive message. Only open_log() throws, so logging never causes a
// fault.
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
  warn,   ///< the user asked for something that is not available
  info,   ///< choices and their reasons: a line per plan
  debug,  ///< the cost of choosing
};

/// The parsed value of VICINAL_LOG.
struct LogWish {
  LogLevel level = LogLevel::warn;
  std::string file;  ///< "" for standard error
};

/// Reads "LEVEL" or "LEVEL:FILE"; returns nothing for any other text.
std::optional<LogWish> read_log_wish(std::string_view text);

/// Opens the log as VICINAL_LOG says, for this rank of MPI_COMM_WORLD. `%r` in the file name stands
/// for the rank. Appends to an existing file. Throws an info fault if the value is invalid or the
/// file cannot be opened.
void open_log(int world_rank);

/// Begins lines with this rank from now on, even before the log is open.
void sign_log(int world_rank) noexcept;

/// Writes "vicinal: rank R: TEXT" if this level is enabled; warnings always go to standard error,
/// too.
void write_log(LogLevel level, std::string_view text) noexcept;

namespace detail {
inline std::atomic<LogLevel> log_level = LogLevel::warn;
void write_once(LogLevel level, const std::string& text);
}  // namespace detail

inline bool logs(LogLevel level) noexcept {
  return level <= detail::log_level.load(std::memory_order_relaxed);
}

/// Writes the concatenation of all parts. Writes each distinct text once per process.
template <class... Parts>
void log_once(LogLevel level, const Parts&... parts) noexcept {
  if (!logs(level)) return;
  try {
    std::ostringstream text;
    (text << ... << parts);
    detail::write_once(level, text.str());
  } catch (const std::exception&) {
    // Out of memory: the message is dropped.
  }
}

/// Writes a warning once. If several ranks know the same, callers let only the lowest one warn.
template <class... Parts>
void warn_once(const Parts&... parts) noexcept {
  log_once(LogLevel::warn, "warning: ", parts...);
}

/// Calls `write` with a stream for the line if this level is enabled.
template <class Write>
void log_line(LogLevel level, Write write) noexcept {
  if (!logs(level)) return;
  try {
    std::ostringstream line;
    write(line);
    write_log(level, line.str());
  } catch (const std::exception&) {
    // Out of memory: the message is dropped.
  }
}

}  // namespace vicinal

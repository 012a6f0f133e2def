// The destination of the log: a file, standard error, or both.
#include "base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "base/setting.hpp"

namespace vicinal {

namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 3> levels{
    {{"warn", LogLevel::warn}, {"info", LogLevel::info}, {"debug", LogLevel::debug}}};

/// Never destroyed: destructors of static objects may still write to the log.
struct Log {
  Mutex mutex;
  /// The value of VICINAL_LOG when the log was opened.
  std::optional<std::string> wish VICINAL_GUARDED_BY(mutex);
  int rank VICINAL_GUARDED_BY(mutex) = -1;  ///< -1 while unknown
  int file VICINAL_GUARDED_BY(mutex) = -1;
  std::set<std::string> said_once VICINAL_GUARDED_BY(mutex);
};

Log& the_log() {
  static NoDestructor<Log> log;
  return *log;
}

/// Returns false if the write fails.
bool write_whole(int file, std::string_view line) noexcept {
  while (!line.empty()) {
    const ssize_t written = ::write(file, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string signature_of(int rank) {
  return rank < 0 ? "vicinal: " : "vicinal: rank " + std::to_string(rank) + ": ";
}

std::string name_of(std::string file, int rank) {
  const std::string number = std::to_string(rank);
  for (std::size_t at = 0; (at = file.find("%r", at)) != std::string::npos; at += number.size()) {
    file.replace(at, 2, number);
  }
  return file;
}

}  // namespace

std::optional<LogWish> read_log_wish(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (const auto& [name, level] : levels) {
    if (text.substr(0, colon) != name) continue;
    if (colon == std::string_view::npos) return LogWish{level, {}};
    if (colon + 1 < text.size()) return LogWish{level, std::string(text.substr(colon + 1))};
  }
  return std::nullopt;
}

void open_log(int world_rank) {
  Log& log = the_log();
  const Lock lock(log.mutex);
  const Setting& row = setting("vicinal_log");
  std::string text = process_value(row.key);
  if (log.rank == world_rank && log.wish == text) return;
  const std::optional<LogWish> wish = read_log_wish(text);
  if (!wish) refuse(row, variable_of(row.key), text);
  int file = -1;
  if (!wish->file.empty()) {
    file = ::open(from_start(name_of(wish->file, world_rank)).c_str(),
                  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    const int fault = errno;
    require(file >= 0, Fault::info, variable_of(row.key), " is '", text,
            "', but a file that can be written is expected: ", std::strerror(fault));
  }
  if (log.file >= 0) ::close(log.file);
  log.file = file;
  log.rank = world_rank;
  log.wish = std::move(text);
  detail::log_level.store(wish->level, std::memory_order_relaxed);
}

void sign_log(int world_rank) noexcept {
  Log& log = the_log();
  const Lock lock(log.mutex);
  log.rank = world_rank;
}

void write_log(LogLevel level, std::string_view text) noexcept {
  if (!logs(level)) return;
  try {
    Log& log = the_log();
    const Lock lock(log.mutex);
    std::string line = signature_of(log.rank);
    line += text;
    line += '\n';
    if (log.file >= 0 && !write_whole(log.file, line)) {
      const std::string why = std::strerror(errno);
      ::close(std::exchange(log.file, -1));
      write_whole(STDERR_FILENO, signature_of(log.rank) + "warning: the log cannot be written to " +
                                     "the file that VICINAL_LOG names, and goes on here: " + why +
                                     "\n");
    }
    // A failed write to standard error cannot be reported anywhere.
    if (log.file < 0 || level == LogLevel::warn) write_whole(STDERR_FILENO, line);
  } catch (const std::exception&) {
    // Out of memory: the message is dropped.
  }
}

void detail::write_once(LogLevel level, const std::string& text) {
  Log& log = the_log();
  {
    const Lock lock(log.mutex);
    if (!log.said_once.insert(text).second) return;
  }
  write_log(level, text);
}

}  // namespace vicinal

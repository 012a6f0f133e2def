// Reading and writing wisdom files.
#include "choose/wisdom.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/setting.hpp"

namespace vicinal {

namespace {

constexpr std::string_view setting_key = "vicinal_wisdom";
constexpr std::string_view title = "vicinal wisdom 1";
/// The oldest entries above this number are dropped. A file longer than most_bytes is not a wisdom
/// file.
constexpr std::size_t most_entries = 10'000;
constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
/// Number of attempts to lock a file that another process has locked, and the pause between them.
constexpr int lock_attempts = 200;
constexpr std::chrono::milliseconds lock_pause{10};

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  operator int() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void refuse(const char* deed) {
  fail(Fault::argument, "cannot be ", deed, " (", std::strerror(errno), ")");
}

/// Removes and returns the text up to `end`, or all of it if `end` is missing. Also removes `end`.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t found = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, found);
  text.remove_prefix(std::min(found + 1, text.size()));
  return taken;
}

std::optional<WisdomEntry> read_entry(std::string_view line) {
  WisdomEntry entry;
  if (line.find('\t') == std::string_view::npos) return std::nullopt;
  std::string_view times = take_until(line, '\t');
  entry.key = line;
  while (!times.empty()) {
    std::string_view time = take_until(times, ' ');
    const std::string_view name = take_until(time, '=');
    const auto nanoseconds = read_whole_number(time);
    if (name.empty() || !nanoseconds || *nanoseconds < 0) return std::nullopt;
    entry.times.emplace(name, *nanoseconds);
  }
  if (entry.times.empty() || entry.key.empty()) return std::nullopt;
  return entry;
}

std::string contents(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0) refuse("read");
  require(S_ISREG(status.st_mode), Fault::argument, "is no regular file");
  require(status.st_size <= most_bytes, Fault::argument, "is far too long for a file of wisdom");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t bytes =
        pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) refuse("read");
    if (bytes == 0) break;
    done += static_cast<std::size_t>(bytes);
  }
  text.resize(done);
  return text;
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(file, text.data(), text.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) refuse("written");
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
}

/// Returns whether the path still leads to this file, since writers replace it.
bool is_at(const std::string& path, int file) {
  struct stat there{}, here{};
  return stat(path.c_str(), &there) == 0 && fstat(file, &here) == 0 &&
         there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

/// Opens the file, or creates it, and locks it if the file system can. A locked file is not
/// replaced by others.
File locked(const std::string& path) {
  for (int attempt = 0; attempt < lock_attempts; ++attempt) {
    File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
    if (file < 0) refuse("written");
    const bool held = flock(file, LOCK_EX | LOCK_NB) == 0;
    const bool without = !held && errno != EWOULDBLOCK && errno != EINTR;
    if (without || (held && is_at(path, file))) return file;
    std::this_thread::sleep_for(lock_pause);
  }
  fail(Fault::argument, "is locked by another process for long");
}

void replace(const std::string& path, std::string_view text) {
  const std::string fresh = path + "." + std::to_string(getpid()) + ".new";
  try {
    const File file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file < 0) refuse("written");
    write_all(file, text);
    if (fsync(file) != 0) refuse("written");
    if (rename(fresh.c_str(), path.c_str()) != 0) refuse("written");
  } catch (...) {
    unlink(fresh.c_str());
    throw;
  }
}

void warn(const std::string& path, std::string_view fault, const char* consequence) {
  warn_once("the file of wisdom '", path, "' ", fault, "; ", consequence);
}

}  // namespace

WisdomFile read_wisdom(std::string_view text) {
  WisdomFile file;
  if (text.empty()) return file;
  const bool begun = text.find('\n') == std::string_view::npos && title.starts_with(text);
  if (take_until(text, '\n') != title || begun) {
    file.kind = begun ? WisdomFile::Kind::cut_short : WisdomFile::Kind::foreign;
    file.fault = begun ? "is cut short" : "is no file of wisdom that this version can read";
    return file;
  }
  const std::string end = "end ";
  while (!text.empty()) {
    const bool whole = text.find('\n') != std::string_view::npos;
    const std::string_view line = take_until(text, '\n');
    if (whole && text.empty() && line == end + std::to_string(file.entries.size())) {
      file.kind = WisdomFile::Kind::whole;
      return file;
    }
    auto entry = read_entry(line);
    if (!whole || !entry) break;
    file.entries.push_back(std::move(*entry));
  }
  file.kind = WisdomFile::Kind::cut_short;
  file.fault = "is cut short, or has been changed";
  return file;
}

std::string write_wisdom(const std::vector<WisdomEntry>& entries) {
  std::string text(title);
  text += '\n';
  for (const WisdomEntry& entry : entries) {
    const char* space = "";
    for (const auto& [name, nanoseconds] : entry.times) {
      text += space + name + '=' + std::to_string(nanoseconds);
      space = " ";
    }
    text += '\t' + entry.key + '\n';
  }
  return text + "end " + std::to_string(entries.size()) + '\n';
}

std::optional<Times> recall(const std::string& named, std::string_view key) {
  const std::string path = path_of(setting_key, named);
  try {
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file < 0 && errno == ENOENT) return std::nullopt;
    if (file < 0) refuse("read");
    const WisdomFile wisdom = read_wisdom(contents(file));
    require(wisdom.fault.empty(), Fault::argument, wisdom.fault);
    for (const WisdomEntry& entry : wisdom.entries) {
      if (entry.key == key) return entry.times;
    }
  } catch (const std::exception& error) {
    warn(path, error.what(), "what was measured before is not known");
  }
  return std::nullopt;
}

void remember(const std::string& named, WisdomEntry entry) {
  const std::string path = path_of(setting_key, named);
  try {
    const File file = locked(path);
    WisdomFile wisdom = read_wisdom(contents(file));
    require(wisdom.kind != WisdomFile::Kind::foreign, Fault::argument, wisdom.fault);
    std::erase_if(wisdom.entries, [&](const WisdomEntry& it) { return it.key == entry.key; });
    wisdom.entries.push_back(std::move(entry));
    if (wisdom.entries.size() > most_entries) {
      wisdom.entries.erase(wisdom.entries.begin(), wisdom.entries.end() - most_entries);
    }
    replace(path, write_wisdom(wisdom.entries));
  } catch (const std::exception& error) {
    warn(path, error.what(), "what has been measured is not remembered");
  }
}

}  // namespace vicinal

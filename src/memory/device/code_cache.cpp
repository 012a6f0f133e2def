// Code on the disk: one file per key. Its first line describes the code that follows.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>

#include "base/scramble.hpp"
#include "memory/device/compiler.hpp"

namespace vicinal::device {

namespace {

std::uint64_t hash(std::string_view text) {
  std::uint64_t state = text.size();
  for (const char letter : text) state = scramble(state ^ static_cast<unsigned char>(letter));
  return state;
}

std::string hex(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << number;
  return text.str();
}

/// Adds what the code depends on besides its key.
std::string with_source(const std::string& key) {
  return key + " of " + hex(hash(kernel_source()));
}

/// Returns the first line of a file: the key, the size and a checksum of the code.
std::string heading(const std::string& key, std::string_view code) {
  return "vicinal kernels 1 " + with_source(key) + " " + std::to_string(code.size()) + " " +
         hex(hash(code));
}

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

/// Returns the directory, created if `make`; "" if there is no place for it.
std::string folder(bool make) {
  std::string path = variable("XDG_CACHE_HOME");
  if (path.empty() && !variable("HOME").empty()) path = variable("HOME") + "/.cache";
  if (path.empty() || path.front() != '/') return {};
  if (make) mkdir(path.c_str(), 0700);
  path += "/vicinal";
  if (make) mkdir(path.c_str(), 0700);
  return path;
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = write(file, text.data(), text.size());
    if (bytes <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

std::string path_in(const std::string& folder, const std::string& key) {
  return folder.empty() ? folder : folder + "/" + hex(hash(with_source(key))) + ".kernels";
}

}  // namespace

std::string cache_path(const std::string& key) { return path_in(folder(false), key); }

std::optional<std::string> cached_code(const std::string& key) {
  std::ifstream file(cache_path(key), std::ios::binary);
  std::string first;
  if (!std::getline(file, first)) return std::nullopt;
  std::string code{std::istreambuf_iterator<char>(file), {}};
  if (first != heading(key, code)) return std::nullopt;
  return code;
}

void cache_code(const std::string& key, std::string_view code) noexcept try {
  const std::string path = path_in(folder(true), key);
  if (path.empty()) return;
  // Other processes may write the same file: each writes its own, and rename() replaces atomically.
  std::string fresh = path + ".XXXXXX";
  const int file = mkostemp(fresh.data(), O_CLOEXEC);
  if (file < 0) return;
  const bool written = write_whole(file, heading(key, code) + "\n") && write_whole(file, code);
  if (close(file) != 0 || !written || rename(fresh.c_str(), path.c_str()) != 0) {
    unlink(fresh.c_str());
  }
} catch (const std::exception&) {
  // Out of memory: the code is not cached.
}

}  // namespace vicinal::device

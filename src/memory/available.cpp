// Reads /proc/meminfo, and the memory limit and usage of each control group from the process's own
// up to the root. Supports version 2, and version 1 under its own mount. A group's usage includes
// file caches, which can be reclaimed, so the result may be too low but not too high.
#include "memory/available.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace vicinal {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::int64_t of_system(const std::string& root) {
  std::ifstream info(root + "/proc/meminfo");
  std::string word;
  while (info >> word) {
    std::int64_t kibibytes = 0;
    if (word == "MemAvailable:" && info >> kibibytes) return kibibytes * 1024;
  }
  return unlimited;
}

/// Returns the number in a file; `unlimited` if there is none ("max", or no file).
std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : unlimited;
}

/// `group` is the path of the process's own group, such as "/" or "/jobs/17".
std::int64_t of_groups(const std::string& mount, std::string group, const char* limit_name,
                       const char* used_name) {
  std::int64_t least = unlimited;
  while (true) {
    if (group == "/") group.clear();
    const std::string folder = mount + group;
    const std::int64_t limit = number_in(folder + limit_name);
    const std::int64_t used = number_in(folder + used_name);
    if (limit != unlimited && used != unlimited) {
      least = std::min(least, std::max(limit - used, std::int64_t{0}));
    }
    if (group.empty()) return least;
    const std::size_t parent = group.rfind('/');
    group.resize(parent == std::string::npos ? 0 : parent);
  }
}

}  // namespace

std::int64_t available_memory(const std::string& root) {
  std::int64_t least = of_system(root);
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;  // number:controllers:path
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers(",");
    controllers.append(line, first + 1, second - first - 1).push_back(',');
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, of_groups(mount, path, "/memory.max", "/memory.current"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, of_groups(mount + "/memory", path, "/memory.limit_in_bytes",
                                        "/memory.usage_in_bytes"));
    }
  }
  return least;
}

}  // namespace vicinal

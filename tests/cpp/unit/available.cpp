// Tests the available memory of the machine, and the limits of control groups.
#include "memory/pages.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "check.hpp"

namespace vicinal::available_tests {
namespace {

TEST(available_memory_heeds_control_groups) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("vicinal-memory-" + std::to_string(getpid()));
  const auto write = [&](const char* path, const char* text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  };
  CHECK_EQUAL(available_memory(root.string()), std::numeric_limits<std::int64_t>::max());
  write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:  1000 kB");
  CHECK_EQUAL(available_memory(root.string()), 1000 * 1024);
  write("proc/self/cgroup", "0::/jobs/17");
  write("sys/fs/cgroup/jobs/17/memory.max", "max");
  write("sys/fs/cgroup/jobs/17/memory.current", "100");
  CHECK_EQUAL(available_memory(root.string()), 1000 * 1024);
  write("sys/fs/cgroup/jobs/memory.max", "5000");
  write("sys/fs/cgroup/jobs/memory.current", "4000");
  CHECK_EQUAL(available_memory(root.string()), 1000);
  write("proc/self/cgroup", "4:cpu,memory:/old\n0::/");
  write("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "700");
  write("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "900");
  CHECK_EQUAL(available_memory(root.string()), 0);
  fs::remove_all(root);
}

}  // namespace
}  // namespace vicinal::available_tests

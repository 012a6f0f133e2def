// Finds the NUMA node of this process from the CPUs it may run on. MPI has a hardware-guided split
// for this, but builds without hwloc answer it with MPI_COMM_NULL.
#include "mpi/detect.hpp"

#include <dirent.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal::mpi {
namespace {

/// Counts the allowed CPUs in a list like "0-3,8,10-11".
int count_allowed(std::string_view list, const std::vector<bool>& allowed) {
  int count = 0;
  const char* place = list.data();
  const char* const end = place + list.size();
  while (place < end) {
    std::size_t first = 0;
    const auto [after_first, error] = std::from_chars(place, end, first);
    if (error != std::errc()) break;
    std::size_t last = first;
    place = after_first;
    if (place < end && *place == '-') place = std::from_chars(place + 1, end, last).ptr;
    for (std::size_t cpu = first; cpu <= last && cpu < allowed.size(); ++cpu) {
      count += allowed[cpu] ? 1 : 0;
    }
    if (place < end && *place == ',') ++place;
  }
  return count;
}

}  // namespace

std::vector<bool> allowed_cpus() {
  constexpr int most_cpus = 1 << 20;
  for (int cpus = 1024; cpus <= most_cpus; cpus *= 4) {
    std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(cpus) / sizeof(cpu_set_t));
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0) continue;
    std::vector<bool> allowed(static_cast<std::size_t>(cpus));
    for (std::size_t cpu = 0; cpu < allowed.size(); ++cpu) {
      allowed[cpu] = CPU_ISSET_S(cpu, bytes, set.data()) != 0;
    }
    return allowed;
  }
  return {};
}

std::string detect_host() {
  std::string host;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), host);
  utsname names{};
  if (uname(&names) == 0) host += std::string(" ") + names.nodename;
  return host;
}

int detect_numa_node(const std::string& root) {
  const std::vector<bool> allowed = allowed_cpus();
  int best = 0;
  int best_count = 0;
  // std::filesystem would end the program if there is no memory.
  struct Close {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(opendir(root.c_str()));
  while (const dirent* const entry = folder ? readdir(folder.get()) : nullptr) {
    const std::string name = entry->d_name;
    int node = 0;
    constexpr std::string_view prefix = "node";
    if (name.size() <= prefix.size() || !name.starts_with(prefix)) continue;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data() + prefix.size(), end, node).ptr != end) continue;
    std::ifstream file(root + "/" + name + "/cpulist");
    std::string list;
    std::getline(file, list);
    const int count = count_allowed(list, allowed);
    if (count > best_count || (count == best_count && count > 0 && node < best)) {
      best = node;
      best_count = count;
    }
  }
  return best;
}

}  // namespace vicinal::mpi

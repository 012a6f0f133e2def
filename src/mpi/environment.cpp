// Queries of MPI that are valid at any time, even before MPI_Init and after MPI_Finalize. MPI
// itself gives its version text.
//
// An MPI library that does not understand its launcher runs as a job of one rank. The launcher's
// own environment variables still tell how many ranks it started.
//
// The NUMA node of this process follows from the CPUs it may run on. MPI has a hardware-guided
// split for this, but builds without hwloc answer it with MPI_COMM_NULL.
#include "mpi/environment.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"

namespace vicinal::mpi {

namespace {

std::atomic<bool> forked = false;
std::atomic<int> sessions = 0;
std::atomic<bool> sessions_are_told = false;

/// An ABI, by its name in builds of vicinal.
struct Abi {
  const char* name;
  const char* whose;
};
constexpr Abi mpich{"mpich", "MPICH's ABI"};
constexpr Abi openmpi{"openmpi", "Open MPI's ABI"};
constexpr Abi standard{"abi", "the MPI standard's own ABI"};

#if defined(MPI_ABI_VERSION)
constexpr const Abi& compiled_for = standard;
#elif defined(OPEN_MPI)
constexpr const Abi& compiled_for = openmpi;
#else
constexpr const Abi& compiled_for = mpich;
#endif

/// Returns the ABI of the MPI in that file; null if it is linked into the program.
const Abi* abi_in(const char* file) {
  void* const mpi = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (mpi == nullptr) return nullptr;
  int major = 0, minor = 0;
  if (void* const ask = dlsym(mpi, "MPI_Abi_get_version")) {
    reinterpret_cast<int (*)(int*, int*)>(ask)(&major, &minor);
  }
  const bool is_openmpi = dlsym(mpi, "ompi_mpi_comm_world") != nullptr;
  dlclose(mpi);
  if (major > 0) return &standard;
  return is_openmpi ? &openmpi : &mpich;
}

std::string find_abi_fault() {
  // If a Python module loads its own MPI privately, mpi4py has told the package which one.
  void* const function = find_symbol("PMPI_Initialized");
  Dl_info home{};
  if (function == nullptr || dladdr(function, &home) == 0) return {};
  const Abi* const called = abi_in(home.dli_fname);
  if (called == nullptr || called == &compiled_for) return {};
  return std::string("this is vicinal for ") + compiled_for.whose + ", but the program runs on " +
         home.dli_fname + ", which has " + called->whose + ": link it with vicinal-" +
         called->name + " in the place of vicinal-" + compiled_for.name;
}

}  // namespace

void require_fitting_abi() {
  static const std::string fault = find_abi_fault();
  if (fault.empty()) return;
  std::fprintf(stderr, "vicinal: %s\n", fault.c_str());
  std::_Exit(EXIT_FAILURE);
}

void claim_process() {
  // Registers on first use of MPI: a process may load the library, fork, and leave MPI to its
  // children.
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] {
    forked.store(true, std::memory_order_relaxed);
    note_end();
  });
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

bool has_world() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void session_opened() noexcept {
  sessions_are_told = true;
  ++sessions;
}

void session_closed() noexcept {
  int open = sessions;
  while (open > 0 && !sessions.compare_exchange_weak(open, open - 1)) {
  }
}

void find_session(MPI_Comm user) noexcept {
  const bool of_world = user == MPI_COMM_WORLD || user == MPI_COMM_SELF || user == MPI_COMM_NULL;
  int initialized = 0, none = 0;
  MPI_Initialized(&initialized);
  if (!sessions_are_told && !of_world && initialized == 0)
    sessions.compare_exchange_strong(none, 1);
}

void require_usable() {
  require(!is_forked(), Fault::communicator,
          "this process was forked from a rank of MPI, which only the rank itself may use; start "
          "processes that use MPI by MPI_Comm_spawn or the launcher");
  int finalized = 0;
  MPI_Finalized(&finalized);
  require(finalized == 0, Fault::communicator,
          "MPI_Finalize has been called; all use of vicinal comes before it");
  require(
      is_alive(), Fault::communicator,
      "MPI is not running; call MPI_Init before all use of vicinal, or give a communicator of a "
      "session (MPI_Session_init)");
}

int open_sessions() noexcept { return sessions.load(std::memory_order_relaxed); }

bool thread_multiple() {
  if (!is_alive()) return false;
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

bool thread_may_call() {
  if (!is_alive()) return false;
  int provided = MPI_THREAD_SINGLE, main = 0;
  MPI_Query_thread(&provided);
  if (provided == MPI_THREAD_MULTIPLE) return true;
  if (!has_world()) return false;  // Open MPI 5.0.11 would crash in the next call
  MPI_Is_thread_main(&main);
  return provided != MPI_THREAD_SERIALIZED && main != 0;
}

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

namespace {

using Text = std::array<char, MPI_MAX_LIBRARY_VERSION_STRING>;

std::string_view version(Text& text) noexcept {
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

bool library_is(std::string_view name) noexcept {
  Text text{};
  return version(text).starts_with(name);
}

std::string library_version() {
  Text text{};
  const std::string_view all = version(text);
  std::string line(all.substr(0, all.find_first_of(",\n")));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

namespace {

/// Environment variables by which a kind of launcher describes its job to a rank.
struct Launcher {
  const char* size;     ///< variable with the number of ranks
  const char* rank;     ///< variable with the rank's own number
  const char* library;  ///< file of the MPI library of this kind
};

constexpr Launcher hydra{"PMI_SIZE", "PMI_RANK", "PREFIX/lib/libmpi.so.12"};
constexpr Launcher prrte{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PREFIX/lib/libmpi.so.40"};
/// Variables of a step, which srun starts. A job's batch script has SLURM_NTASKS and is not
/// launched with others.
constexpr Launcher slurm{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "the libmpi that srun serves"};

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  int value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

void announce(const std::string& launched, const char* library) {
  warn_once(
      "this process was launched with others (" + launched +
      "), but is alone in MPI_COMM_WORLD: its launcher is not that of the MPI library it runs "
      "on (" +
      library_version() +
      "). Launch it with that library's own mpiexec, or run it on the launcher's library (with "
      "mpi4py: MPI4PY_LIBMPI=" +
      library + ")");
}

void look() {
  if (!has_world()) return;  // the size of a session is unknown
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) return;
  // The first launcher with a variable set is the right one: the library's own launcher, or else
  // the actual one. The variable of another launcher may stem from an enclosing job.
  const bool is_openmpi = library_is("Open MPI");
  for (const Launcher& launcher : {is_openmpi ? prrte : hydra, is_openmpi ? hydra : prrte, slurm}) {
    const std::optional<int> ranks = number_in(launcher.size);
    if (!ranks) continue;
    if (*ranks > 1 && number_in(launcher.rank).value_or(0) == 0) {
      announce(std::string(launcher.size) + "=" + std::to_string(*ranks), launcher.library);
    }
    return;
  }
  // PMIx tells the number of ranks only through its own protocol.
  if (number_in("PMIX_RANK") == 1) announce("PMIX_RANK=1", prrte.library);
}

}  // namespace

void announce_if_alone() {
  static const bool announced = (look(), true);
  static_cast<void>(announced);
}

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

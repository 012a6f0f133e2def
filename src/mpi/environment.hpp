// The environment of this process: features and state of the underlying MPI, its launcher, and the
// placement that the operating system reports. Features beyond the common base are found by symbol
// look-up, since the MPI version at compile time says nothing about the loaded one.
#pragma once

#include <mpi.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal::mpi {

/// Returns whether MPI_COMM_WORLD and MPI_COMM_SELF exist: MPI_Init has been called, and
/// MPI_Finalize has not.
[[nodiscard]] bool has_world();
/// Record that the program has opened or closed a session (MPI_Session_init, MPI_Session_finalize).
void session_opened() noexcept;
void session_closed() noexcept;
/// Records a session if the program uses a communicator, MPI seems not to run, and no session was
/// reported.
void find_session(MPI_Comm user) noexcept;
/// Number of open sessions.
[[nodiscard]] int open_sessions() noexcept;
/// Marks this process as the one that may call MPI. Processes that it forks may not: other ranks do
/// not know them, and their calls would act in this process's name.
void claim_process();
/// Returns whether this process was forked from one that had called claim_process().
[[nodiscard]] bool is_forked() noexcept;
/// Throws a communicator fault, with the reason, if the library may not be used now.
void require_usable();
namespace detail {
inline std::atomic<bool> may_be_unusable = false;
}
/// Records that the process was forked, or that MPI ends: objects made before may no longer be
/// used.
inline void note_end() noexcept { detail::may_be_unusable.store(true, std::memory_order_relaxed); }
/// As require_usable(), for every use of an object that was made while the library was usable.
/// Costs one test of a flag.
inline void check_usable() {
  if (detail::may_be_unusable.load(std::memory_order_relaxed)) [[unlikely]]
    require_usable();
}
/// Returns whether MPI may be called now.
[[nodiscard]] inline bool is_alive() {
  return !is_forked() && (has_world() || open_sessions() > 0);
}
/// Returns whether several threads may call MPI at the same time.
[[nodiscard]] bool thread_multiple();
/// Returns whether the calling thread may call MPI, whatever other threads do.
[[nodiscard]] bool thread_may_call();

/// Ends the process with a one-line message if the program was linked with the library for another
/// MPI ABI. No MPI handle is valid then, so no error handler can be called. Call it before the
/// first use of a handle.
void require_fitting_abi();

/// Returns the address of a function in the loaded MPI; null if it has none.
[[nodiscard]] void* find_symbol(const char* name);

/// Returns whether MPI's version text begins with `name`, for workarounds in one library. Allocates
/// nothing.
[[nodiscard]] bool library_is(std::string_view name) noexcept;

/// Returns the name and version of the loaded MPI, in one line without tabs.
[[nodiscard]] std::string library_version();

/// Warns once per process on standard error if it was launched with others but is alone in
/// MPI_COMM_WORLD. Its launcher and its MPI library then do not belong together, and each rank
/// silently does all the work. Of ranks that know their number, only the first that can detect this
/// warns. MPI must be running.
void announce_if_alone();

/// Returns a text that is equal for processes exactly if they run under one kernel and one host
/// name. MPI_COMM_TYPE_SHARED uses the same criterion. An MPI call would instead build, for a
/// communicator used once, whatever its collective operations need.
std::string detect_host();

/// Returns which CPUs this process may run on, as the system reports; empty if it does not.
std::vector<bool> allowed_cpus();

/// Returns the NUMA node that holds most of the CPUs this process may run on, the lowest on ties; 0
/// if the system does not report it. `root` is the folder with node0, node1, ...
int detect_numa_node(const std::string& root = "/sys/devices/system/node");

}  // namespace vicinal::mpi

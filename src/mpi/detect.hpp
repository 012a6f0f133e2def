// Placement of this process, as the operating system reports it.
#pragma once

#include <string>
#include <vector>

namespace vicinal::mpi {

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

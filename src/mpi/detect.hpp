// Where ranks live, as the system says.
#pragma once

#include <string>
#include <vector>

namespace vicinal::mpi {

/// A text that processes have in common exactly where they run under one kernel and one host name: what
/// MPI_COMM_TYPE_SHARED goes by as well. Asking MPI instead would have it build, for a communicator used
/// once, whatever its collective operations need.
std::string detect_host();

/// The CPUs this process may run on, as the system says; none where it does not say.
std::vector<bool> allowed_cpus();

/// The NUMA node that holds most of the CPUs this process may run on, the lowest on ties; 0 where
/// the system does not say. `root` is the folder with node0, node1, ...
int detect_numa_node(const std::string& root = "/sys/devices/system/node");

}  // namespace vicinal::mpi

// Where ranks live, as the system says.
#pragma once

#include <string>

namespace vicinal::mpi {

/// The NUMA node that holds most of the CPUs this process may run on, the lowest on ties; 0 where
/// the system does not say. `root` is the folder with node0, node1, ...
int detect_numa_node(const std::string& root = "/sys/devices/system/node");

}  // namespace vicinal::mpi

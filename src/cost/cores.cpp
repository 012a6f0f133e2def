#include "cost/cores.hpp"

#include <cmath>
#include <cstddef>

namespace vicinal {

DealtCores deal_cores(const Machine& machine, const Profile& profile) {
  struct Host {
    int cores = 0;
    int first = 0;  // core
    int next = 0;   // position of the next rank
  };
  DealtCores dealt;
  std::vector<Host> hosts;
  for (int host = 0; host < machine.hosts(); ++host) {
    const double shared = shared_cores(machine, host, profile);
    const double whole = shared > 0 ? std::ceil(shared) : machine.ranks_on(host);
    hosts.push_back({static_cast<int>(whole), static_cast<int>(dealt.cores.size())});
    dealt.cores.resize(dealt.cores.size() + static_cast<std::size_t>(whole),
                       shared > 0 ? Core{shared / whole, true} : Core{});
  }
  for (int rank = 0; rank < machine.size(); ++rank) {
    Host& host = hosts[static_cast<std::size_t>(machine.host_of(rank))];
    dealt.of_rank.push_back(host.first + host.next++ % host.cores);
  }
  return dealt;
}

}  // namespace vicinal

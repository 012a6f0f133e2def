// Waiting for any of several requests.
#include "collectives/request.hpp"

#include "execute/activity.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {

int wait_any(std::span<Request* const> requests) {
  mpi::Backoff backoff;
  while (true) {
    bool any = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request* request = requests[i];
      if (request == nullptr || !request->in_flight()) continue;
      any = true;
      if (request->test()) return static_cast<int>(i);
    }
    if (!any) return -1;
    progress();
    backoff.pause();
  }
}

}  // namespace vicinal

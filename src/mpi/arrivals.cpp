// The key identifies a control message, the tag every other message.
#include "mpi/arrivals.hpp"

#include <ostream>
#include <utility>

#include "mpi/errors.hpp"

namespace vicinal::mpi {

void describe_arrivals(Communicator& communicator, const OwnTraffic& own, std::ostream& out) {
  Mailbox& mailbox = communicator.mailbox();
  mailbox.collect();
  for (const auto& [rank, key] : mailbox.senders_besides(own.key)) {
    out << "; rank " << rank << " has sent a control message for "
        << (key.sequence == 0 ? "the creation of a graph" : "the planning of an exchange");
  }
  if (!own.is_all) return;
  constexpr std::pair<int, const char*> others[] = {
      {tag_allgather, "the beginning of a halo or a sparse exchange, or of the end of a creation"},
      {tag_discovery_even, "a sparse exchange or the creation of a halo"},
      {tag_discovery_odd, "a sparse exchange or the creation of a halo"},
  };
  for (const auto& [tag, call] : others) {
    int found = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, tag, communicator.handle(), &found, &status), "MPI_Iprobe");
    if (found != 0) out << "; rank " << status.MPI_SOURCE << " has sent a message of " << call;
  }
}

}  // namespace vicinal::mpi

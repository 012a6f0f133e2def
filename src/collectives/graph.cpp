// Graph creation, and agreeing on plans for a graph. A rank at fault tells its neighbours and its
// region, and so does every rank that learns of a fault: the news floods all who depend on each other,
// without a collective operation that the others would pay for. Only where there is no graph yet, a
// fault is told to every rank.
#include "collectives/graph.hpp"

#include "execute/execution.hpp"

namespace vicinal {

namespace {

void check_neighbours(std::span<const int> ranks, int size, const char* what) {
  for (const int rank : ranks) {
    require(rank >= 0 && rank < size, Fault::rank, "a ", what, " is rank ", rank,
            ", but the communicator has ranks 0 to ", size - 1);
  }
}

}  // namespace

Graph::Graph(MPI_Comm user, std::vector<int> sources, std::vector<int> destinations,
             Settings settings, std::optional<Error> fault)
    : settings_(std::move(settings)), communicator_(mpi::Communicator::of(user)) {
  prepare_process();
  id_ = communicator_->next_graph_id();
  neighborhood_.rank = communicator_->rank();
  try {
    if (fault) throw *fault;
    const auto machine = communicator_->machine(settings_.regions);
    check_neighbours(sources, communicator_->size(), "source");
    check_neighbours(destinations, communicator_->size(), "destination");
    Conversation conversation;
    auto task = meet(conversation, machine, communicator_->rank(), std::move(sources),
                     std::move(destinations));
    neighborhood_ = mpi::drive(*communicator_, {id_, 0}, conversation, task);
  } catch (const mpi::FaultElsewhere&) {
    throw;  // all have been told
  } catch (const Error&) {
    // Who waits for this rank is known to them, not to it: tell everybody.
    std::set<int> everybody;
    for (int rank = 0; rank < communicator_->size(); ++rank) everybody.insert(rank);
    everybody.erase(communicator_->rank());
    mpi::give_notice(*communicator_, {id_, 0}, mpi::notice_left, communicator_->rank(), everybody);
    throw;
  }
}

void Graph::tell(std::int64_t sequence, mpi::Notice notice, int origin) noexcept {
  mpi::give_notice(*communicator_, {id_, sequence}, notice, origin, neighborhood_.company());
}

std::shared_ptr<AgreedPlan> Graph::plan(const Pattern& pattern, const Planner& planner,
                                        const PlanOptions& options, std::optional<Error> fault) {
  const std::int64_t sequence = ++plans_;
  try {
    require_serves(planner, options);
    return agree(communicator_, {id_, sequence}, planner, neighborhood_, pattern, options, fault);
  } catch (const SettledFault&) {
    tell(sequence, mpi::notice_ended, communicator_->rank());
    throw;
  } catch (const mpi::FaultElsewhere& error) {
    tell(sequence, mpi::notice_left, error.origin());
    if (fault) throw *fault;
    throw;
  } catch (const std::exception&) {
    tell(sequence, mpi::notice_left, communicator_->rank());
    throw;
  }
}

void Graph::refuse_plan(const Error& fault) {
  tell(++plans_, mpi::notice_left, communicator_->rank());
  throw fault;
}

}  // namespace vicinal

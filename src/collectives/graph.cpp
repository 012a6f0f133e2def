// Graph creation, and agreeing on plans for a graph. A rank at fault tells its neighbours and its
// region, and so does every rank that learns of a fault: the news floods all who depend on each other,
// without a collective operation that the others would pay for.
#include "collectives/graph.hpp"

#include <set>

#include "execute/execution.hpp"
#include "mpi/drive.hpp"

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
             Settings settings)
    : user_(user),
      settings_(std::move(settings)),
      communicator_(mpi::Communicator::of(user)) {
  prepare_process();
  id_ = communicator_->next_graph_id();
  std::optional<Error> fault;
  std::shared_ptr<const Machine> machine;
  try {
    machine = communicator_->machine(settings_.regions);
    check_neighbours(sources, communicator_->size(), "source");
    check_neighbours(destinations, communicator_->size(), "destination");
  } catch (const Error& error) {
    fault = error;
  }
  if (fault) {
    // Take part without neighbours, so that the region can go on, and let the others know.
    neighborhood_.machine = machine ? machine : communicator_->machine("node");
    neighborhood_.rank = communicator_->rank();
    for (const auto* ranks : {&sources, &destinations}) {
      for (const int rank : *ranks) {
        if (rank >= 0 && rank < communicator_->size()) neighborhood_.sources.push_back(rank);
      }
    }
    tell_neighbours(0);
    sources.clear();
    destinations.clear();
  }
  if (machine) {
    Conversation conversation;
    auto task = meet(conversation, machine, communicator_->rank(), std::move(sources),
                     std::move(destinations));
    neighborhood_ = mpi::drive(*communicator_, {id_, 0}, conversation, task);
  }
  if (fault) throw *fault;
}

void Graph::tell_neighbours(std::int64_t sequence) noexcept {
  try {
    std::set<int> others(neighborhood_.sources.begin(), neighborhood_.sources.end());
    others.insert(neighborhood_.destinations.begin(), neighborhood_.destinations.end());
    others.insert(neighborhood_.active.begin(), neighborhood_.active.end());
    others.erase(neighborhood_.rank);
    for (const int rank : others) {
      communicator_->mailbox().post({id_, sequence}, mpi::failure_notice, {rank, {}});
    }
  } catch (const Error&) {
    // There is a fault to report already.
  }
}

std::shared_ptr<AgreedPlan> Graph::plan(const Pattern& pattern, const Planner& planner,
                                        const PlanOptions& options, std::optional<Error> fault) {
  const std::int64_t sequence = ++plans_;
  try {
    return agree(communicator_, {id_, sequence}, planner, neighborhood_, pattern, options,
                 std::move(fault));
  } catch (const Error&) {
    tell_neighbours(sequence);
    throw;
  }
}

}  // namespace vicinal

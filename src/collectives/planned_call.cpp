// Binding a kept plan to the buffers of a call.
#include "collectives/planned_call.hpp"

#include <exception>
#include <ostream>

namespace vicinal {

PlannedCall::PlannedCall(std::shared_ptr<mpi::Communicator> communicator,
                         std::shared_ptr<PlanTurn> turn, std::optional<Blocks> blocks)
    : Call(turn->last.lock()),
      communicator_(std::move(communicator)),
      turn_(std::move(turn)),
      blocks_(std::move(blocks)) {}

void PlannedCall::begin() {
  if (!turn_->execution) {
    std::shared_ptr<AgreedPlan> plan;
    try {
      plan = turn_->planning->plan();
    } catch (const std::exception& exception) {
      const Error error = as_error(exception);
      fail(error.fault(), "the plan for calls of this kind could not be made (", error.what(),
           "); make persistent requests, or call on another graph or, for an allgather, on a "
           "duplicate of the communicator");
    }
    mpi::with_memory(
        [&] { turn_->execution = std::make_unique<Execution>(plan, false, turn_->channel); },
        mpi::Meanwhile::nothing);
  }
  if (!blocks_ || blocks_->bytes == 0) {
    // Where blocks have no bytes nothing is due, and whoever expects some must hear of it.
    turn_->execution->start_at_fault();
    blocks_.reset();
    return;
  }
  try {
    Binding binding;
    try {
      binding = bind_buffers();
    } catch (...) {
      turn_->execution->start_at_fault();
      throw;
    }
    turn_->execution->start(binding, Execution::Progress::by_caller);
  } catch (...) {
    refused_ = std::current_exception();
    blocks_.reset();
  }
}

Binding PlannedCall::bind_buffers() {
  Binding binding;
  blocks_->send.pack(communicator_->handle());
  binding.source = blocks_->send.data();
  binding.target = blocks_->receive.data();
  binding.element_bytes = blocks_->bytes;
  return binding;
}

bool PlannedCall::poll(Polls polls) {
  if (!blocks_) {
    if (!turn_->execution->test_idle()) return false;
    if (refused_) std::rethrow_exception(refused_);
    return true;
  }
  if (!turn_->execution->advance(polls)) return false;
  blocks_->receive.unpack(communicator_->handle());
  return true;
}

void PlannedCall::name_what_is_due(std::ostream& out) const {
  // Until it has begun, what its turn executes is an earlier call's.
  if (has_begun() && turn_->execution) {
    turn_->execution->name_awaited(out);
  } else {
    out << "its plan, which waits for ";
    turn_->planning->name_awaited(out);
  }
}

}  // namespace vicinal

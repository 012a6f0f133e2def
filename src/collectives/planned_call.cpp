// Binds a kept plan to the buffers of a call.
#include "collectives/planned_call.hpp"

#include <exception>
#include <ostream>

namespace vicinal {

Chosen KeptPlan::chosen() {
  const Lock lock(mutex_);
  if (!chosen_.plan) {
    chosen_ = chosen_of(planning->plan(), contested_, against_);
    contested_.reset();
  }
  return chosen_;
}

PlannedCall::PlannedCall(std::shared_ptr<mpi::Communicator> communicator,
                         std::shared_ptr<PlanChannel> channel, std::int64_t number,
                         std::optional<Blocks>&& blocks)
    : Call(channel->last.lock()),
      communicator_(std::move(communicator)),
      plan_channel_(std::move(channel)),
      number_(number),
      blocks_(std::move(blocks)) {}

void PlannedCall::begin() {
  if (!plan_channel_->executions) {
    Chosen chosen;
    try {
      chosen = plan_channel_->kept->chosen();
    } catch (const std::exception& exception) {
      const Error error = as_error(exception);
      fail(error.fault(), "the plan for calls of this kind could not be made (", error.what(),
           "); make persistent requests, or call on another graph or, for an allgather, on a "
           "duplicate of the communicator");
    }
    plan_channel_->executions = std::make_unique<Executions>(chosen, false, plan_channel_->channel,
                                                             Executions::Progress::by_caller);
  }
  if (!blocks_ || blocks_->bytes == 0) {
    // No data are due for blocks without bytes. Ranks that expect some must learn of it.
    plan_channel_->executions->start_after_failure(number_);
    blocks_.reset();
    return;
  }
  try {
    Binding binding;
    try {
      binding = bind_buffers();
    } catch (...) {
      plan_channel_->executions->start_after_failure(number_);
      throw;
    }
    plan_channel_->executions->start(binding, number_);
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
    if (!plan_channel_->executions->test_idle()) return false;
    if (refused_) std::rethrow_exception(refused_);
    return true;
  }
  if (!plan_channel_->executions->advance(polls)) return false;
  blocks_->receive.unpack(communicator_->handle());
  return true;
}

void PlannedCall::name_what_is_due(std::ostream& out) const {
  // Until this call has begun, the executions of its channel are those of an earlier call.
  if (has_begun() && plan_channel_->executions) {
    plan_channel_->executions->name_awaited(out);
  } else {
    out << "its plan, which waits for ";
    plan_channel_->kept->planning->name_awaited(out);
  }
}

}  // namespace vicinal

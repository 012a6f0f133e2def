// Binding a plan: its messages as persistent requests, its buffers as memory.
#include "execute/bound_plan.hpp"

#include "base/error.hpp"
#include "base/product.hpp"
#include "plan/strided.hpp"

namespace vicinal {

namespace {

/// The runs of an operation where elements lie in pieces, in units of the binding.
std::vector<CopyRun> spread(const Operation& operation, const Binding& binding) {
  const Index unit = binding.piece_unit;
  const Index in_element = binding.element_bytes / unit;
  const Index in_piece = in_element / binding.pieces;
  // Where piece `piece` of element `element` of a buffer begins, in units.
  const auto place = [&](int buffer, Index element, Index piece) {
    if (buffer == Plan::source) return piece * binding.source_stride / unit + element * in_piece;
    if (buffer == Plan::target) return piece * binding.target_stride / unit + element * in_piece;
    return element * in_element + piece * in_piece;
  };
  std::vector<CopyRun> result;
  for (const CopyRun& run : operation.runs) {
    for (Index i = 0; i < run.count; ++i) {
      for (Index piece = 0; piece < binding.pieces; ++piece) {
        append_run(result, {place(operation.from, run.source + i, piece),
                            place(operation.to, run.target + i, piece), in_piece});
      }
    }
  }
  return result;
}

}  // namespace

BoundPlan::StagedForm::StagedForm(const Plan& original)
    : plan(with_staged_messages(original)), graph(plan) {}

BoundPlan::BoundPlan(std::shared_ptr<mpi::Communicator> communicator, const Plan& plan,
                     const std::vector<std::shared_ptr<SlotHeader>>& headers, int channel)
    : communicator_(std::move(communicator)), channel_(channel), direct_(plan) {
  auto header = headers.begin();
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space != Space::shared) continue;
    if (is_far(buffer)) {
      far_.emplace_back(*communicator_->arena(), buffer.slot, channel);
    } else {
      owned_.emplace_back(*header++, channel);
    }
  }
  take_up(direct_);
}

void BoundPlan::choose_graph(const Binding& binding) {
  const bool strided = binding.pieces > 1;
  if (strided && !staged_) staged_ = std::make_unique<StagedForm>(direct_.plan);
  const CompiledGraph& wanted = strided ? staged_->graph : direct_;
  if (&wanted != graph_) take_up(wanted);
}

void BoundPlan::take_up(const CompiledGraph& graph) {
  std::vector<Copy> copies;
  for (const int number : graph.copies) {
    const Operation& operation = graph.plan.operations[at(number)];
    copies.push_back({operation.from, operation.to, {}});
  }
  std::vector<Reduction> reductions;
  for (const int number : graph.reductions) {
    const Operation& operation = graph.plan.operations[at(number)];
    reductions.push_back({operation.from, operation.to, {}});
  }
  mpi::RequestSet requests(communicator_->handle(), graph.messages.size());
  staging_.assign(at(graph.staging), {});
  copies_ = std::move(copies);
  reductions_ = std::move(reductions);
  requests_ = std::move(requests);
  graph_ = &graph;
  bound_ = std::min(bound_, Bound::slots);
}

void BoundPlan::bind(const Binding& binding, std::int64_t next) {
  Binding same_buffers = binding;
  same_buffers.source = binding_.source;
  same_buffers.target = binding_.target;
  const bool geometry = bound_ != Bound::entirely || !(same_buffers == binding_);
  binding_ = binding;
  bound_ = std::min(bound_, Bound::slots);  // until all of it has succeeded
  if (geometry) bind_geometry(next);
  bind_requests(geometry);
  bound_ = Bound::entirely;
}

void BoundPlan::bind_geometry(std::int64_t next) {
  // Slots depend on the element size alone, which all ranks change together. Strides and operators may
  // change on one rank and not on another, so they must not count as a version.
  const bool renew_slots =
      bound_ == Bound::nothing || binding_.element_bytes != slot_element_bytes_;
  if (renew_slots) bound_ = Bound::nothing;
  slot_element_bytes_ = binding_.element_bytes;
  bind_buffers(renew_slots, next);
  bound_ = Bound::slots;
  compile_steps();
}

void BoundPlan::bind_buffers(bool renew_slots, std::int64_t next) {
  const std::vector<Buffer>& buffers = graph_->plan.buffers;
  // All that is moved lies in these, so that nothing below can be more than can be counted.
  for (const Buffer& buffer : buffers) product(buffer.extent, binding_.element_bytes);
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const Buffer& buffer = buffers[at(i)];
    if (buffer.space == Space::staging) {
      staging_[place(i)].resize(static_cast<std::size_t>(buffer.extent * binding_.element_bytes));
    } else if (buffer.space == Space::shared && renew_slots) {
      if (is_far(buffer)) {
        far_[place(i)].bind(binding_.element_bytes);
      } else {
        owned_[place(i)].bind(next, buffer.extent, binding_.element_bytes);
      }
    }
  }
}

void BoundPlan::compile_steps() {
  const bool strided = binding_.pieces > 1;
  const std::int64_t unit = strided ? binding_.piece_unit : binding_.element_bytes;
  const std::vector<Operation>& operations = graph_->plan.operations;
  const auto runs = [&](const Operation& operation) {
    return strided ? spread(operation, binding_) : operation.runs;
  };
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    copies_[i].runs =
        compile(runs(operations[at(graph_->copies[i])]), static_cast<std::size_t>(unit));
  }
  for (std::size_t i = 0; i < reductions_.size(); ++i) {
    reductions_[i].runs =
        CompiledCombine(runs(operations[at(graph_->reductions[i])]), unit, binding_.combine);
  }
}

void BoundPlan::bind_requests(bool all) {
  // Persistent requests name their memory, so those into the user's buffers may have to be renewed;
  // with another geometry, others too. A set keeps those that name what they named before.
  for (std::size_t i = 0; i < graph_->messages.size(); ++i) {
    const Operation& operation = graph_->operation_of(graph_->messages[i]);
    const bool sends = operation.kind == OperationKind::send;
    const int buffer = sends ? operation.from : operation.to;
    if (!all && buffer != Plan::source && buffer != Plan::target) continue;
    const std::int64_t bytes = operation.count * binding_.element_bytes;
    std::byte* memory = address(buffer) + operation.offset * binding_.element_bytes;
    if (sends) {
      requests_.send_init(i, memory, bytes, operation.peer, tag(operation));
    } else {
      requests_.receive_init(i, memory, bytes, operation.peer, tag(operation));
    }
  }
}

}  // namespace vicinal

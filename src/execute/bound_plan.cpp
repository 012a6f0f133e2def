// Binding a plan: its messages to persistent requests, its buffers to memory.
#include "execute/bound_plan.hpp"

#include <exception>
#include <functional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/runs.hpp"
#include "mpi/device_pointers.hpp"

namespace vicinal {

namespace {

/// Returns the runs of an operation whose elements lie in pieces, in units of the binding.
std::vector<CopyRun> spread(const Operation& operation, std::span<const CopyRun> runs,
                            const Binding& binding) {
  const Index unit = binding.piece_unit;
  const Index in_element = binding.element_bytes / unit;
  const Index in_piece = in_element / binding.pieces;
  // Returns where piece `piece` of element `element` of a buffer begins, in units.
  const auto place = [&](int buffer, Index element, Index piece) {
    if (buffer == Plan::source) return piece * binding.source_stride / unit + element * in_piece;
    if (buffer == Plan::target) return piece * binding.target_stride / unit + element * in_piece;
    return element * in_element + piece * in_piece;
  };
  std::vector<CopyRun> result;
  for (const CopyRun& run : runs) {
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

BoundPlan::BoundPlan(std::shared_ptr<mpi::Communicator> communicator, const Plan& plan,
                     const std::vector<std::shared_ptr<SlotHeader>>& headers, int channel,
                     DeviceChoice choice)
    : communicator_(std::move(communicator)),
      channel_(channel),
      device_choice_(choice),
      direct_(plan) {
  auto header = headers.begin();
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space != Space::shared) continue;
    if (is_far(buffer)) {
      far_.emplace_back(*communicator_->arena(), buffer.slot, channel, buffer.peer_index);
    } else {
      owned_.emplace_back(*header++, channel);
    }
  }
  found_.resize(far_.size());
  take_up(direct_);
}

BoundPlan::~BoundPlan() {
  // Jobs in progress access the slots.
  copies_.clear();
  reductions_.clear();
}

void BoundPlan::leave_far_slots() noexcept {
  for (FarSlot& slot : far_) slot.close();
}

void BoundPlan::choose_graph(const Binding& binding) {
  MemoryKind& source = kind_of(binding.source);
  MemoryKind& target = kind_of(binding.target);
  const bool reachable = source.is_reachable() && target.is_reachable();
  const bool users_operator = binding.combine.user_op != MPI_OP_NULL;
  const bool direct = !reachable && !users_operator && goes_direct(source, target);
  // Slots of other ranks may lie on a GPU even if this rank's buffers do not.
  const bool foreign_operator = users_operator && (!reachable || device_choice_.transport.shared);
  const CompiledGraph* wanted = &direct_;
  if (binding.pieces > 1 || foreign_operator || !(reachable || direct)) {
    auto& form = staged_[foreign_operator ? 1 : 0];
    const Staged what = foreign_operator ? Staged::messages_and_reductions : Staged::messages;
    if (!form) form = std::make_unique<StagedForm>(direct_.plan, what);
    wanted = &form->graph;
  }
  if (wanted != graph_) take_up(*wanted);
  std::vector<bool> on_device =
      lying_on_device(graph_->plan, {!source.is_reachable(), !target.is_reachable()}, direct);
  if (source_kind_ != &source || target_kind_ != &target || on_device_ != on_device) {
    bound_ = std::min(bound_, Bound::slots);
  }
  source_kind_ = &source;
  target_kind_ = &target;
  on_device_ = std::move(on_device);
  gives_device_memory_ = direct;
  launches_ = reachable ? nullptr : &users_kind();
}

/// Returns whether MPI gets addresses in these kinds of memory, without staging.
bool BoundPlan::goes_direct(MemoryKind& source, MemoryKind& target) const {
  if (!device_choice_.transport.direct) return false;
  // Between two devices, it is undefined on which one the staging buffers lie.
  if (&source != &target && !source.is_reachable() && !target.is_reachable()) return false;
  MemoryKind& there = source.is_reachable() ? target : source;
  if (mpi::takes_pointers(*communicator_, there)) return true;
  if (device_choice_.is_asked_for && communicator_->rank() == 0) {
    warn_once("vicinal_device_way is '", device_choice_.transport.name,
              "', but this MPI is not given addresses of ", there.name(),
              " (VICINAL_LOG=info says why): messages go by way of the host's memory");
  }
  return false;
}

MemoryKind& BoundPlan::users_kind() const {
  return source_kind_->is_reachable() ? *target_kind_ : *source_kind_;
}

MemoryKind& BoundPlan::kind_of_buffer(int buffer) const {
  if (buffer == Plan::source) return *source_kind_;
  if (buffer == Plan::target) return *target_kind_;
  if (graph_->buffer(buffer).space != Space::shared) {
    return on_device_[at(buffer)] ? users_kind() : users_kind().staging();
  }
  MemoryKind* const shared =
      is_far(graph_->buffer(buffer)) ? found_[place(buffer)].kind : owned_[place(buffer)].kind();
  return shared != nullptr ? *shared : host_memory();
}

bool BoundPlan::find(int buffer, std::int64_t generation) {
  FarSlot& slot = far_[place(buffer)];
  if (slot.data() != nullptr) return true;
  const Index extent = graph_->buffer(buffer).extent;
  if (slot.find(generation, extent, users_kind()) == nullptr) return false;
  Found& compiled_for = found_[place(buffer)];
  const Found found{slot.kind(), slot.is_lent()};
  if (compiled_for == found) return true;
  const Found before = std::exchange(compiled_for, found);
  try {
    compile_steps(buffer);
  } catch (...) {
    compiled_for = {before.kind, before.is_lent, false};
    slot.forget();
    throw;
  }
  return true;
}

void BoundPlan::take_up(const CompiledGraph& graph) {
  std::vector<Copy> copies;
  for (const int number : graph.copies) {
    const Operation& operation = graph.plan.operations[at(number)];
    copies.push_back({operation.from, operation.to, {}, nullptr});
  }
  std::vector<Reduction> reductions;
  for (const int number : graph.reductions) {
    const Operation& operation = graph.plan.operations[at(number)];
    reductions.push_back({operation.from, operation.to, {}, nullptr});
  }
  mpi::RequestSet requests(communicator_->handle(), graph.messages.size());
  std::vector<MemoryBlock> staging(at(graph.staging));
  copies_ = std::move(copies);
  reductions_ = std::move(reductions);
  staging_ = std::move(staging);
  requests_ = std::move(requests);
  graph_ = &graph;
  bound_ = std::min(bound_, Bound::slots);
}

void BoundPlan::bind(const Binding& binding, std::int64_t next) {
  Binding same_buffers = binding;
  same_buffers.source = binding_.source;
  same_buffers.target = binding_.target;
  const bool geometry = bound_ != Bound::entirely || !(same_buffers == binding_);
  const bool moved = binding.source != binding_.source;
  binding_ = binding;
  bound_ = std::min(bound_, Bound::slots);  // until all of it has succeeded
  if (geometry) {
    bind_geometry(next);
  } else if (moved) {
    lend_anew(next);
  }
  bind_requests(geometry);
  bound_ = Bound::entirely;
}

void BoundPlan::bind_geometry(std::int64_t next) {
  // Slots depend on the element size alone, which all ranks change together. Strides and operators
  // may change on one rank only, so they must not create a new version of a slot.
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
  MemoryKind& users = users_kind();
  const OnDevice users_there{!source_kind_->is_reachable(), !target_kind_->is_reachable()};
  slots_there_ = slots_on_device(graph_->plan, users_there);
  lendable_ = to_be_lent();
  // All other sizes are sums over parts of these buffers, so none of them can overflow.
  for (const Buffer& buffer : buffers) product(buffer.extent, binding_.element_bytes);
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const Buffer& buffer = buffers[at(i)];
    if (buffer.space == Space::staging) {
      const auto bytes = static_cast<std::size_t>(buffer.extent * binding_.element_bytes);
      MemoryBlock& block = staging_[place(i)];
      MemoryKind& kind = on_device_[at(i)] ? users : users.staging();
      if (!block.serves(kind, bytes)) block = MemoryBlock(kind, bytes);
    } else if (buffer.space == Space::shared && !is_far(buffer)) {
      bind_own_slot(i, renew_slots, next);
    } else if (buffer.space == Space::shared && renew_slots) {
      far_[place(i)].bind(binding_.element_bytes);
      found_[place(i)] = {};
    }
  }
  lends_ = std::ranges::any_of(owned_, &OwnedSlot::is_lent);
}

void BoundPlan::bind_own_slot(int buffer, bool renew, std::int64_t next) {
  OwnedSlot& slot = owned_[place(buffer)];
  const bool was_lent = slot.is_lent();
  if (lend(buffer, next) || !(renew || was_lent)) return;
  MemoryKind& users = users_kind();
  const bool shares = device_choice_.transport.shared && users.mpi_name() != nullptr;
  slot.bind(next, graph_->buffer(buffer).extent, binding_.element_bytes,
            {users.is_reachable() ? nullptr : &users, shares && slots_there_[at(buffer)]});
}

bool BoundPlan::lend(int buffer, std::int64_t next) {
  if (!lendable_[at(buffer)]) return false;
  OwnedSlot& slot = owned_[place(buffer)];
  if (!slot.is_told()) slot.tell(lent_in(graph_->plan, buffer));
  return slot.lend(next, binding_.element_bytes, users_kind(), binding_.source);
}

std::vector<bool> BoundPlan::to_be_lent() const {
  const bool may = device_choice_.transport.lent && binding_.pieces <= 1 &&
                   !source_kind_->is_reachable() && source_kind_->mpi_name() != nullptr;
  if (!may) return std::vector<bool>(graph_->plan.buffers.size());
  return lendable_slots(graph_->plan, {true, !target_kind_->is_reachable()});
}

void BoundPlan::lend_anew(std::int64_t next) {
  if (std::ranges::none_of(lendable_, std::identity())) return;
  for (int i = 0; i < static_cast<int>(lendable_.size()); ++i) {
    if (!lendable_[at(i)]) continue;
    const bool before = is_lent(i);
    bind_own_slot(i, false, next);
    if (is_lent(i) != before) compile_steps(i);
  }
  lends_ = std::ranges::any_of(owned_, &OwnedSlot::is_lent);
}

bool BoundPlan::is_lent(int buffer) const {
  const Buffer& it = graph_->buffer(buffer);
  if (it.space != Space::shared) return false;
  return is_far(it) ? found_[place(buffer)].is_lent : owned_[place(buffer)].is_lent();
}

bool BoundPlan::borrows(const CompiledGraph::Node& node) const {
  return is_lent(node.kind == OperationKind::copy ? copies_[at(node.step)].from
                                                  : reductions_[at(node.step)].from);
}

/// Returns the runs of an operation. If it reads memory that another rank exports, they refer to
/// that rank's source.
std::vector<CopyRun> BoundPlan::runs_of(const Operation& operation) const {
  std::vector<CopyRun> runs = is_lent(operation.from)
                                  ? through(far_[place(operation.from)].lent(), operation.runs)
                                  : operation.runs;
  return binding_.pieces > 1 ? spread(operation, runs, binding_) : runs;
}

void BoundPlan::compile_steps(int buffer) {
  const bool strided = binding_.pieces > 1;
  const std::int64_t unit = strided ? binding_.piece_unit : binding_.element_bytes;
  const auto unit_bytes = static_cast<std::size_t>(unit);
  const std::vector<Operation>& operations = graph_->plan.operations;
  const auto concerns = [buffer](const Operation& operation) {
    return buffer < 0 || operation.from == buffer || operation.to == buffer;
  };
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Operation& operation = operations[at(graph_->copies[i])];
    if (!concerns(operation)) continue;
    if (is_lent(operation.to)) {
      copies_[i].job = users_kind().prepare_fence();
      copies_[i].runs = CompiledRuns();
      continue;
    }
    const std::vector<CopyRun> runs = runs_of(operation);
    const Served by = served(operation);
    copies_[i].job = by.kind.prepare_copy(runs, unit_bytes, by.inside);
    copies_[i].runs = copies_[i].job ? CompiledRuns() : compile(runs, unit_bytes);
  }
  const Combine& combine = binding_.combine;
  for (std::size_t i = 0; i < reductions_.size(); ++i) {
    const Operation& operation = operations[at(graph_->reductions[i])];
    if (!concerns(operation)) continue;
    const std::vector<CopyRun> runs = runs_of(operation);
    const Served by = served(operation);
    reductions_[i].job =
        by.kind.prepare_reduction(runs, unit_bytes, combine.op, combine.type, by.inside);
    reductions_[i].runs =
        reductions_[i].job ? CompiledCombine() : CompiledCombine(runs, unit, combine);
  }
}

/// Returns the kind that executes an operation: of the side that the processor does not reach, if
/// any.
BoundPlan::Served BoundPlan::served(const Operation& operation) const {
  MemoryKind& from = kind_of_buffer(operation.from);
  MemoryKind& to = kind_of_buffer(operation.to);
  require(&from == &to || from.is_reachable() || to.is_reachable(), Fault::unsupported,
          "an exchange from ", from.name(), " to ", to.name(),
          " memory is not possible; let one of the buffers lie in the host's");
  MemoryKind& server = from.is_reachable() ? to : from;
  const std::int64_t bytes = product(total(operation.runs), binding_.element_bytes);
  return {server, {server.reaches(from, bytes), server.reaches(to, bytes)}};
}

bool BoundPlan::begin_reduction(int step) {
  const Reduction& reduction = reductions_[at(step)];
  std::byte* const from = address(reduction.from);
  std::byte* const to = address(reduction.to);
  if (reduction.job) return reduction.job->begin(from, to);
  reduction.runs.run(from, to);
  return true;
}

void BoundPlan::bind_requests(bool all) {
  // Persistent requests contain addresses. So requests on the user's buffers may need renewal, and
  // with a new geometry all may. A set keeps requests whose arguments are unchanged.
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

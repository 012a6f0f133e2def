// The set-up side of a channel: the plan's graph as counters, its messages as persistent requests, its
// buffers as memory.
#include <algorithm>
#include <array>
#include <ostream>
#include <set>

#include "base/error.hpp"
#include "base/product.hpp"
#include "execute/channel.hpp"
#include "plan/strided.hpp"

namespace vicinal {

namespace {

bool is_message(const Operation& operation) {
  return operation.kind == OperationKind::send || operation.kind == OperationKind::receive;
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Channel::Channel(std::shared_ptr<mpi::Communicator> communicator, const Plan& plan,
                 const std::vector<std::shared_ptr<SlotHeader>>& headers, int index)
    : communicator_(std::move(communicator)), original_(plan), plan_(&plan), index_(index) {
  auto header = headers.begin();
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space == Space::shared && buffer.peer_index < 0) {
      owned_.emplace_back(*header++, index);
    } else if (buffer.space == Space::shared) {
      far_.emplace_back(*communicator_->arena(), buffer.slot, index);
    }
  }
  use_plan(false);
}

void Channel::use_plan(bool strided) {
  if (strided && !staged_) staged_ = std::make_unique<Plan>(with_staged_messages(original_));
  plan_ = strided ? staged_.get() : &original_;
  slot_of_.clear();
  int staging = 0, owned = 0, far = 0;
  for (const Buffer& buffer : plan_->buffers) {
    if (buffer.space == Space::staging) {
      slot_of_.push_back(staging++);
    } else if (buffer.space == Space::shared) {
      slot_of_.push_back(buffer.peer_index < 0 ? owned++ : far++);
    } else {
      slot_of_.push_back(-1);
    }
  }
  staging_.assign(at(staging), {});
  place_requests();
  compile_graph();
}

void Channel::place_requests() {
  message_table_.clear();
  std::vector<bool> awaited(plan_->operations.size());
  for (const Operation& operation : plan_->operations) {
    for (const int before : operation.after) awaited[at(before)] = true;
  }
  // linked later, linked at once, unlinked at once, unlinked later
  std::array<std::vector<Message>, 4> groups;
  for (int i = 0; i < static_cast<int>(plan_->operations.size()); ++i) {
    const Operation& operation = plan_->operations[at(i)];
    if (!is_message(operation)) continue;
    const bool at_once = operation.after.empty();
    groups[awaited[at(i)] ? (at_once ? 1U : 0U) : (at_once ? 2U : 3U)].push_back({i, -1});
  }
  for (const auto& group : groups) {
    // Receives first, so that messages find their place.
    for (const OperationKind kind : {OperationKind::receive, OperationKind::send}) {
      for (const Message& message : group) {
        if (plan_->operations[at(message.plan_operation)].kind == kind) {
          message_table_.push_back(message);
        }
      }
    }
  }
  linked_later_ = static_cast<int>(groups[0].size());
  linked_ = linked_later_ + static_cast<int>(groups[1].size());
  at_once_ = static_cast<int>(groups[1].size() + groups[2].size());
  unlinked_later_ = static_cast<int>(groups[3].size());
  completed_.resize(at(linked_));
  unlinked_receives_.clear();
  for (int i = linked_; i < static_cast<int>(message_table_.size()); ++i) {
    const Operation& operation = operation_of(i);
    if (operation.kind == OperationKind::receive) {
      unlinked_receives_.push_back({i, operation.count});
    }
  }
  requests_ = mpi::RequestSet(communicator_->handle(), message_table_.size());
}

void Channel::compile_graph() {
  for (auto* list : {&successors_, &initial_, &remaining_at_start_}) list->clear();
  operations_.clear();
  copies_.clear();
  reductions_.clear();
  // Messages that stand alone are no nodes: they are started together and tested together.
  std::vector<int> node_of(plan_->operations.size(), -1);
  std::vector<int> request_of(plan_->operations.size(), -1);
  for (int i = 0; i < static_cast<int>(message_table_.size()); ++i) {
    request_of[at(message_table_[at(i)].plan_operation)] = i;
  }
  for (int i = 0; i < static_cast<int>(plan_->operations.size()); ++i) {
    const Operation& operation = plan_->operations[at(i)];
    const int request = request_of[at(i)];
    const bool alone = request >= linked_ && request < linked_later_ + at_once_;
    if (alone) continue;
    node_of[at(i)] = static_cast<int>(operations_.size());
    Node node;
    node.kind = operation.kind;
    node.plan_operation = i;
    node.predecessors = static_cast<int>(operation.after.size());
    if (request >= 0) {
      node.step = request;
      message_table_[at(request)].node = node_of[at(i)];
    } else if (operation.kind == OperationKind::copy) {
      node.step = static_cast<int>(copies_.size());
      copies_.push_back({operation.from, operation.to, {}});
    } else if (operation.kind == OperationKind::reduce) {
      node.step = static_cast<int>(reductions_.size());
      reductions_.push_back({operation.from, operation.to, {}});
    } else {
      node.buffer = operation.from;
      node.flag = operation.flag;
      node.lag = operation.lag;
    }
    operations_.push_back(node);
  }

  std::vector<std::vector<int>> successors(operations_.size());
  for (std::size_t i = 0; i < plan_->operations.size(); ++i) {
    for (const int before : plan_->operations[i].after) {
      successors[at(node_of[at(before)])].push_back(node_of[i]);
    }
  }
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    Node& node = operations_[i];
    node.first_successor = static_cast<int>(successors_.size());
    // The ready list is a stack: the last in is begun first.
    successors_.insert(successors_.end(), successors[i].rbegin(), successors[i].rend());
    node.last_successor = static_cast<int>(successors_.size());
    remaining_at_start_.push_back(node.predecessors);
    const bool message = node.kind == OperationKind::send || node.kind == OperationKind::receive;
    if (node.predecessors == 0 && !message) initial_.push_back(static_cast<int>(i));
  }
  remaining_.resize(operations_.size());
  failed_by_.assign(operations_.size(), 0);
  ready_.reserve(operations_.size());
  awaits_.reserve(operations_.size());
}

void Channel::bind(const Binding& binding) {
  require(!in_flight_, Fault::request, "a plan was bound to other buffers while it executes");
  if (bound_ && binding == binding_) return;
  Binding same_buffers = binding;
  same_buffers.source = binding_.source;
  same_buffers.target = binding_.target;
  const bool geometry = !bound_ || !(same_buffers == binding_);
  binding_ = binding;
  bound_ = false;  // until all of it has succeeded
  if (geometry) bind_geometry(binding);
  bind_requests(geometry);
  bound_ = true;
}

void Channel::bind_geometry(const Binding& binding) {
  // Slots depend on the element size alone, which all ranks change together. Strides and operators may
  // change on one rank and not on another, so they must not count as a version.
  const bool renew_slots = !slots_bound_ || binding.element_bytes != slot_element_bytes_;
  if (renew_slots) slots_bound_ = false;  // until all of them are
  slot_element_bytes_ = binding.element_bytes;
  const bool strided = binding.pieces > 1;
  if (strided != (plan_ != &original_)) use_plan(strided);
  // All that is moved lies in these, so that nothing below can be more than can be counted.
  for (const Buffer& buffer : plan_->buffers) product(buffer.extent, binding.element_bytes);
  for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
    const Buffer& buffer = plan_->buffers[i];
    const auto slot = at(slot_of_[i]);
    if (buffer.space == Space::staging) {
      staging_[slot].resize(static_cast<std::size_t>(buffer.extent * binding.element_bytes));
    } else if (buffer.space == Space::shared && renew_slots) {
      if (buffer.peer_index < 0) {
        owned_[slot].bind(generation_ + 1, buffer.extent, binding.element_bytes);
      } else {
        far_[slot].bind(binding.element_bytes);
      }
    }
  }
  slots_bound_ = true;
  for (const Node& node : operations_) {
    const Operation& operation = plan_->operations[at(node.plan_operation)];
    if (node.kind == OperationKind::copy) {
      copies_[at(node.step)].runs =
          strided ? compile(spread(operation), static_cast<std::size_t>(binding.piece_unit))
                  : compile(operation.runs, static_cast<std::size_t>(binding.element_bytes));
    } else if (node.kind == OperationKind::reduce) {
      reductions_[at(node.step)].runs =
          strided ? CompiledCombine(spread(operation), binding.piece_unit, binding.combine)
                  : CompiledCombine(operation.runs, binding.element_bytes, binding.combine);
    }
  }
}

std::vector<CopyRun> Channel::spread(const Operation& operation) const {
  const Index unit = binding_.piece_unit;
  const Index in_element = binding_.element_bytes / unit;
  const Index in_piece = in_element / binding_.pieces;
  // Where piece `piece` of element `element` of a buffer begins, in units.
  const auto place = [&](int buffer, Index element, Index piece) {
    if (buffer == Plan::source) return piece * binding_.source_stride / unit + element * in_piece;
    if (buffer == Plan::target) return piece * binding_.target_stride / unit + element * in_piece;
    return element * in_element + piece * in_piece;
  };
  std::vector<CopyRun> result;
  for (const CopyRun& run : operation.runs) {
    for (Index i = 0; i < run.count; ++i) {
      for (Index piece = 0; piece < binding_.pieces; ++piece) {
        append_run(result, {place(operation.from, run.source + i, piece),
                            place(operation.to, run.target + i, piece), in_piece});
      }
    }
  }
  return result;
}

void Channel::bind_requests(bool all) {
  // Persistent requests name their memory, so those into the user's buffers may have to be renewed;
  // with another geometry, others too. A set keeps those that name what they named before.
  for (std::size_t i = 0; i < message_table_.size(); ++i) {
    const Operation& operation = plan_->operations[at(message_table_[i].plan_operation)];
    const bool sends = operation.kind == OperationKind::send;
    const int buffer = sends ? operation.from : operation.to;
    if (!all && buffer != Plan::source && buffer != Plan::target) continue;
    const std::int64_t bytes = operation.count * binding_.element_bytes;
    std::byte* memory = address(buffer) + operation.offset * binding_.element_bytes;
    const int tag = data_tag(operation);
    if (sends) {
      requests_.send_init(i, memory, bytes, operation.peer, tag);
    } else {
      requests_.receive_init(i, memory, bytes, operation.peer, tag);
    }
  }
}

void Channel::name_awaited(std::ostream& out) const {
  std::set<int> ranks;
  const auto add = [&](int plan_operation) {
    const Operation& operation = plan_->operations[at(plan_operation)];
    if (operation.kind == OperationKind::await) {
      const Buffer& buffer = plan_->buffers[at(operation.from)];
      if (buffer.peer_index >= 0) ranks.insert(buffer.owner);
    } else {
      ranks.insert(operation.peer);
    }
  };
  for (const int node : awaits_) add(operations_[at(node)].plan_operation);
  const bool messages = awaits_.empty() || linked_active_ > 0;
  for (std::size_t i = 0; messages && i < message_table_.size(); ++i) {
    if (!requests_.is_complete(i)) add(message_table_[i].plan_operation);
  }
  if (ranks.empty()) {
    out << ", in which this rank's host mates hand over their share";
    return;
  }
  out << (ranks.size() > 1 ? ", with ranks" : ", with rank");
  for (const int rank : ranks) out << ' ' << rank;
}

void Channel::describe_pending(std::ostream& out) const {
  const auto line = [&](int plan_operation) {
    const Operation& operation = plan_->operations[at(plan_operation)];
    out << "  operation " << plan_operation << ": " << name(operation.kind) << " ("
        << name(operation.phase) << ")";
    if (operation.peer >= 0) {
      out << (operation.kind == OperationKind::send ? " to rank " : " from rank ") << operation.peer
          << ", " << operation.count << " elements";
    }
    if (operation.kind == OperationKind::await) {
      const Buffer& buffer = plan_->buffers[at(operation.from)];
      out << " flag " << operation.flag << " of rank " << buffer.owner << "'s slot " << buffer.slot;
    }
    out << "\n";
  };
  for (const int node : awaits_) line(operations_[at(node)].plan_operation);
  for (const mpi::Stray& stray : strays_) out << "  a message from rank " << stray.source() << "\n";
  if (at_fault_ || (linked_active_ == 0 && unfinished_ > 0)) return;
  for (const Message& message : message_table_) line(message.plan_operation);
}

}  // namespace vicinal

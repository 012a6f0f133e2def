// A compiled plan bound to memory: staging, this rank's slots and those of others, copies and reductions
// compiled for the element size, persistent requests. It is compiled once per geometry (element size, kinds
// of memory); binding it to other buffers of the same geometry renews the requests that point into them, and what of them is lent.
//
// Where the user's buffers lie is asked once, when they are bound. What is moved between them and the plan's own
// memory goes by jobs of their kind, and by messages only through staging where MPI does not reach
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "execute/binding.hpp"
#include "execute/slots.hpp"
#include "memory/kernels.hpp"
#include "memory/kind.hpp"
#include "mpi/communicator.hpp"
#include "mpi/requests.hpp"
#include "plan/compiled_graph.hpp"
#include "plan/placement.hpp"
#include "plan/staged.hpp"

namespace vicinal {

class BoundPlan {
 public:
  /// `headers` are this rank's own slots, in the order of the plan's owned shared buffers; `choice` says how buffers
  /// in a GPU's memory are moved, where MPI can do it so.
  BoundPlan(std::shared_ptr<mpi::Communicator> communicator, const Plan& plan,
            const std::vector<std::shared_ptr<SlotHeader>>& headers, int channel,
            DeviceChoice choice);
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;
  ~BoundPlan();

  [[nodiscard]] bool is_bound_to(const Binding& binding) const {
    return bound_ == Bound::entirely && binding == binding_;
  }
  /// Takes up the form of the plan that buffers like these need.
  void choose_graph(const Binding& binding);
  /// Set-up for executions from number `next` on, with the graph chosen for this binding.
  void bind(const Binding& binding, std::int64_t next);

  [[nodiscard]] const CompiledGraph& graph() const { return *graph_; }
  [[nodiscard]] const mpi::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] std::int64_t element_bytes() const { return binding_.element_bytes; }
  [[nodiscard]] Events* events() const { return binding_.events.get(); }
  [[nodiscard]] int tag(const Operation& operation) const {
    return mpi::Communicator::data_tag(operation.tag, channel_, graph_->plan.reverse);
  }

  /// Waits for streams of the user's whose data MPI reads by itself.
  void await_streams() const {
    if (gives_device_memory_) users_kind().await_followed();
  }

  /// Of the graph's messages.
  [[nodiscard]] mpi::RequestSet& requests() { return requests_; }
  [[nodiscard]] const mpi::RequestSet& requests() const { return requests_; }
  [[nodiscard]] std::vector<OwnedSlot>& owned_slots() { return owned_; }
  [[nodiscard]] std::vector<FarSlot>& far_slots() { return far_; }
  /// Slots of other ranks are let go of for good.
  void leave_far_slots() noexcept;
  /// Whether it is known where the data of another rank's slot lie in this execution; the steps that touch them are
  /// ready then. Throws what FarSlot::find does, and what making ready does.
  bool find(int buffer, std::int64_t generation);
  /// The slot that a shared buffer is, null where it is this rank's own.
  [[nodiscard]] FarSlot* far_slot(int buffer) {
    return is_far(graph_->buffer(buffer)) ? &far_[place(buffer)] : nullptr;
  }
  /// Whether nobody reads the source any more that was lent in this execution, if it was.
  [[nodiscard]] bool has_back(std::int64_t generation) const {
    if (!lends_) return true;
    return std::ranges::all_of(owned_,
                               [&](const OwnedSlot& slot) { return slot.is_back(generation); });
  }
  /// The area that a signal of its owner's tells of; 0 for those of peers.
  [[nodiscard]] std::int64_t area(const CompiledGraph::Node& node) const {
    return is_far(graph_->buffer(node.buffer)) ? 0 : owned_[place(node.buffer)].area();
  }
  /// Whether a copy or reduction that has not finished reads what another rank lends.
  [[nodiscard]] bool borrows(const CompiledGraph::Node& node) const;
  [[nodiscard]] Flag& flag(const CompiledGraph::Node& node) {
    FarSlot* const slot = far_slot(node.buffer);
    return slot != nullptr ? slot->flag(node.flag) : owned_[place(node.buffer)].flag(node.flag);
  }

  // The copies and reductions of the graph.

  /// Begins one; whether it has finished at once.
  bool begin(const CompiledGraph::Node& node) {
    if (node.kind == OperationKind::reduce) return begin_reduction(node.step);
    const Copy& copy = copies_[at(node.step)];
    if (copy.job) return copy.job->begin(address(copy.from), address(copy.to));
    run(copy.runs, address(copy.from), address(copy.to));
    return true;
  }
  /// Has all that were begun go on.
  void launch() {
    if (launches_ != nullptr) launches_->launch();
  }
  /// That of one which has not.
  [[nodiscard]] MemoryJob& job(const CompiledGraph::Node& node) {
    return node.kind == OperationKind::copy ? *copies_[at(node.step)].job
                                            : *reductions_[at(node.step)].job;
  }

 private:
  struct Copy {
    int from = -1;
    int to = -1;
    CompiledRuns runs;
    std::unique_ptr<MemoryJob> job;  ///< in the place of the runs
  };
  struct Reduction {
    int from = -1;
    int to = -1;
    CompiledCombine runs;
    std::unique_ptr<MemoryJob> job;
  };
  struct StagedForm {
    StagedForm(const Plan& original, Staged what)
        : plan(with_staged(original, what)), graph(plan) {}
    Plan plan;
    CompiledGraph graph;
  };
  struct Served {
    MemoryKind& kind;
    Sides inside;
  };
  /// What the steps of another rank's slot are compiled for.
  struct Found {
    MemoryKind* kind = nullptr;  ///< null for the host's
    bool is_lent = false;
    bool is_whole = true;  ///< not one where making them ready has failed half way
    friend bool operator==(const Found&, const Found&) = default;
  };
  enum class Bound : std::uint8_t { nothing, slots, entirely };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t place(int buffer) const { return at(graph_->place[at(buffer)]); }
  [[nodiscard]] std::byte* address(int buffer) const {
    switch (graph_->buffer(buffer).space) {
      // A plan never writes to its source; the copy kernels take one pointer type for both sides.
      case Space::source: return const_cast<std::byte*>(binding_.source);
      case Space::target: return binding_.target;
      case Space::staging: return staging_[place(buffer)].data();
      case Space::shared: break;
    }
    return is_far(graph_->buffer(buffer)) ? far_[place(buffer)].data()
                                          : owned_[place(buffer)].data();
  }
  bool begin_reduction(int step);
  [[nodiscard]] bool goes_direct(MemoryKind& source, MemoryKind& target) const;
  void take_up(const CompiledGraph& graph);
  /// That of the user's buffers which MPI does not reach, if any.
  [[nodiscard]] MemoryKind& users_kind() const;
  /// Where its elements lie.
  [[nodiscard]] MemoryKind& kind_of_buffer(int buffer) const;
  [[nodiscard]] Served served(const Operation& operation) const;
  void bind_geometry(std::int64_t next);
  void bind_buffers(bool renew_slots, std::int64_t next);
  /// Lends the source in its place, if that can be; else the slot gets an area, where it has none or is to have another one.
  void bind_own_slot(int buffer, bool renew, std::int64_t next);
  /// Has the source lent in the place of a slot of this rank's, if it can be.
  bool lend(int buffer, std::int64_t next);
  /// The source lies elsewhere: so do the slots in whose place it is lent.
  void lend_anew(std::int64_t next);
  /// By buffer of the graph, whether the source is to be lent in its place.
  [[nodiscard]] std::vector<bool> to_be_lent() const;
  [[nodiscard]] bool is_lent(int buffer) const;
  [[nodiscard]] std::vector<CopyRun> runs_of(const Operation& operation) const;
  /// All, or those that touch a buffer.
  void compile_steps(int buffer = -1);
  void bind_requests(bool all);

  std::shared_ptr<mpi::Communicator> communicator_;
  int channel_;
  DeviceChoice device_choice_;
  CompiledGraph direct_;
  std::array<std::unique_ptr<StagedForm>, 2> staged_;  ///< each made when first needed
  const CompiledGraph* graph_ = nullptr;

  Binding binding_;
  Bound bound_ = Bound::nothing;  ///< what of it holds
  std::int64_t slot_element_bytes_ = 0;
  MemoryKind* source_kind_ = &host_memory();
  MemoryKind* target_kind_ = &host_memory();
  bool gives_device_memory_ = false;  ///< to MPI
  MemoryKind* launches_ = nullptr;    ///< whose jobs the steps are, null where they are none
  std::vector<bool> on_device_;       ///< by buffer of the graph
  std::vector<bool> slots_there_;     ///< of this rank's
  std::vector<bool> lendable_;        ///< the same, those in whose place the source may be lent
  bool lends_ = false;                ///< any

  std::vector<MemoryBlock> staging_;
  std::vector<OwnedSlot> owned_;
  std::vector<FarSlot> far_;
  std::vector<Found> found_;  ///< by far slot
  // Destroyed before what they may be moving.
  std::vector<Copy> copies_;
  std::vector<Reduction> reductions_;
  mpi::RequestSet requests_;
};

}  // namespace vicinal

// A compiled plan bound to memory: staging buffers, slots of this rank and of other ranks, compiled
// copies and reductions, persistent requests. It is compiled once per geometry (element size, kinds
// of memory). Binding it to other buffers of the same geometry renews only the requests on them,
// and their export.
//
// bind() determines once in which kinds of memory the user's buffers lie. Jobs of these kinds move
// data between them and the plan's own memory. Messages use staging buffers where MPI does not
// reach them.
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

namespace vicinal {

class BoundPlan {
 public:
  /// `headers`: this rank's own slots, in the order of the plan's owned shared buffers. `choice`:
  /// the transport for buffers in GPU memory, where MPI supports it.
  BoundPlan(std::shared_ptr<mpi::Communicator> communicator, const Plan& plan,
            const std::vector<std::shared_ptr<SlotHeader>>& headers, int channel,
            DeviceChoice choice);
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;
  ~BoundPlan();

  [[nodiscard]] bool is_bound_to(const Binding& binding) const {
    return bound_ == Bound::entirely && binding == binding_;
  }
  /// Chooses the form of the plan (direct or staged) that these buffers need.
  void choose_graph(const Binding& binding);
  /// Sets up executions from number `next` on, with the graph chosen for this binding.
  void bind(const Binding& binding, std::int64_t next);

  [[nodiscard]] const CompiledGraph& graph() const { return *graph_; }
  [[nodiscard]] const mpi::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] std::int64_t element_bytes() const { return binding_.element_bytes; }
  [[nodiscard]] Events* events() const { return binding_.events.get(); }
  [[nodiscard]] int tag(const Operation& operation) const {
    return mpi::Communicator::data_tag(operation.tag, channel_, graph_->plan.reverse);
  }

  /// Waits for the user's streams before MPI reads their data directly.
  void await_streams() const {
    if (gives_device_memory_) users_kind().await_followed();
  }

  /// Requests of the graph's messages.
  [[nodiscard]] mpi::RequestSet& requests() { return requests_; }
  [[nodiscard]] const mpi::RequestSet& requests() const { return requests_; }
  [[nodiscard]] std::vector<OwnedSlot>& owned_slots() { return owned_; }
  [[nodiscard]] std::vector<FarSlot>& far_slots() { return far_; }
  /// Closes all slots of other ranks for good.
  void leave_far_slots() noexcept;
  /// Returns whether the location of the data in another rank's slot is known for this execution.
  /// The steps that access the slot are compiled then. Throws as FarSlot::find(), and as compiling
  /// does.
  bool find(int buffer, std::int64_t generation);
  /// Returns the slot of a shared buffer; null if this rank owns it.
  [[nodiscard]] FarSlot* far_slot(int buffer) {
    return is_far(graph_->buffer(buffer)) ? &far_[place(buffer)] : nullptr;
  }
  /// Returns whether peers have finished reading the source that this execution exported, if it
  /// did.
  [[nodiscard]] bool has_back(std::int64_t generation) const {
    if (!lends_) return true;
    return std::ranges::all_of(owned_,
                               [&](const OwnedSlot& slot) { return slot.is_back(generation); });
  }
  /// Returns the area that the owner's signal names; 0 for signals of peers.
  [[nodiscard]] std::int64_t area(const CompiledGraph::Node& node) const {
    return is_far(graph_->buffer(node.buffer)) ? 0 : owned_[place(node.buffer)].area();
  }
  /// Returns whether an unfinished copy or reduction reads the source that another rank exports.
  [[nodiscard]] bool borrows(const CompiledGraph::Node& node) const;
  [[nodiscard]] Flag& flag(const CompiledGraph::Node& node) {
    FarSlot* const slot = far_slot(node.buffer);
    return slot != nullptr ? slot->flag(node.flag) : owned_[place(node.buffer)].flag(node.flag);
  }

  // Copies and reductions of the graph.

  /// Begins one; returns whether it has finished at once.
  bool begin(const CompiledGraph::Node& node) {
    if (node.kind == OperationKind::reduce) return begin_reduction(node.step);
    const Copy& copy = copies_[at(node.step)];
    if (copy.job) return copy.job->begin(address(copy.from), address(copy.to));
    run(copy.runs, address(copy.from), address(copy.to));
    return true;
  }
  /// Launches the jobs that were begun.
  void launch() {
    if (launches_ != nullptr) launches_->launch();
  }
  /// Returns the job of a copy or reduction that has not finished at once.
  [[nodiscard]] MemoryJob& job(const CompiledGraph::Node& node) {
    return node.kind == OperationKind::copy ? *copies_[at(node.step)].job
                                            : *reductions_[at(node.step)].job;
  }

 private:
  struct Copy {
    int from = -1;
    int to = -1;
    CompiledRuns runs;
    std::unique_ptr<MemoryJob> job;  ///< if set, used in place of the runs
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
  /// The kind of memory for which the steps on another rank's slot are compiled.
  struct Found {
    MemoryKind* kind = nullptr;  ///< null for host memory
    bool is_lent = false;
    bool is_whole = true;  ///< false if compiling the steps failed midway
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
  /// Returns the kind of that user buffer which MPI does not reach, if any.
  [[nodiscard]] MemoryKind& users_kind() const;
  /// Returns the kind of memory in which the buffer's elements lie.
  [[nodiscard]] MemoryKind& kind_of_buffer(int buffer) const;
  [[nodiscard]] Served served(const Operation& operation) const;
  void bind_geometry(std::int64_t next);
  void bind_buffers(bool renew_slots, std::int64_t next);
  /// Exports the source in place of the slot if possible. Otherwise allocates an area if the slot
  /// has none, or needs another one.
  void bind_own_slot(int buffer, bool renew, std::int64_t next);
  /// Exports the source in place of one of this rank's slots; returns false if that is not
  /// possible.
  bool lend(int buffer, std::int64_t next);
  /// Exports the source at its new address, in place of the same slots.
  void lend_anew(std::int64_t next);
  /// Returns, for each buffer of the graph, whether to export the source in its place.
  [[nodiscard]] std::vector<bool> to_be_lent() const;
  [[nodiscard]] bool is_lent(int buffer) const;
  [[nodiscard]] std::vector<CopyRun> runs_of(const Operation& operation) const;
  /// Compiles all steps, or those that access `buffer`.
  void compile_steps(int buffer = -1);
  void bind_requests(bool all);

  std::shared_ptr<mpi::Communicator> communicator_;
  int channel_;
  DeviceChoice device_choice_;
  CompiledGraph direct_;
  std::array<std::unique_ptr<StagedForm>, 2> staged_;  ///< created on first use
  const CompiledGraph* graph_ = nullptr;

  Binding binding_;
  Bound bound_ = Bound::nothing;  ///< the part of binding_ that holds
  std::int64_t slot_element_bytes_ = 0;
  MemoryKind* source_kind_ = &host_memory();
  MemoryKind* target_kind_ = &host_memory();
  bool gives_device_memory_ = false;  ///< passes GPU addresses to MPI
  MemoryKind* launches_ = nullptr;    ///< kind whose jobs are the steps; null if there are none
  std::vector<bool> on_device_;       ///< by buffer of the graph
  std::vector<bool> slots_there_;     ///< this rank's slots in GPU memory
  std::vector<bool> lendable_;        ///< slots in whose place the source may be exported
  bool lends_ = false;                ///< whether the source is exported for any slot

  std::vector<MemoryBlock> staging_;
  std::vector<OwnedSlot> owned_;
  std::vector<FarSlot> far_;
  std::vector<Found> found_;  ///< by slot of another rank
  // Destroyed before the memory that they may access.
  std::vector<Copy> copies_;
  std::vector<Reduction> reductions_;
  mpi::RequestSet requests_;
};

}  // namespace vicinal

// A channel is what one execution of a plan in flight needs: staging memory, requests, shared areas
// and the counters of the operation graph. It is compiled once per geometry (element size); binding it
// to other buffers of the same geometry only renews the requests that point into them.
//
// The run side is `start` and `poll`: they allocate nothing, search nothing, and make no MPI call
// that set-up could have made.
//
// A rank whose call has failed executes all the same, at fault: it awaits, signals and acknowledges as
// ever, but hands nothing over; it sends its messages at once, empty, and throws away what comes. Whoever gets
// nothing where something was due hands on nothing in its turn. So a fault reaches those whose data
// depend on it and nobody else, every rank comes to its end, and all are in step for the next execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "execute/combine.hpp"
#include "execute/slots.hpp"
#include "memory/kernels.hpp"
#include "mpi/communicator.hpp"
#include "mpi/messages.hpp"
#include "mpi/requests.hpp"
#include "plan/plan.hpp"

namespace vicinal {

/// What a plan is made concrete with.
struct Binding {
  const std::byte* source = nullptr;  ///< user's memory, read during an execution
  std::byte* target = nullptr;        ///< user's memory, written during an execution
  std::int64_t element_bytes = 1;     ///< of all that moves for one element of the plan
  Combine combine;                    ///< for reverse plans

  // Several vectors exchanged together: an element is `pieces` pieces of element_bytes / pieces bytes,
  // and in the user's buffers piece v lies v * stride bytes further on.
  Index pieces = 1;
  std::int64_t piece_unit = 1;  ///< a size that divides pieces and strides, for the copy kernels
  std::int64_t source_stride = 0;
  std::int64_t target_stride = 0;

  friend bool operator==(const Binding&, const Binding&) = default;
};

class Channel {
 public:
  /// `headers` are this rank's own slots, in the order of the plan's owned shared buffers.
  Channel(std::shared_ptr<mpi::Communicator> communicator, const Plan& plan,
          const std::vector<std::shared_ptr<SlotHeader>>& headers, int index);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Set-up for the next executions; cheap where nothing has changed. Not while one is in flight.
  void bind(const Binding& binding);

  /// Begins an execution. Never waits for another rank.
  void start();
  /// Begins one in which this rank takes part for the others' sake only: see above. Needs no binding.
  void start_at_fault();
  /// Does what can be done now; true once the execution is complete.
  bool poll();
  [[nodiscard]] bool in_flight() const { return in_flight_; }
  [[nodiscard]] bool at_fault() const { return in_flight_ && at_fault_; }
  /// Whether the next poll calls MPI.
  [[nodiscard]] bool tests_messages() const {
    return linked_active_ > 0 || !strays_.empty() || unfinished_ == 0;
  }
  /// Why the last execution has not brought all that was due; empty where it has.
  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }
  /// Leaves an execution that will never be complete: nothing is written to the user's memory from now
  /// on. The channel stays in flight, since messages into its own memory may still arrive.
  void abandon();
  /// Whether other ranks may depend on this rank's polling.
  [[nodiscard]] bool relays() const { return !operations_.empty(); }

  /// Writes what the execution still waits for, one line each.
  void describe_pending(std::ostream& out) const;
  /// Goes on with a sentence: " from ranks 3 5", whom it waits for as far as it knows.
  void name_awaited(std::ostream& out) const;

 private:
  struct Node {
    OperationKind kind{};
    int step = -1;    ///< position among the steps of its kind, or its request
    int buffer = -1;  ///< signal and await: the shared buffer
    int flag = -1;
    int lag = 0;
    int predecessors = 0;
    int first_successor = 0;
    int last_successor = 0;
    int plan_operation = -1;
  };
  struct Copy {
    int from = -1;
    int to = -1;
    CompiledRuns runs;
  };
  struct Reduction {
    int from = -1;
    int to = -1;
    CompiledCombine runs;
  };

  void use_plan(bool strided);
  void compile_graph();
  [[nodiscard]] std::vector<CopyRun> spread(const Operation& operation) const;
  void place_requests();
  void bind_geometry(const Binding& binding);
  void bind_requests(bool all);
  [[nodiscard]] std::byte* address(int buffer) const;
  [[nodiscard]] Flag& flag_of(const Node& node);
  [[nodiscard]] bool is_far(int buffer) const {
    return plan_->buffers[static_cast<std::size_t>(buffer)].peer_index >= 0;
  }
  void begin_execution();
  void begin(int node);
  void begin_message(int node);
  void send_nothing(const Operation& operation);
  [[nodiscard]] bool is_satisfied(int node);
  void complete(int node);
  void run_ready();
  void poll_linked();
  [[nodiscard]] bool poll_unlinked();

  [[nodiscard]] const Operation& operation_of(int request) const {
    const auto number = message_table_[static_cast<std::size_t>(request)].plan_operation;
    return plan_->operations[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] int data_tag(const Operation& operation) const {
    return mpi::Communicator::data_tag(operation.tag, index_, plan_->reverse);
  }
  /// Whose fault it is that an operation has nothing to hand on, or -1.
  [[nodiscard]] int culprit(int node) const;
  /// What the operation was to deliver, and all that depends on it, is missing.
  void mark_failed(int node, int origin);
  /// The rank whose fault it is that a message has not brought what was due, or -1.
  int check_arrival(int request, std::int64_t bytes);
  void note(const Error& fault) {
    if (!fault_) fault_ = fault;
  }
  void note_missing(int buffer, int origin);

  std::shared_ptr<mpi::Communicator> communicator_;
  const Plan& original_;
  std::unique_ptr<Plan> staged_;  ///< for strided buffers, made when first needed
  const Plan* plan_;
  int index_;
  Binding binding_;
  bool bound_ = false;
  std::int64_t slot_element_bytes_ = 0;
  bool slots_bound_ = false;
  std::int64_t generation_ = 0;  ///< of the last execution begun: the same on all ranks
  bool in_flight_ = false;
  bool at_fault_ = false;  ///< this execution is for the others' sake
  std::optional<Error> fault_;

  // Buffers.
  std::vector<std::vector<std::byte>> staging_;
  std::vector<int> slot_of_;  ///< by buffer: position among owned_ or far_
  std::vector<OwnedSlot> owned_;
  std::vector<FarSlot> far_;
  bool announced_ = true;

  // The graph, without the messages that neither wait for nor are waited for by anything.
  std::vector<Node> operations_;
  std::vector<int> successors_;
  std::vector<int> initial_;    ///< other than initial requests, in plan order
  std::vector<int> remaining_;  ///< predecessors still missing
  std::vector<int> remaining_at_start_;
  std::vector<int> ready_;   ///< a stack
  std::vector<int> awaits_;  ///< begun and not yet satisfied
  std::vector<Copy> copies_;
  std::vector<Reduction> reductions_;
  std::size_t unfinished_ = 0;
  std::vector<int>
      failed_by_;  ///< by node: 1 + the rank whose fault it is that its data are missing
  bool any_failed_ = false;

  // Messages, in four groups: linked ones (something waits for them) that begin later, linked ones
  // that begin at once, unlinked ones that begin at once, unlinked ones that begin later.
  struct Message {
    int plan_operation = -1;
    int node = -1;
  };
  std::vector<Message> message_table_;
  int linked_ = 0;
  int linked_later_ = 0;
  int at_once_ = 0;
  int unlinked_later_ = 0;
  mpi::RequestSet requests_;
  std::vector<int> completed_;
  struct Due {
    int request = -1;
    Index count = 0;
  };
  std::vector<Due> unlinked_receives_;
  int linked_active_ = 0;
  int unlinked_to_begin_ = 0;

  std::vector<mpi::Stray> strays_;  ///< what comes for an execution at fault
};

}  // namespace vicinal

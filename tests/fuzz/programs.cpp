// Random programs of MPI's own functions, for the preload library. Each thread runs steps on its
// own communicators. All ranks agree on a step: the communicator it makes or frees, the call it
// makes, the requests it completes. Each rank chooses the functions that complete requests, and
// their order, and tests requests between steps. Such a program is correct: blocking calls have the
// same order on all ranks, and a rank waits only for operations begun by all.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "families.hpp"
#include "foreign.hpp"
#include "mpi_completion.hpp"
#include "neighbor_call.hpp"
#include "plans.hpp"
#include "topologies.hpp"

namespace fuzz {
namespace {

/// A request of the script. Ranks outside its communicator also have one, which is always settled.
struct Scripted {
  std::unique_ptr<NeighborCall> call;            ///< null: a foreign call
  std::function<void(const MPI_Status*)> check;  ///< of a foreign call
  Node* node = nullptr;
  MPI_Request request = MPI_REQUEST_NULL;
  bool persistent = false;
  bool in_flight = false;
  bool settled = true;     ///< this rank has found it complete
  bool uses_comm = false;  ///< MPI may use the communicator's handle after the start
  int executions = 0;
};

class Program {
 public:
  Program(Trial& whole, int thread, MPI_Comm base) : trial_(whole, thread), thread_(thread) {
    nodes_.push_back(std::make_unique<Node>());
    nodes_.back()->take(base, Node::Kind::plain, 0, Wiring());
  }

  /// Makes all communicators in advance, so that threads make none.
  void prepare() {
    report_errors_to(trial_);
    constexpr int most = 5;
    for (int i = 0; i < most; ++i) {
      number_ = thread_ * 100 + 90 + i;
      trial_.begin_step(number_);
      make();
    }
    prepared_ = true;
  }

  void run() {
    report_errors_to(trial_);
    const int first = thread_ * 100;
    for (number_ = first; number_ < first + trial_.options().steps; ++number_) {
      if (!trial_.options().skipped.contains(number_)) step();
    }
    trial_.begin_step(number_);
    end();
  }

  [[nodiscard]] const Trial& trial() const { return trial_; }

 private:
  enum class Action { make, call, start, complete, foreign, free_node, free_requests };

  void step() {
    trial_.begin_step(number_);
    Random& common = trial_.common();
    const int drawn = common.below(100);
    Action action = drawn < 14   ? Action::make
                    : drawn < 54 ? Action::call
                    : drawn < 62 ? Action::start
                    : drawn < 74 ? Action::complete
                    : drawn < 91 ? Action::foreign
                    : drawn < 97 ? Action::free_node
                                 : Action::free_requests;
    constexpr int most_nodes = 8;
    constexpr int most_in_flight = 12;
    if (nodes_.size() == 1) action = Action::make;
    if (action == Action::make && nodes_.size() >= most_nodes) action = Action::free_node;
    if (prepared_ && action == Action::make) action = Action::call;
    if (in_flight() >= most_in_flight) action = Action::complete;
    switch (action) {
      case Action::make: make(); break;
      case Action::call: call(); break;
      case Action::start: start(); break;
      case Action::complete: complete(); break;
      case Action::foreign: foreign(); break;
      case Action::free_node: free_node(); break;
      case Action::free_requests: free_requests(); break;
    }
    if (trial_.own().chance(20)) look();
  }

  template <class... Parts>
  void note(const Parts&... parts) {
    trial_.note("step ", number_, ": ", parts...);
  }

  [[nodiscard]] std::size_t in_flight() const {
    return at(std::count_if(requests_.begin(), requests_.end(),
                            [](const auto& each) { return each->in_flight; }));
  }

  [[nodiscard]] int number_of(const Node& node) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].get() == &node) return static_cast<int>(i);
    }
    return -1;
  }

  /// Returns a communicator; one with a topology if requested and present.
  Node& random_node(bool with_topology) {
    std::vector<Node*> list;
    for (const auto& each : nodes_) {
      const bool fits = !with_topology || each->kind != Node::Kind::plain;
      if (fits) list.push_back(each.get());
    }
    return list.empty() ? *nodes_.front() : *trial_.common().pick(list);
  }

  Scripted& add(Node& node) {
    requests_.push_back(std::make_unique<Scripted>());
    requests_.back()->node = &node;
    return *requests_.back();
  }

  void make() {
    Node& parent = random_node(trial_.common().chance(50));
    const NodeChoice choice = choose_node(trial_.common(), parent.kind);
    Node& made = *nodes_.emplace_back(std::make_unique<Node>());
    made.kind = choice.kind;
    note("communicator ", nodes_.size() - 1, " from ", number_of(parent));
    if (parent.is_member()) make_node(trial_, choice, parent, made);
  }

  /// Makes one call of a tested collective, or several with the same sizes.
  void call() {
    Random& common = trial_.common();
    Node& node = random_node(common.chance(85));
    const bool whole = node.kind == Node::Kind::plain || common.chance(15);
    const auto form = static_cast<Form>(common.below(VICINAL_FUZZ_PERSISTENT != 0 ? 3 : 2));
    const bool persistent = form == Form::persistent;
    const int times = persistent || common.chance(80) ? 1 : common.between(3, 12);
    const bool starts = persistent && common.chance(50);
    const Random choices = common;
    for (int iteration = 0; iteration < times; ++iteration) {
      // Only members draw further choices.
      common = choices;
      Scripted& scripted = add(node);
      scripted.persistent = persistent;
      scripted.in_flight = !persistent && form != Form::blocking;
      if (node.is_member()) make_call(scripted, whole, form, iteration);
      if (form == Form::blocking) requests_.pop_back();
    }
    next_call_ += rounds;
    if (starts) begin({requests_.back().get()});
  }

  void make_call(Scripted& scripted, bool whole, Form form, int iteration) {
    Node& node = *scripted.node;
    const TestedGraph& graph = whole ? node.whole : node.near;
    CallPlan plan = random_plan(trial_, graph, next_call_);
    plan.number += static_cast<std::uint64_t>(node.colour % 64 * rounds + iteration);
    plan.form = form;
    plan.wrong = Wrong::nothing;
    avoid_faults_of_mpi(plan, graph);
    scripted.call = std::make_unique<NeighborCall>(trial_, graph, node.rank, std::move(plan));
    NeighborCall& call = *scripted.call;
    note(call.text(), " on communicator ", number_of(node));
    call.fill(0);
    call.returned(call.call_by_mpi(&scripted.request), "the call");
    scripted.uses_comm = whole || !is_preloaded();
    if (frees_types(form, whole)) call.release_types();
    if (form == Form::blocking) call.check();
    if (form == Form::nonblocking) scripted.settled = false;
  }

  /// Returns whether to free a call's datatypes while it may use them. Open MPI uses them in
  /// MPI_Start() and in later rounds of an algorithm.
  [[nodiscard]] bool frees_types([[maybe_unused]] Form form, [[maybe_unused]] bool whole) {
    const bool wanted = trial_.options().free_types && trial_.own().chance(50);
#ifdef OPEN_MPI
    return wanted && (form == Form::blocking || (form == Form::nonblocking && !whole));
#else
    return wanted;
#endif
  }

  /// Starts persistent requests in an order that this rank chooses, one by one or together.
  void begin(std::vector<Scripted*> due) {
    trial_.own().shuffle(due);
    std::vector<MPI_Request> requests;
    std::vector<Scripted*> mine;
    for (Scripted* each : due) {
      each->in_flight = true;
      ++each->executions;
      if (!each->node->is_member()) continue;
      each->call->fill(each->executions - 1);
      each->settled = false;
      mine.push_back(each);
      requests.push_back(each->request);
    }
    if (mine.empty()) return;
    note("starts ", mine.size());
    if (trial_.own().chance(50)) {
      trial_.succeeds(MPI_Startall(static_cast<int>(requests.size()), requests.data()),
                      "MPI_Startall");
    } else {
      for (MPI_Request& request : requests) {
        trial_.succeeds(MPI_Start(&request), "MPI_Start");
      }
    }
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i]->request = requests[i];
  }

  void start() {
    std::vector<Scripted*> due;
    for (const auto& each : requests_) {
      const bool idle = each->persistent && !each->in_flight && !each->node->freed;
      if (idle && each->executions < rounds && trial_.common().chance(60))
        due.push_back(each.get());
    }
    begin(std::move(due));
  }

  /// Returns this rank's requests that it has not found complete yet.
  std::vector<MpiInFlight> unsettled(const std::vector<Scripted*>& among) {
    std::vector<MpiInFlight> list;
    for (Scripted* each : among) {
      if (each->settled) continue;
      list.push_back({&each->request,
                      [this, each](int code, const char* by, const MPI_Status* status) {
                        settle(*each, code, by, status);
                      },
                      each->persistent});
    }
    return list;
  }

  void settle(Scripted& each, int code, const char* by, const MPI_Status* status) {
    each.settled = true;
    const bool kept = each.request != MPI_REQUEST_NULL;
    if (kept != each.persistent) trial_.fail(by, kept ? " keeps" : " frees", " the request");
    if (each.call) {
      each.call->returned(code, by);
      each.call->check();
    } else if (trial_.succeeds(code, by) && each.check) {
      each.check(status);
    }
  }

  /// Tests requests in flight, without blocking.
  void look() {
    std::vector<Scripted*> some;
    for (const auto& each : requests_) {
      if (each->in_flight && trial_.own().chance(70)) some.push_back(each.get());
    }
    std::vector<MpiInFlight> list = unsettled(some);
    look_by_mpi(trial_, list);
  }

  /// Completes the requests that the script chooses.
  void complete() {
    const int percent = trial_.common().chance(40) ? 100 : 50;
    std::vector<Scripted*> chosen;
    for (const auto& each : requests_) {
      if (each->in_flight && trial_.common().chance(percent)) chosen.push_back(each.get());
    }
    note("completes ", chosen.size());
    complete_by_mpi(trial_, unsettled(chosen));
    for (Scripted* each : chosen) each->in_flight = false;
    std::erase_if(requests_,
                  [](const auto& each) { return !each->persistent && !each->in_flight; });
  }

  void foreign() {
    Node& node = random_node(trial_.common().chance(50));
    // Every foreign call has the same number of requests, also on ranks that are not members.
    constexpr int most = 2;
    std::vector<Errand> errands;
    if (node.is_member()) {
      note("on communicator ", number_of(node));
      call_foreign(trial_, node.comm, {number_, in_flight() > 0, !prepared_}, errands);
    }
    errands.resize(most);
    for (Errand& errand : errands) {
      Scripted& scripted = add(node);
      scripted.in_flight = true;
      scripted.request = errand.request;
      scripted.check = std::move(errand.check);
      scripted.uses_comm = errand.is_collective;
      scripted.settled = scripted.request == MPI_REQUEST_NULL;
    }
  }

  /// Frees a communicator; pending operations on it still complete.
  void free_node() {
    if (nodes_.size() == 1) return;
    const auto chosen = at(trial_.common().between(1, static_cast<int>(nodes_.size()) - 1));
    Node& node = *nodes_[chosen];
    note("frees communicator ", chosen);
#ifdef OPEN_MPI
    // Open MPI 5.0.11 crashes in collectives whose communicator is freed before their last round.
    std::vector<Scripted*> pending;
    for (const auto& each : requests_) {
      if (each->node == &node && each->uses_comm) pending.push_back(each.get());
    }
    complete_by_mpi(trial_, unsettled(pending));
#endif
    node.free();
    // Checks of operations in flight still need its wiring.
    freed_.push_back(std::move(nodes_[chosen]));
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }

  void free_requests() {
    note("frees idle requests");
    std::erase_if(requests_, [this](const auto& each) {
      if (!each->persistent || each->in_flight || trial_.common().chance(40)) return false;
      if (each->request != MPI_REQUEST_NULL) {
        trial_.succeeds(MPI_Request_free(&each->request), "MPI_Request_free");
      }
      return true;
    });
  }

  /// Completes and frees everything; communicators before or after.
  void end() {
    const bool communicators_first = trial_.common().chance(50);
    note("the end");
    for (std::size_t i = nodes_.size(); communicators_first && i > 1; --i) free_node();
    while (in_flight() > 0) complete();
    while (!requests_.empty()) free_requests();
    while (nodes_.size() > 1) free_node();
    nodes_.front()->free();
  }

  Trial trial_;
  int thread_;
  int number_ = 0;  ///< of the step
  bool prepared_ = false;
  std::vector<std::unique_ptr<Node>> nodes_, freed_;
  std::vector<std::unique_ptr<Scripted>> requests_;
  std::uint64_t next_call_ = static_cast<std::uint64_t>(thread_) * 20000 + rounds;
};

}  // namespace

void run_programs(Trial& trial) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  const int drawn = trial.common().between(1, 3);
  const int count = level == MPI_THREAD_MULTIPLE ? std::min(drawn, trial.options().threads) : 1;
  trial.note(count, " threads");
  std::vector<std::unique_ptr<Program>> programs;
  for (int thread = 0; thread < count; ++thread) {
    MPI_Comm base = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &base);
    programs.push_back(std::make_unique<Program>(trial, thread, base));
#ifdef OPEN_MPI
    // Open MPI 5.0.11 hangs if two threads make communicators, each from its own.
    if (count > 1) programs.back()->prepare();
#endif
  }
  std::vector<std::thread> others;
  for (int thread = 1; thread < count; ++thread) {
    others.emplace_back([&program = *programs[at(thread)]] { program.run(); });
  }
  programs.front()->run();
  for (std::thread& each : others) each.join();
  for (const auto& program : programs) trial.add_part(program->trial());
}

}  // namespace fuzz

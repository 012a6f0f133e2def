// Random programs of neighborhood collectives. All ranks of a team follow one script. For each
// phase, it names the graphs, calls and starts, and the operations that are complete at its end.
// Each rank chooses when in a phase it starts a persistent request, in which order, and how it
// completes requests. No choice causes a deadlock: within a phase, blocking calls have the same
// order on all ranks. All ranks begin the operations that a phase completes before they wait.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>

#include "completion.hpp"
#include "families.hpp"
#include "neighbor_call.hpp"
#include "plans.hpp"
#include "wiring.hpp"

namespace fuzz {
namespace {

/// A call in a form that has a request. Each rank has one, even if it does not participate.
struct Running {
  std::unique_ptr<NeighborCall> call;
  std::size_t graph = 0;
  vicinal_request request = VICINAL_REQUEST_NULL;
  bool persistent = false;
  bool joins = true;       ///< whether this rank participates; optional without neighbors
  bool in_flight = false;  ///< according to the script
  bool settled = false;    ///< this rank has found it complete
  int executions = 0;
};

class NeighborhoodProgram {
 public:
  /// Kind of the graphs that are made besides the added ones.
  enum class Graphs { any, without_mpi, complete };
  NeighborhoodProgram(Trial& trial, std::array<Team*, 2> teams, Graphs graphs)
      : trial_(trial), teams_(teams), kind_(graphs) {}

  void add(TestedGraph graph) { graphs_.push_back(std::move(graph)); }

  void run() {
    Random& common = trial_.common();
    if (graphs_.empty()) add_graph();
    const int phases = common.between(1, 5);
    for (int phase = 0; phase < phases; ++phase) {
      trial_.note("phase ", phase);
      if (graphs_.size() < 4 && common.chance(35)) add_graph();
      run_phase();
      if (common.chance(15)) free_graph();
    }
    finish(true);
    free_everything();
  }

 private:
  [[nodiscard]] int rank() const { return teams_[0]->rank(); }

  Settings settings_for(int ranks) {
    const bool all = kind_ == Graphs::complete;
    return all ? random_settings_of_all(trial_.common(), ranks)
               : random_settings(trial_.common(), ranks);
  }

  void add_graph() {
    const Team& team = *teams_[trial_.common().chance(30) ? 1 : 0];
    const Settings settings = settings_for(team.size());
    if (kind_ == Graphs::complete) {
      const bool as_communicator = trial_.common().chance(60);
      graphs_.push_back(make_complete(trial_, team, settings, as_communicator));
    } else {
      graphs_.push_back(make_graph(trial_, team, settings, kind_ == Graphs::without_mpi));
    }
  }

  void begin_call() {
    Random& common = trial_.common();
    const auto number = static_cast<std::size_t>(common.below(static_cast<int>(graphs_.size())));
    TestedGraph& graph = graphs_[number];
    CallPlan plan = random_plan(trial_, graph, next_call_);
    next_call_ += rounds;
    Settings settings;
    if (plan.form == Form::persistent && common.chance(50)) {
      settings = settings_for(teams_[0]->size());
      // A plan uses the regions of its graph.
      std::erase_if(settings, [](const auto& each) { return each.first == "vicinal_regions"; });
    }
    if (graph.graph == VICINAL_GRAPH_NULL && graph.whole == MPI_COMM_NULL) return;
    auto made = std::make_unique<Running>();
    Running& each = *made;
    each.graph = number;
    each.persistent = plan.form == Form::persistent;
    each.joins = graph.wiring.touches(rank()) || trial_.own().chance(50);
    each.call = std::make_unique<NeighborCall>(trial_, graph, rank(), plan);
    NeighborCall& call = *each.call;
    trial_.note(call.text(), " on graph ", number, settings.empty() ? "" : text_of(settings),
                each.joins ? "" : ", not joined");
    call.fill(0);
    if (!each.persistent) refer(each);
    if (each.joins) {
      const Info info(settings);
      call.returned(call.call(info.get(), &each.request), "the call");
      if (trial_.options().free_types) call.release_types();
    }
    if (plan.form == Form::blocking) {
      if (each.joins) call.check();
      return;
    }
    if (each.persistent && plan.wrong != Wrong::nothing) {
      if (each.joins) call.check_refused();
      free_request(each);
      return;
    }
    each.in_flight = !each.persistent;
    each.settled = !each.joins;
    running_.push_back(std::move(made));
  }

  void refer(Running& each) {
    const CallPlan& plan = each.call->plan();
    const TestedGraph& graph = graphs_[each.graph];
    // Open MPI returns at once from a call with a count of 0, but not from one with an empty
    // datatype. So ranks of one kind would wait forever for the other. It also chooses an
    // allgather's algorithm by the size of the rank's own datatype.
    const bool risky = plan.may_be_empty || (graph.whole != MPI_COMM_NULL && plan.derived);
    // A communicator may be freed before its requests.
    const bool here = graph.reference != MPI_COMM_NULL ||
                      (graph.whole != MPI_COMM_NULL && !freeing_ && plan.number % 32 == 0);
    if (here && !risky && plan.wrong == Wrong::nothing) each.call->refer();
  }

  void free_request(Running& each) {
    trial_.succeeds(vicinal_request_free(&each.request), "vicinal_request_free");
  }

  /// Returns whether the script starts a request in this phase.
  bool becomes_due(Running& each) {
    if (!each.persistent || each.in_flight || each.executions == rounds) return false;
    if (!trial_.common().chance(60)) return false;
    each.call->fill(each.executions++);
    refer(each);
    each.in_flight = true;
    return each.joins;
  }

  /// Starts some of the due requests, in this rank's order.
  void start_some(std::vector<Running*>& due, int percent) {
    trial_.own().shuffle(due);
    while (!due.empty() && trial_.own().chance(percent)) {
      Running& each = *due.back();
      due.pop_back();
      trial_.note("starts call ", each.call->plan().number);
      each.settled = false;
      // A start that fails is complete.
      const int code = vicinal_start(&each.request);
      each.call->returned(code, "vicinal_start");
      if (code != MPI_SUCCESS) settle(each);
    }
  }

  void settle(Running& each) {
    each.settled = true;
    each.call->check();
  }

  [[nodiscard]] std::vector<InFlight> unsettled(const std::vector<Running*>& among) {
    std::vector<InFlight> list;
    for (Running* each : among) {
      if (each->settled) continue;
      list.push_back({&each->request,
                      [this, each](int code, const char* by) {
                        each->call->returned(code, by);
                        settle(*each);
                      },
                      each->call->plan().wrong != Wrong::nothing, !each->persistent});
    }
    return list;
  }

  void run_phase() {
    std::vector<Running*> due;
    for (const auto& each : running_) {
      if (becomes_due(*each)) due.push_back(each.get());
    }
    const int steps = trial_.common().between(1, 6);
    for (int step = 0; step < steps; ++step) {
      start_some(due, 40);
      if (trial_.own().chance(20)) test_now(due);
      const std::size_t before = running_.size();
      begin_call();
      if (running_.size() > before && becomes_due(*running_.back())) {
        due.push_back(running_.back().get());
      }
    }
    start_some(due, 100);
    finish(trial_.common().chance(60));
  }

  /// Tests the requests in flight on this rank, without blocking.
  void test_now(const std::vector<Running*>& due) {
    std::vector<Running*> begun;
    for (const auto& each : running_) {
      const bool waits = std::find(due.begin(), due.end(), each.get()) != due.end();
      if (each->in_flight && each->joins && !waits) begun.push_back(each.get());
    }
    std::vector<InFlight> list = unsettled(begun);
    test_some(trial_, list);
  }

  /// Waits for all requests in flight, or for those that the script chooses.
  void finish(bool all) {
    std::vector<Running*> chosen;
    for (const auto& each : running_) {
      if (each->in_flight && (all || trial_.common().chance(50))) chosen.push_back(each.get());
    }
    complete_all(trial_, unsettled(chosen));
    for (Running* each : chosen) each->in_flight = false;
    for (auto& each : running_) {
      const bool over = !each->persistent || trial_.common().chance(15);
      if (each->in_flight || !over) continue;
      free_request(*each);
      each.reset();
    }
    std::erase(running_, nullptr);
  }

  void free_graph() {
    TestedGraph& graph =
        graphs_[static_cast<std::size_t>(trial_.common().below(static_cast<int>(graphs_.size())))];
    trial_.note("frees a graph");
    trial_.succeeds(vicinal_graph_free(&graph.graph), "vicinal_graph_free");
  }

  /// Frees in any order; requests outlive graphs and communicators, and can still be started.
  void free_everything() {
    freeing_ = true;
    Random& common = trial_.common();
    std::vector<int> order{0, 1, 2, 3};
    common.shuffle(order);
    for (const int what : order) {
      trial_.note("frees ", what == 0 ? "graphs" : what == 1 ? "requests" : "a communicator");
      if (what == 0) {
        for (TestedGraph& graph : graphs_) {
          trial_.succeeds(vicinal_graph_free(&graph.graph), "vicinal_graph_free");
        }
      } else if (what == 1) {
        for (const auto& each : running_) free_request(*each);
        running_.clear();
      } else {
        teams_[what == 2 ? 0U : 1U]->free();
      }
      if (running_.empty() || !common.chance(30)) continue;
      std::vector<Running*> due;
      for (const auto& each : running_) {
        if (becomes_due(*each)) due.push_back(each.get());
      }
      start_some(due, 100);
      finish(true);
    }
  }

  Trial& trial_;
  std::array<Team*, 2> teams_;
  Graphs kind_;
  bool freeing_ = false;
  std::deque<TestedGraph> graphs_;
  std::vector<std::unique_ptr<Running>> running_;
  std::uint64_t next_call_ = rounds;
};

}  // namespace

void run_neighborhood(Trial& trial) {
  Team team(make_comm(trial));
  if (!trial.common().chance(15)) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(team.comm(), &copy);
    Team second(copy);
    NeighborhoodProgram(trial, {&team, &second}, NeighborhoodProgram::Graphs::any).run();
    return;
  }
  TestedGraph graph;
  const Settings settings = random_settings(trial.common(), 1);
  const MPI_Comm grid = make_cartesian(trial, team, graph.wiring);
  if (grid == MPI_COMM_NULL) return;
  Team cells(grid);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(grid, &copy);
  Team second(copy);
  Settings with_regions = settings;
  std::erase_if(with_regions, [](const auto& each) { return each.first == "vicinal_regions"; });
  with_regions.emplace_back("vicinal_regions", random_regions(trial.common(), cells.size()));
  trial.note("graph: ", graph.wiring.text, text_of(with_regions));
  const Info info(with_regions);
  trial.succeeds(vicinal_graph_create_from_topology(grid, info.get(), &graph.graph), "creation");
  NeighborhoodProgram program(trial, {&cells, &second}, NeighborhoodProgram::Graphs::without_mpi);
  program.add(std::move(graph));
  program.run();
}

void run_over_all(Trial& trial) {
  Team team(make_comm(trial));
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(team.comm(), &copy);
  Team second(copy);
  for (const Team* each : {&team, &second}) {
    if (!trial.common().chance(80)) continue;
    const std::string regions = random_regions(trial.common(), team.size());
    trial.note("regions ", regions);
    trial.succeeds(vicinal_set_regions(each->comm(), regions.c_str()), "vicinal_set_regions");
  }
  NeighborhoodProgram(trial, {&team, &second}, NeighborhoodProgram::Graphs::complete).run();
}

}  // namespace fuzz

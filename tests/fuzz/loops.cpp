// Calls in loops: exchanges on a graph, repeated until they get plans and replans. Their sizes stay
// constant, alternate, grow, jump or change on one edge. Several calls are in flight; now and then
// one fails. Calls use vicinal's names, or MPI's with the preload library. In the second case,
// ranks may also wait for each other in MPI while exchanges are in flight.
#include <algorithm>
#include <deque>
#include <memory>

#include "completion.hpp"
#include "families.hpp"
#include "mpi_completion.hpp"
#include "neighbor_call.hpp"
#include "plans.hpp"
#include "wiring.hpp"

namespace fuzz {
namespace {

constexpr std::uint64_t largest_loop = 1000;

/// Law by which the sizes of a loop follow from the iteration number.
enum class Law { constant, in_turn, one_edge, growing, jumping, random };
constexpr const char* law_names[] = {"constant", "in turn", "on one edge",
                                     "growing",  "jumping", "random"};

/// Constant parameters of a loop.
struct Loop {
  Op op = Op::alltoallv;
  Law law = Law::constant;
  int unit = 0;
  int most = 6;
  bool derived = false;
  std::uint64_t number = 0;  ///< of the messages of its first iteration; each iteration adds one
};

Loop random_loop(Trial& trial, std::uint64_t number) {
  Random& common = trial.common();
  Loop loop;
  // Calls with counts have their own protocol.
  loop.op = common.chance(75)
                ? common.pick(std::vector<Op>{Op::alltoallv, Op::alltoallw, Op::allgatherv})
                : common.pick(std::vector<Op>{Op::alltoall, Op::allgather});
  loop.law = static_cast<Law>(common.below(static_cast<int>(std::size(law_names))));
  loop.unit = common.below(Layout::kinds);
  const int sizes = common.below(20);
  loop.most = sizes < 12 ? 6 : sizes < 19 ? 400 : 70000;
  loop.derived = !has_equal_blocks(loop.op) && common.chance(40);
  loop.number = number;
  return loop;
}

/// Returns the units of an edge in an iteration; of all edges for equal blocks.
int units_of(const Loop& loop, int rank, int edge, int iteration) {
  const int alike = has_equal_blocks(loop.op) ? 1 : 0;
  if (alike != 0 || gathers(loop.op)) edge = 0;
  if (alike != 0) rank = 0;
  const auto drawn = [&](int which) {
    const auto place =
        static_cast<std::uint64_t>(rank * 1000 + edge) * 100 + static_cast<std::uint64_t>(which);
    const std::uint64_t value = scrambled(scrambled(loop.number + 5) ^ place);
    // neighborhood.cpp tests equal blocks without data.
    if (alike == 0 && value % 6 == 0) return 0;
    return 1 + static_cast<int>(value / 8 % static_cast<std::uint64_t>(loop.most));
  };
  const int always = drawn(0);
  int units = always;
  switch (loop.law) {
    case Law::constant: break;
    case Law::in_turn: units = drawn(iteration % 2); break;
    case Law::one_edge: units = edge == 0 && rank == 0 ? drawn(iteration) : always; break;
    case Law::growing: units = always + always * iteration / 16; break;
    case Law::jumping: units = iteration / 11 % 2 == 0 ? always : 5 * always + 1; break;
    case Law::random: units = drawn(iteration); break;
  }
  return loop.derived ? (units + units_at_once - 1) / units_at_once * units_at_once : units;
}

/// An iteration of a loop, in flight or complete.
struct Iteration {
  std::unique_ptr<NeighborCall> call;
  vicinal_request request = VICINAL_REQUEST_NULL;
  MPI_Request of_mpi = MPI_REQUEST_NULL;
  bool joins = true;
};

/// The API under whose names calls are made.
enum class Names { vicinal, mpi };

class LoopProgram {
 public:
  LoopProgram(Trial& trial, const Team& team, Names names, TestedGraph graph)
      : trial_(trial), team_(team), names_(names), graph_(std::move(graph)) {}

  void run() {
    Random& common = trial_.common();
    const int count = common.between(1, 3);
    for (int i = 0; i < count; ++i) {
      loops_.push_back(random_loop(trial_, largest_loop * static_cast<std::uint64_t>(i + 1)));
      const Loop& loop = loops_.back();
      trial_.note("loop ", i, ": sizes ", law_names[static_cast<int>(loop.law)], " up to ",
                  loop.most);
    }
    // Replans begin with calls 4, 12 and 28.
    const int iterations = common.between(8, 40);
    const int depth = common.pick(std::vector<int>{0, 1, 2, 4, 9});
    for (int iteration = 0; iteration < iterations; ++iteration) {
      for (const Loop& loop : loops_) {
        if (common.chance(90)) begin(loop, iteration);
        if (names_ == Names::mpi && common.chance(5)) wait_in_mpi();
        while (static_cast<int>(flight_.size()) > depth) finish(common.chance(30));
      }
    }
    // Calls in flight outlive their graph. With communicators, some MPIs do not support that.
    if (names_ == Names::vicinal && common.chance(30)) free_graph();
    while (!flight_.empty()) finish(true);
    free_graph();
  }

 private:
  void begin(const Loop& loop, int iteration) {
    Random& common = trial_.common();
    CallPlan plan;
    plan.op = loop.op;
    plan.form = common.chance(50) ? Form::blocking : Form::nonblocking;
    plan.unit = loop.unit;
    plan.derived = loop.derived;
    plan.number = loop.number + static_cast<std::uint64_t>(iteration);
    plan.units = [loop, iteration](int rank, int edge) {
      return units_of(loop, rank, edge, iteration);
    };
    // MPI leaves the effect on other ranks undefined.
    if (names_ == Names::vicinal && trial_.options().faults && common.chance(3)) {
      plan.failed_rank = common.below(graph_.wiring.size());
      choose_fault(plan, graph_.wiring, common.below(2));
    }
    auto made = std::make_unique<Iteration>();
    made->joins =
        graph_.wiring.touches(team_.rank()) || names_ == Names::mpi || trial_.own().chance(50);
    const bool blocks = plan.form == Form::blocking;
    made->call = std::make_unique<NeighborCall>(trial_, graph_, team_.rank(), std::move(plan));
    NeighborCall& call = *made->call;
    trial_.note(call.text(), made->joins ? "" : ", not joined");
    call.fill(0);
    if (made->joins) make(*made);
    if (!blocks) {
      flight_.push_back(std::move(made));
    } else if (made->joins) {
      call.check();
    }
  }

  void make(Iteration& iteration) {
    NeighborCall& call = *iteration.call;
    const int code = names_ == Names::vicinal ? call.call(MPI_INFO_NULL, &iteration.request)
                                              : call.call_by_mpi(&iteration.of_mpi);
    call.returned(code, "the call");
    if (trial_.options().free_types && trial_.own().chance(50)) call.release_types();
  }

  /// All ranks wait for all or for one of them, outside vicinal.
  void wait_in_mpi() {
    trial_.note("waits in MPI");
    int sum = 1;
    if (trial_.common().chance(50)) {
      MPI_Barrier(team_.comm());
    } else {
      MPI_Bcast(&sum, 1, MPI_INT, trial_.common().below(team_.size()), team_.comm());
    }
  }

  /// Completes the oldest iterations, or all: alike on all participating ranks that need each
  /// other.
  void finish(bool all) {
    const std::size_t count = all ? flight_.size() : (flight_.size() + 1) / 2;
    std::vector<std::unique_ptr<Iteration>> chosen;
    for (std::size_t i = 0; i < count; ++i) {
      if (flight_.front()->joins) chosen.push_back(std::move(flight_.front()));
      flight_.pop_front();
    }
    if (names_ == Names::vicinal) {
      std::vector<InFlight> requests;
      for (const auto& iteration : chosen) {
        requests.push_back({&iteration->request,
                            [&call = *iteration->call](int code, const char* by) {
                              call.returned(code, by);
                              call.check();
                            },
                            iteration->call->plan().wrong != Wrong::nothing, true});
      }
      complete_all(trial_, std::move(requests));
    } else {
      std::vector<MpiInFlight> requests;
      for (const auto& iteration : chosen) {
        requests.push_back({&iteration->of_mpi, [&call = *iteration->call](int code, const char* by,
                                                                           const MPI_Status*) {
                              call.returned(code, by);
                              call.check();
                            }});
      }
      complete_by_mpi(trial_, std::move(requests));
    }
  }

  void free_graph() {
    trial_.note("frees the graph");
    graph_.free_reference();
    trial_.succeeds(vicinal_graph_free(&graph_.graph), "vicinal_graph_free");
  }

  Trial& trial_;
  const Team& team_;
  Names names_;
  TestedGraph graph_;
  std::vector<Loop> loops_;
  std::deque<std::unique_ptr<Iteration>> flight_;
};

}  // namespace

void run_loops(Trial& trial) {
  const Team team(make_comm(trial));
  const Settings settings = random_settings(trial.common(), team.size());
  LoopProgram(trial, team, Names::vicinal, make_graph(trial, team, settings, true)).run();
}

void run_unmodified(Trial& trial) {
  const Team team(make_comm(trial));
  const Settings settings = random_settings(trial.common(), team.size());
  LoopProgram(trial, team, Names::mpi, make_graph_of_mpi(trial, team, settings)).run();
}

}  // namespace fuzz

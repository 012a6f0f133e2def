// Runs a planner's coroutine step by step. A failed rank keeps participating in the comparison.
// While the ranks negotiate, the comparison finds out whether a rank has a fault and whether all
// counts agree. If they agree, little can still go wrong, and a rank that has a plan is done.
// Otherwise all ranks of a component agree at the end whether all have a plan. After any other
// failure a rank sends a notice to its neighbors and its region. Each rank that learns of it does
// so, too, and so the notice reaches all ranks that depend on each other.
#include "execute/planning.hpp"

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "cost/transport.hpp"
#include "execute/plan_log.hpp"
#include "negotiate/comparison.hpp"
#include "negotiate/partitioning.hpp"
#include "negotiate/proof.hpp"

namespace vicinal {

std::shared_ptr<Planning> Planning::begin(PlanningTask task) {
  auto planning = std::make_shared<Planning>(std::move(task));
  planning->enter_dump();
  const ActivityLock lock(*planning);
  if (!planning->advance()) activate(planning);
  return planning;
}

Planning::Planning(PlanningTask task)
    : task_(std::move(task)),
      site_(task_.communicator, task_.channels),
      common_(*task_.communicator, task_.key),
      particular_(*task_.communicator,
                  {task_.key.graph, task_.key.sequence,
                   fingerprint(given_alike(*task_.planner, task_.options, task_.pattern))}),
      request_{particular_.conversation,
               site_,
               task_.neighborhood,
               task_.pattern,
               task_.options,
               std::nullopt} {}

DeviceChoice Planning::device_choice(const Plan& plan, Index element_bytes) const {
  const PlanOptions& options = task_.options;
  if (options.device_transport) return {*options.device_transport, true};
  return {cheaper_transport(plan, *task_.neighborhood.machine, options.profile, element_bytes)};
}

bool Planning::advance() noexcept {
  if (over_) return true;
  const int rank = task_.communicator->rank();
  try {
    if (!comparing_) begin();
    if (!negotiate()) return false;
    if (!concluding_) concluding_.emplace(conclude());
    if (!common_.driver.advance(*concluding_)) return false;
    Plans plans = concluding_->result();
    // The two conversations run concurrently.
    const int supersteps =
        std::max(common_.conversation.superstep(), particular_.conversation.superstep()) + 1;
    const std::size_t messages =
        common_.driver.messages_sent() + particular_.driver.messages_sent();
    log_plan(task_, plans, {supersteps, messages, std::chrono::steady_clock::now() - begun_});
    const std::array device_choices{
        device_choice(plans.forward, plans.element_bytes),
        plans.reverse ? device_choice(*plans.reverse, plans.element_bytes) : DeviceChoice()};
    plan_ =
        std::make_shared<AgreedPlan>(task_.communicator, task_.key, task_.neighborhood.dependents(),
                                     std::move(site_), std::move(plans), device_choices);
  } catch (...) {
    const Error error = current_fault();
    if (error.is_on_all_ranks()) {
      fault_ = std::current_exception();
    } else if (error.origin() >= 0) {
      leave_with(std::make_exception_ptr(task_.fault.value_or(error)), error.origin());
    } else {
      leave_with(std::current_exception(), rank);
    }
  }
  concluding_.reset();
  negotiating_.reset();
  comparing_.reset();
  over_ = true;
  return true;
}

/// Keeps a failed rank out of the negotiation; the comparison tells the other ranks. A rank that
/// does not participate negotiates anyway: it has no comparison.
void Planning::begin() {
  try {
    if (!task_.fault) require_serves(*task_.planner, task_.options);
  } catch (const Error& error) {
    task_.fault = error;
  }
  request_.fault = task_.fault;
  const std::string name(task_.planner->name);
  common_.conversation.set_purpose("agreeing on a plan by " + name);
  particular_.conversation.set_purpose("planning " + name);
  comparing_.emplace(compare_counts(common_.conversation, *task_.planner, request_));
  if (!task_.fault || !task_.neighborhood.takes_part()) {
    negotiating_.emplace(task_.planner->plan(request_));
  }
}

/// Returns whether both conversations are over. Throws the difference between the ranks.
bool Planning::negotiate() {
  using Look = mpi::Driver::Look;
  const bool nearby = !negotiating_ || negotiating_->done() || particular_.driver.waits_nearby();
  const bool compared = common_.driver.advance(*comparing_, nearby ? Look::anew : Look::everywhere);
  if (compared) counts_agree_ = comparing_->result();
  const Look look = compared ? Look::anew : Look::at_what_is_there;
  return negotiating_ && particular_.driver.advance(*negotiating_, look) && compared;
}

/// Returns the same on all ranks of the component.
bool Planning::agrees_in_the_end() const {
  return task_.neighborhood.takes_part() &&
         (task_.all_or_none || task_.options.partitioned || !counts_agree_);
}

/// Tasks are named variables: GCC 12 destroys temporaries in an expression with co_await twice.
Task<Plans> Planning::conclude() {
  Plans plans;
  std::optional<Error> settled;
  try {
    plans = negotiating_->result();
  } catch (const Error& fault) {
    if (!fault.is_on_all_ranks()) throw;
    settled = fault;
  }
  if (task_.options.partitioned && task_.neighborhood.takes_part()) {
    Task<Done> dividing = divide(plans, settled);
    co_await dividing;
  }
  if (task_.options.verify) {
    Task<Done> proving =
        prove(common_.conversation, task_.neighborhood, plans, task_.pattern, settled);
    co_await proving;
  } else if (agrees_in_the_end()) {
    Task<Done> agreeing = agree(settled);
    co_await agreeing;
  } else if (settled && task_.neighborhood.takes_part()) {
    throw Error(settled->fault(), *settled);  // the other ranks do not know
  }
  if (settled) throw settled->on_all_ranks();
  co_return plans;
}

/// Partitioning sends control messages along the plan's messages, so all ranks need their plans
/// first.
Task<Done> Planning::divide(Plans& plans, std::optional<Error>& settled) {
  Task<Done> agreeing = agree(settled);
  co_await agreeing;
  try {
    Task<Plan> partitioning =
        with_partitions(common_.conversation, site_, std::move(plans.forward), task_.pattern);
    plans.forward = co_await partitioning;
  } catch (const Error& fault) {
    if (!fault.is_on_all_ranks()) throw;
    settled = fault;
  }
  co_return Done{};
}

/// Throws on all ranks of the component if one has failed.
Task<Done> Planning::agree(const std::optional<Error>& settled) {
  FaultRecord faults(task_.neighborhood.rank, task_.options.unit);
  if (settled) faults.blame(*settled);
  Task<std::uint64_t> comparing =
      require_same(common_.conversation, task_.neighborhood.tree, faults, {});
  co_await comparing;
  co_return Done{};
}

/// Leaves the conversation early, with control messages unsent that other ranks wait for.
void Planning::leave_with(std::exception_ptr fault, int origin) noexcept {
  fault_ = std::move(fault);
  mpi::give_notice(*task_.communicator, task_.key, origin,
                   [&] { return task_.neighborhood.dependents(); });
  // Another rank may start its plan and look into these slots before it learns of the fault. So the
  // slots stay allocated, and nothing else is ever announced there.
  if (site_.has_slots()) new (std::nothrow) AgreedSite(std::move(site_));
}

bool Planning::test() {
  if (over_) return true;
  const ActivityLock lock(*this);
  return advance();
}

void Planning::wait() {
  mpi::poll_until([this] { return test(); }, [this](std::ostream& out) { name_awaited(out); });
}

void Planning::name_awaited(std::ostream& out) {
  const ReportLock lock(*this);
  if (!lock) {
    out << "a negotiation on which another thread works";
  } else if (over_) {
    out << "nothing: it has just been made";
  } else {
    describe_talk(out);
  }
}

/// The comparison knows the awaited ranks, a negotiation perhaps only their regions. Writes both if
/// both wait.
void Planning::describe_talk(std::ostream& out) const {
  const bool negotiates = negotiating_ && !negotiating_->done();
  const bool compares = comparing_ && !comparing_->done();
  if (compares || !negotiates) common_.driver.describe(out);
  if (compares && negotiates) out << ", and for ";
  if (negotiates) particular_.driver.describe(out);
}

const std::shared_ptr<AgreedPlan>& Planning::plan() const {
  if (fault_) std::rethrow_exception(fault_);
  return plan_;
}

void Planning::describe(std::ostream& out) const {
  if (over_) return;
  out << "vicinal: rank " << task_.communicator->rank() << " waits for ";
  describe_talk(out);
  out << "\n";
}

}  // namespace vicinal

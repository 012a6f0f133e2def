// Running a planner's coroutine step by step, and telling others where it fails. A rank at fault tells its
// neighbours and its region, and so does every rank that learns of a fault: the news floods all who
// depend on each other, without a collective operation that the others would pay for.
#include "execute/planning.hpp"

#include <ostream>
#include <utility>

namespace vicinal {

std::shared_ptr<Planning> Planning::begin(PlanningTask task) {
  auto planning = std::make_shared<Planning>(std::move(task));
  const Claim claim(*planning);
  if (!planning->advance()) activate(planning);
  return planning;
}

Planning::Planning(PlanningTask task)
    : task_(std::move(task)),
      site_(task_.communicator, task_.channels),
      driver_(*task_.communicator, task_.key, conversation_) {}

bool Planning::advance() noexcept {
  if (over_) return true;
  const int rank = task_.communicator->rank();
  try {
    if (!negotiation_) {
      if (task_.planner == nullptr) throw Error(*task_.fault);
      require_serves(*task_.planner, task_.options);
      negotiation_.emplace(
          task_.planner->plan(PlanRequest{conversation_, site_, task_.neighborhood, task_.pattern,
                                          task_.options, task_.fault}));
    }
    if (!driver_.advance(*negotiation_)) return false;
    Plans plans = negotiation_->result();
    plan_ = std::make_shared<AgreedPlan>(task_.communicator, task_.key,
                                         task_.neighborhood.company(), std::move(site_),
                                         std::move(plans));
  } catch (const SettledFault&) {
    fail_with(std::current_exception(), mpi::notice_ended, rank);
  } catch (const mpi::FaultElsewhere& error) {
    fail_with(task_.fault ? std::make_exception_ptr(Error(*task_.fault)) : std::current_exception(),
              mpi::notice_left, error.origin());
  } catch (...) {
    fail_with(std::current_exception(), mpi::notice_left, rank);
  }
  negotiation_.reset();
  over_ = true;
  return true;
}

void Planning::fail_with(std::exception_ptr fault, mpi::Notice notice, int origin) noexcept {
  fault_ = std::move(fault);
  mpi::give_notice(*task_.communicator, task_.key, notice, origin, task_.neighborhood.company());
  // Another rank may have its plan, start it, and look into these slots before it hears of the fault:
  // nothing else must ever be announced there.
  if (site_.has_slots()) new (std::nothrow) AgreedSite(std::move(site_));
}

bool Planning::test() {
  if (over_) return true;
  const Claim claim(*this);
  return advance();
}

void Planning::wait() {
  mpi::poll_until([this] { return test(); },
                  [this](std::ostream& out) {
                    if (!try_claim()) return;
                    driver_.describe(out);
                    release();
                  });
}

const std::shared_ptr<AgreedPlan>& Planning::plan() const {
  if (fault_) std::rethrow_exception(fault_);
  return plan_;
}

void Planning::describe(std::ostream& out) const {
  if (over_) return;
  out << "vicinal: rank " << task_.communicator->rank() << " waits for ";
  driver_.describe(out);
  out << "\n";
}

}  // namespace vicinal

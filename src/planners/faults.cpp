// The words in which planners report the faults that only several ranks together can see.
#include "planners/faults.hpp"

#include <sstream>

namespace vicinal {

void FaultRecord::blame(const Error& error) {
  if (!own_fault_) own_fault_ = error;
  status_.report(error.fault(), rank_);
}

void FaultRecord::compare(int from, int to, Index sent, Index expected) {
  if (sent == expected) return;
  std::ostringstream text;
  text << "the counts of the edge from rank " << from << " to rank " << to << " differ: rank "
       << from << " sends " << sent << " " << unit_ << ", but rank " << to << " expects "
       << expected << "; both ends of an edge must give the same count";
  blame(Error(Fault::count, text.str()));
}

void FaultRecord::settle() const {
  if (own_fault_) throw SettledFault(*own_fault_);
  if (status_.good()) return;
  std::ostringstream text;
  text << "planning failed because of a " << name(static_cast<Fault>(status_.fault()))
       << " fault on rank " << status_.rank() << "; the message on that rank says more";
  throw SettledFault(Error(Fault::elsewhere, text.str()));
}

}  // namespace vicinal

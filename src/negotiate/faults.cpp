// Error messages for faults that only several ranks together can detect.
#include "negotiate/faults.hpp"

#include <sstream>

namespace vicinal {

Error fault_elsewhere(const Status& status, std::string_view doing) {
  std::ostringstream text;
  text << doing << " failed because of a " << name(static_cast<Fault>(status.fault()))
       << " fault on rank " << status.rank() << "; the message on that rank says more";
  return Error(Fault::elsewhere, text.str()).on_all_ranks();
}

Error counts_differ(int from, int to, Index sent, Index expected, std::string_view unit) {
  std::ostringstream text;
  text << "the counts of the edge from rank " << from << " to rank " << to << " differ: rank "
       << from << " sends " << sent << " " << unit << ", but rank " << to << " expects " << expected
       << "; both ends of an edge must give the same count";
  return Error(Fault::count, text.str());
}

void FaultRecord::blame(const std::exception& fault) {
  const Error error = as_error(fault);
  if (!own_fault_) own_fault_ = error;
  status_.report(error.fault(), rank_);
}

void FaultRecord::compare(int from, int to, Index sent, Index expected) {
  if (sent != expected) blame(counts_differ(from, to, sent, expected, unit_));
}

void FaultRecord::settle() const {
  if (own_fault_) throw own_fault_->on_all_ranks();
  if (!status_.good()) throw fault_elsewhere(status_, doing_);
}

}  // namespace vicinal

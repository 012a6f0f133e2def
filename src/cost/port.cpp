// Virtual time: `service_` grows at the rate that each job gets. So the end of a job in virtual
// time is fixed when it begins, whatever other jobs come and go.
#include "cost/port.hpp"

#include <algorithm>
#include <functional>

namespace vicinal::detail {

void Port::enter(double now, int job, double seconds) {
  if (jobs_.empty()) {
    service_ = 0;
  } else {
    service_ += (now - since_) / static_cast<double>(jobs_.size());
  }
  since_ = now;
  jobs_.push_back({service_ + seconds, job});
  std::push_heap(jobs_.begin(), jobs_.end(), std::greater<>());
}

double Port::next() const {
  if (jobs_.empty()) return std::numeric_limits<double>::infinity();
  const double left = jobs_.front().through - service_;
  return since_ + std::max(0.0, left) * static_cast<double>(jobs_.size());
}

int Port::leave(double now) {
  if (next() > now) return -1;
  const Job first = jobs_.front();
  std::pop_heap(jobs_.begin(), jobs_.end(), std::greater<>());
  jobs_.pop_back();
  service_ = std::max(service_, first.through);
  since_ = now;
  return first.number;
}

}  // namespace vicinal::detail

// The proof that a set of plans is correct. Planners may use complex algorithms, because this proof
// checks their plans against the pattern alone.
#include "plan/verify.hpp"

#include "base/error.hpp"
#include "plan/checks.hpp"

namespace vicinal {

void verify(std::span<const Plan> plans, std::span<const Pattern> patterns) {
  require(plans.size() == patterns.size(), Fault::internal, "there are ", plans.size(),
          " plans, but ", patterns.size(), " patterns");
  const Program program(plans);
  const detail::Demand demand(program, patterns);
  const std::vector<int> order = detail::run_to_the_end(program);
  detail::verify_sharing(program, order);
  detail::verify_partitions(program, patterns);
  if (program.reverse) {
    detail::verify_reverse(program, demand, order);
  } else {
    detail::verify_forward(program, demand, order);
  }
}

}  // namespace vicinal

// Finding a planner by its name.

#include "planners/all.hpp"

namespace vicinal {

std::span<const Planner> planners() {
#define VICINAL_ENTER(identifier, name) Planner{kind_of_##identifier, name},
  static const Planner table[] = {VICINAL_PLANNERS(VICINAL_ENTER)};
#undef VICINAL_ENTER
  return table;
}

const Planner& find_planner(std::string_view name) {
  for (const Planner& planner : planners()) {
    if (planner.name == name) return planner;
  }
  std::string names;
  for (const Planner& planner : planners()) {
    names += names.empty() ? "" : ", ";
    names += planner.name;
  }
  fail(Fault::info, "there is no strategy '", name, "'; choose one of ", names);
}

std::string shortcoming(const Planner& planner, const PlanOptions& options) {
  if (options.with_reverse && !planner.forward_only.empty()) {
    return "cannot serve an exchange with a reverse: " + std::string(planner.forward_only);
  }
  const std::string one_block_only(planner.one_block_only);
  if (!options.one_block && !one_block_only.empty()) {
    return "serves allgathers only: " + one_block_only;
  }
  if (!options.complete && planner.complete_only) {
    if (one_block_only.empty()) {
      return "serves exchanges over a whole communicator only: all ranks pass on what is for "
             "others";
    }
    return "serves allgathers over a whole communicator only: " + one_block_only;
  }
  return {};
}

bool serves(const Planner& planner, const PlanOptions& options) {
  return shortcoming(planner, options).empty();
}

void require_serves(const Planner& planner, const PlanOptions& options) {
  const std::string why_not = shortcoming(planner, options);
  require(why_not.empty(), Fault::info, "the strategy '", planner.name, "' ", why_not);
}

}  // namespace vicinal

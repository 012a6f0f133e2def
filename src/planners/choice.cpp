// The names of choices.
#include "planners/choice.hpp"

#include "base/error.hpp"

namespace vicinal {

std::string_view name(Choice choice) {
  switch (choice) {
    case Choice::estimate: return "estimate";
    case Choice::measure: return "measure";
    case Choice::measure_running: return "measure-running";
  }
  return "";
}

Choice choice_of(std::string_view text) {
  for (const Choice choice : {Choice::estimate, Choice::measure, Choice::measure_running}) {
    if (name(choice) == text) return choice;
  }
  fail(Fault::internal, "there is no choice '", text, "'");
}

}  // namespace vicinal

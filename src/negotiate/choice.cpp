// The names of choices.
#include "negotiate/choice.hpp"

#include "base/error.hpp"

namespace vicinal {

std::string_view name(Choice choice) {
  switch (choice) {
    case Choice::adaptive: return "adaptive";
    case Choice::estimate: return "estimate";
    case Choice::measure: return "measure";
  }
  return "";
}

Choice choice_of(std::string_view text) {
  for (const Choice choice : {Choice::adaptive, Choice::estimate, Choice::measure}) {
    if (name(choice) == text) return choice;
  }
  fail(Fault::internal, "there is no choice '", text, "'");
}

}  // namespace vicinal

// The names of choices, and the reader of a bias.
#include "negotiate/choice.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

namespace {

bool is_planner(std::string_view name) {
  const auto all = planners();
  return std::any_of(all.begin(), all.end(), [&](const Planner& it) { return it.name == name; });
}

std::optional<double> read_factor(std::string_view text) {
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, factor);
  if (error != std::errc() || stopped != end || !std::isfinite(factor) || factor <= 0) return {};
  return factor;
}

}  // namespace

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

std::optional<Bias> Bias::read(std::string_view text) {
  Bias bias;
  bias.text_ = text;
  for (bool more = !text.empty(); more;) {
    const std::string_view entry = text.substr(0, text.find(','));
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    const std::string_view name = entry.substr(0, colon);
    const auto factor = read_factor(entry.substr(std::min(colon + 1, entry.size())));
    if (!factor || !is_planner(name)) return std::nullopt;
    if (!bias.factors_.emplace(name, *factor).second) return std::nullopt;
    more = entry.size() < text.size();
    text.remove_prefix(entry.size() + (more ? 1 : 0));
  }
  return bias;
}

double Bias::of(std::string_view planner) const {
  const auto found = factors_.find(planner);
  return found == factors_.end() ? 1 : found->second;
}

double Bias::of_relaying() const {
  return of(factors_.contains("split") ? "split" : "aggregate") / of("direct");
}

}  // namespace vicinal

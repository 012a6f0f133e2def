// How `automatic` selects a planner: the setting vicinal_choice, and a user's preference among
// planners. The preference has factors that multiply their costs wherever one of several is chosen,
// estimated or measured. With "direct:0.8", direct is taken where it costs up to 1.25 times as much
// as the others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vicinal {

enum class Choice : std::uint8_t {
  adaptive,  ///< by a cost model at first; by timing once executions repeat
  estimate,  ///< by a cost model, while planning
  measure,   ///< by timing the likely planners before the first execution
};

std::string_view name(Choice choice);
/// Returns the choice of that name; throws an internal fault if there is none.
Choice choice_of(std::string_view text);

class Bias {
 public:
  Bias() = default;
  /// Reads "NAME:FACTOR,...": names of planners, each once, with positive factors; "" is an empty
  /// bias. Returns nothing if the text is malformed.
  static std::optional<Bias> read(std::string_view text);

  /// Returns the factor of a planner; 1 if none was given.
  [[nodiscard]] double of(std::string_view planner) const;
  /// Returns the factor on the cost of relaying a region pair, relative to direct messages. It is
  /// the factor of `split`, or else of `aggregate`, divided by that of `direct`.
  [[nodiscard]] double of_relaying() const;
  /// Returns the text as it was given.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::map<std::string, double, std::less<>> factors_;
};

}  // namespace vicinal

// What a person thinks of planners: factors by which their costs are multiplied wherever one of several is chosen,
// estimated or measured. With "direct:0.8" direct is taken where it costs up to 1.25 times as much as the others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vicinal {

class Bias {
 public:
  Bias() = default;
  /// Reads "NAME:FACTOR,...", names of planners, each once, and positive factors; "" is none. Nothing where the text
  /// is no such list.
  static std::optional<Bias> read(std::string_view text);

  /// The factor of a planner; 1 where nothing is said of it.
  [[nodiscard]] double of(std::string_view planner) const;
  /// By what the cost of relaying a region pair through leaders is multiplied before it is compared with that of
  /// straight messages: the factor of `split`, or else of `aggregate`, over that of `direct`.
  [[nodiscard]] double of_relaying() const;
  /// As it was given.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::map<std::string, double, std::less<>> factors_;
};

}  // namespace vicinal

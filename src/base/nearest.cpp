// Levenshtein distance, computed row by row.
#include "base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace vicinal {

namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::size_t shared = word.size();
  for (const std::string_view each : known) {
    const auto ends = std::mismatch(word.begin(), word.end(), each.begin(), each.end());
    shared = std::min(shared, static_cast<std::size_t>(ends.first - word.begin()));
  }
  word.remove_prefix(shared);
  std::string_view found;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string_view each : known) {
    const std::size_t its = distance(word, each.substr(shared));
    if (its >= least) continue;
    least = its;
    found = each;
  }
  return found;
}

}  // namespace vicinal

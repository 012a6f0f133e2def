// Fingerprints and comparison of given values.
#include "base/given.hpp"

#include <algorithm>
#include <sstream>

#include "base/scramble.hpp"

namespace vicinal {

namespace {

std::string shown(const std::optional<std::string>& value) {
  return value ? "'" + *value + "'" : "not set";
}

}  // namespace

std::int64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  }
  return static_cast<std::int64_t>(hash >> 1);
}

std::int64_t fingerprint(std::span<const Given> given) {
  std::uint64_t hash = 0;
  for (const Given& each : given) {
    hash = scramble(hash + static_cast<std::uint64_t>(fingerprint(each.name)));
    hash += each.value ? 1 + static_cast<std::uint64_t>(fingerprint(*each.value)) : 0;
  }
  return static_cast<std::int64_t>(hash >> 1);
}

std::optional<Error> difference(std::span<const Given> one, int its_rank,
                                std::span<const Given> other, int other_rank) {
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    if (one[i].value == other[i].value) continue;
    std::ostringstream text;
    text << one[i].name << " is " << shown(one[i].value) << " on rank " << its_rank << ", but "
         << shown(other[i].value) << " on rank " << other_rank << "; all ranks must give the same";
    const bool settable =
        one[i].name.starts_with("vicinal_") || one[i].name.starts_with("VICINAL_");
    if (settable) text << ": perhaps an environment variable was not forwarded by the launcher";
    return Error(one[i].fault, text.str());
  }
  return std::nullopt;
}

}  // namespace vicinal

// The names, and the choice.
#include "cost/exchange_method.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "locality/region_pairs.hpp"

namespace vicinal {
namespace {

constexpr std::pair<Method, std::string_view> method_names[] = {
    {Method::automatic, "automatic"},
    {Method::personalized, "personalized"},
    {Method::nonblocking, "nonblocking"},
    {Method::locality, "locality"},
    {Method::locality_personalized, "locality-personalized"},
    {Method::one_sided, "one-sided"},
};

}  // namespace

std::string_view name(Method method) {
  for (const auto& [known, text] : method_names) {
    if (known == method) return text;
  }
  fail(Fault::internal, "exchange method ", static_cast<int>(method), " is not known");
}

Method method_of(std::string_view text) {
  std::string list;
  for (const auto& [method, known] : method_names) {
    if (known == text) return method;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  fail(Fault::info, "there is no exchange method '", text, "'; give one of: ", list);
}

Method choose_method(const Machine& machine, bool shared_memory) {
  bool shared = shared_memory;
  std::size_t smallest = static_cast<std::size_t>(machine.size());
  for (int region = 0; region < machine.regions(); ++region) {
    smallest = std::min(smallest, machine.members(region).size());
    shared = shared && share_a_host(machine, region);
  }
  // Regions that hand over by messages pay for it twice, which few patterns are worth.
  if (shared && 2 * machine.regions() <= machine.size()) {
    const auto each = (static_cast<std::size_t>(machine.regions()) + smallest - 1) / smallest;
    return each <= 8 ? Method::locality_personalized : Method::locality;
  }
  // Geyko and Bienz see the personalized method win on few ranks; 16 ranks sharing two cores needed
  // 0.3 to 0.5 ms for it and 0.6 ms for the other, and 64 ranks the same for both.
  return machine.size() < 64 ? Method::personalized : Method::nonblocking;
}

}  // namespace vicinal

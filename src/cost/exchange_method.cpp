// Names of the methods.
#include "cost/exchange_method.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"

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

}  // namespace vicinal

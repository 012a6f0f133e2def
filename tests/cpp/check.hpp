// A small test framework: a registry of cases, and checks that throw. It needs no installation.
#pragma once

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

/// Defined if this program is built with the address sanitizer.
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

namespace vicinal::testing {

struct Case {
  const char* name;
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

/// Thrown by `skip`: neither a pass nor a failure. It is no std::exception, so that no case catches
/// it as an error.
struct Skipped {
  std::string why;
};

/// Ends a case that cannot run here for lack of ranks, threads, memory or data; `why` says what it
/// needs. Collective: all ranks call it, or none. A case that returns early counts as passed.
[[noreturn]] inline void skip(const std::string& why) { throw Skipped{why}; }

/// Skips a case with thousands of ranks that would take minutes under sanitizers. Smaller cases
/// already access memory in the same ways.
inline void skip_if_sanitized() {
#if defined(SANITIZED)
  skip("takes minutes with sanitizers");
#endif
}

/// Returns whether cases run in full (VICINAL_TEST_TIER=all, `make check-all`) or reduced.
inline bool everything() {
  const char* const tier = std::getenv("VICINAL_TEST_TIER");
  return tier != nullptr && std::string_view(tier) == "all";
}

template <class... Parts>
[[noreturn]] void fail_check(const char* file, int line, const Parts&... parts) {
  std::ostringstream text;
  text << file << ':' << line << ": ";
  (text << ... << parts);
  throw std::runtime_error(text.str());
}

template <class Value>
std::string shown(const Value& value) {
  if constexpr (requires(std::ostringstream out) { out << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else {
    return "a value that cannot be printed";
  }
}

template <class A, class B>
void check_equal(const char* file, int line, const char* text, const A& a, const B& b) {
  if (!(a == b)) fail_check(file, line, text, ": ", shown(a), " is not ", shown(b));
}

template <class Action>
void check_throws(const char* file, int line, const char* text, Fault fault, Action action,
                  const std::string& part) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.find(part) == std::string::npos) {
      fail_check(file, line, text, " threw \"", message, "\", without \"", part, '"');
    }
    if (error.fault() != fault) fail_check(file, line, text, " threw another fault: ", message);
    return;
  }
  fail_check(file, line, text, " did not throw; expected \"", part, '"');
}

}  // namespace vicinal::testing

#define TEST(name)                                                                      \
  static void test_##name();                                                            \
  static const vicinal::testing::Registration registration_##name{#name, &test_##name}; \
  static void test_##name()

#define CHECK(condition) \
  ((condition) ? void() : vicinal::testing::fail_check(__FILE__, __LINE__, #condition, " is false"))

#define CHECK_EQUAL(a, b) vicinal::testing::check_equal(__FILE__, __LINE__, #a " == " #b, (a), (b))

/// Checks that the expression throws a vicinal::Error of the given fault, with `part` in its
/// message.
#define CHECK_THROWS(fault, expression, part) \
  vicinal::testing::check_throws(             \
      __FILE__, __LINE__, #expression, fault, [&] { static_cast<void>(expression); }, part)

// Runs all registered cases, or those whose name contains the argument.
#include <cstring>
#include <exception>
#include <iostream>

#include "../check.hpp"

int main(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  for (const auto& test : vicinal::testing::cases()) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    try {
      test.run();
      std::cout << "ok " << test.name << '\n' << std::flush;
      ++passed;
    } catch (const vicinal::testing::Skipped& reason) {
      std::cout << "skipped " << test.name << ": " << reason.why << '\n' << std::flush;
      ++skipped;
    } catch (const std::exception& error) {
      std::cout << "FAILED " << test.name << ": " << error.what() << '\n' << std::flush;
      ++failed;
    }
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped\n"
            << std::flush;
  return failed > 0 || passed + skipped == 0 ? 1 : 0;
}

// Runs all registered tests, or those whose name contains the argument. Two further arguments, PART
// and PARTS, select each PARTS-th of these, so that several processes share the work.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>

#include "../check.hpp"

int main(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  const std::size_t part = argc > 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const std::size_t parts = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1;
  std::size_t chosen = 0;
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  for (const auto& test : vicinal::testing::cases()) {
    if (std::strstr(test.name, filter) == nullptr || chosen++ % parts != part) continue;
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

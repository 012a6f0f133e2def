// Runs all registered cases, or those whose name contains the argument.
#include <cstring>
#include <exception>
#include <iostream>

#include "../check.hpp"

int main(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  int passed = 0;
  int failed = 0;
  for (const auto& test : vicinal::testing::cases()) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    try {
      test.run();
      std::cout << "ok " << test.name << std::endl;
      ++passed;
    } catch (const std::exception& error) {
      std::cout << "FAILED " << test.name << ": " << error.what() << std::endl;
      ++failed;
    }
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed > 0 || passed == 0 ? 1 : 0;
}

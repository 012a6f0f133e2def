// Numbers that tests set and read.
#include <cstdlib>
#include <map>
#include <sstream>

#include "simulated.hpp"

namespace simulated {

namespace {

using Numbers = std::map<std::string, long>;

/// Reads initial numbers for programs that cannot set any: "open_to_mpi=1 hold=1".
Numbers* of_environment() {
  auto* const numbers = new Numbers;
  const char* const given = std::getenv("DRIVER_DOUBLE");
  std::istringstream words(given != nullptr ? given : "");
  for (std::string word; words >> word;) {
    const std::size_t end = word.find('=');
    (*numbers)[word.substr(0, end)] = std::stol(word.substr(end + 1));
  }
  return numbers;
}

/// The caller holds the lock.
long& at(const std::string& name) {
  static auto* const numbers = of_environment();
  return (*numbers)[name];
}

}  // namespace

long number(const std::string& name) {
  const Lock lock(mutex());
  return at(name);
}

void count(const std::string& name, long change) {
  const Lock lock(mutex());
  at(name) += change;
}

bool count_down(const std::string& name) {
  const Lock lock(mutex());
  return at(name) > 0 && --at(name) == 0;
}

}  // namespace simulated

long driver_double_get(const char* name) { return simulated::number(name); }

void driver_double_set(const char* name, long value) {
  const simulated::Lock lock(simulated::mutex());
  simulated::at(name) = value;
}

// More elements than an int can count, in one message. Runs on two ranks, or on three of which one
// is idle, if memory suffices.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "world.hpp"

namespace vicinal::large_tests {
namespace {

using namespace testing;

/// Returns the memory that the system has available, in bytes; 0 if unknown.
std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::int64_t kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return 0;
}

constexpr MPI_Count count = (MPI_Count{1} << 31) + 24;

/// Returns the first values sent, which then repeat. 251 is prime, so values a power of two apart
/// differ.
std::vector<char> first_values() {
  std::vector<char> values(std::size_t{251} * 4096);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i % 251);
  return values;
}

/// Calls `action` for each part of `data` of at most `length` elements.
template <class Action>
void for_each_part(std::vector<char>& data, std::size_t length, Action action) {
  for (std::size_t begin = 0; begin < data.size(); begin += length) {
    action(begin, std::min(length, data.size() - begin));
  }
}

void fill(std::vector<char>& data) {
  const std::vector<char> values = first_values();
  for_each_part(data, values.size(), [&](std::size_t begin, std::size_t length) {
    std::memcpy(&data[begin], values.data(), length);
  });
}

void verify(std::vector<char>& data, const char* what) {
  const std::vector<char> values = first_values();
  for_each_part(data, values.size(), [&](std::size_t begin, std::size_t length) {
    const char* found = &data[begin];
    if (std::memcmp(found, values.data(), length) == 0) return;
    const auto at = std::mismatch(found, found + length, values.begin());
    fail_check(__FILE__, __LINE__, what, ": element ", at.first - data.data(), " is ",
               static_cast<int>(*at.first), ", not ", static_cast<int>(*at.second));
  });
}

}  // namespace

TEST(more_elements_than_an_int_counts) {
  if (world_size() != 2 && world_size() != 3) skip("takes 2 ranks or 3, and gigabytes of two");
  // for both ranks, and the same again for MPI
  int enough = available_memory() > 4 * count ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (enough == 0) skip("needs " + std::to_string(4 * count / 1'000'000'000) + " GB of memory");
  const Duplicate comm;
  const bool sends = world_rank() == 0, receives = world_rank() == 1;
  const std::vector<int> sources = receives ? std::vector{0} : std::vector<int>{};
  const std::vector<int> destinations = sends ? std::vector{1} : std::vector<int>{};
  std::vector<char> data(sends || receives ? static_cast<std::size_t>(count) : 0);
  if (sends) fill(data);
  const MPI_Count counts[] = {count};
  const MPI_Aint places[] = {0};
  for (const char* strategy : {"direct", "aggregate"}) {
    GraphHandle graph;
    SUCCEEDS(create_graph(comm, sources, destinations,
                          Hints{{"vicinal_strategy", strategy}, {"vicinal_regions", "blocks:1"}},
                          &graph));
    // First directly with the user's datatype, then by a plan in bytes.
    SUCCEEDS(vicinal_neighbor_alltoallv_c(data.data(), counts, places, MPI_CHAR, data.data(),
                                          counts, places, MPI_CHAR, graph));
    if (receives) {
      verify(data, strategy);
      std::fill(data.begin(), data.end(), '\0');
    }
  }
}

}  // namespace vicinal::large_tests

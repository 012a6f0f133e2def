// More elements than an int can count, in one message. Runs on two ranks, where there is memory for it.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "world.hpp"

namespace vicinal::large_tests {
namespace {

using namespace testing;

/// What the system could still give to programs, in bytes; 0 where it does not say.
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

/// A value for each place, different on both sides of every border that could matter.
char value_at(MPI_Count place) { return static_cast<char>(place % 251 + (place >> 31) * 3); }

void fill(std::vector<char>& data) {
  for (MPI_Count i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = value_at(i);
}

void verify(const std::vector<char>& data, const char* what) {
  for (MPI_Count i = 0; i < count; ++i) {
    const char found = data[static_cast<std::size_t>(i)];
    if (found == value_at(i)) continue;
    fail_check(__FILE__, __LINE__, what, ": element ", i, " is ", static_cast<int>(found), ", not ",
               static_cast<int>(value_at(i)));
  }
}

}  // namespace

TEST(more_elements_than_an_int_counts) {
  if (world_size() != 2) skip("takes 2 ranks, and gigabytes of each");
  int enough = available_memory() > 4 * count ? 1 : 0;  // of both ranks, and as much for MPI
  MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (enough == 0) skip("needs " + std::to_string(4 * count / 1'000'000'000) + " GB of memory");
  const Duplicate comm;
  const bool sends = world_rank() == 0;
  const std::vector<int> sources = sends ? std::vector<int>{} : std::vector{0};
  const std::vector<int> destinations = sends ? std::vector{1} : std::vector<int>{};
  std::vector<char> data(static_cast<std::size_t>(count));
  if (sends) fill(data);
  const MPI_Count counts[] = {count};
  const MPI_Aint places[] = {0};
  for (const char* strategy : {"direct", "aggregate"}) {
    GraphHandle graph;
    SUCCEEDS(create_graph(comm, sources, destinations,
                          Hints{{"vicinal_strategy", strategy}, {"vicinal_regions", "blocks:1"}},
                          &graph));
    // Straight with the user's datatype, and by a plan in bytes.
    SUCCEEDS(vicinal_neighbor_alltoallv_c(data.data(), counts, places, MPI_CHAR, data.data(),
                                          counts, places, MPI_CHAR, graph));
    if (!sends) {
      verify(data, strategy);
      std::fill(data.begin(), data.end(), '\0');
    }
  }
}

}  // namespace vicinal::large_tests

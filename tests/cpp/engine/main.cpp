// Runs all registered cases, or those whose name contains the argument, on all ranks. A case that
// fails on any rank has failed, and one that any rank skips is skipped. The lowest such rank
// reports why. If other ranks never finish a case that failed on one rank, that rank ends the run.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include "check.hpp"
#include "choose/decisions.hpp"
#include "driver_double.hpp"
#include "memory/delayed_memory.hpp"
#include "program_on_gpu.hpp"

namespace {

/// Returns the message of the lowest rank that has one, or "". Collective; all ranks return the
/// same.
std::string lowest_message(const std::string& mine) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int lowest = mine.empty() ? size : rank;
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (lowest == size) return {};
  std::string text = mine;
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, lowest, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, lowest, MPI_COMM_WORLD);
  return text;
}

/// Ends a run in which this rank has failed within a case, and the other ranks wait for it.
void give_up(int) {
  constexpr char text[] = "the other ranks have not come to the end of this case: giving up\n";
  static_cast<void>(write(STDERR_FILENO, text, sizeof text - 1));
  _exit(1);
}

constexpr unsigned patience_s = 120;

}  // namespace

int main(int argc, char** argv) {
  const char* memory = std::getenv("ENGINE_TESTS_MEMORY");
  const bool on_gpu = memory != nullptr && std::strncmp(memory, "gpu", 3) == 0;
  if (on_gpu) vicinal::testing::keep_heap_together();
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* filter = argc > 1 ? argv[1] : "";
  std::optional<vicinal::testing::DriverDouble> gpu;
  if (memory != nullptr && std::strcmp(memory, "delayed") == 0) {
    vicinal::treat_host_memory_as(vicinal::delayed_memory());
  }
  // "gpu" is the machine's own GPU; a suffix, as in "gpu-shared", names the transport.
  if (on_gpu) {
    if (memory[3] == '-') setenv("VICINAL_DEVICE_WAY", memory + 4, 1);
    vicinal::testing::put_program_on_gpu();
  }
  if (memory != nullptr && std::strncmp(memory, "device", 6) == 0) {
    gpu.emplace();
    gpu->set("reaches_host", 1);
    // "device" is the double's memory; a suffix, as in "device-direct", names the transport.
    const std::string transport = memory[6] == '-' ? memory + 7 : "";
    gpu->set("open_to_mpi", transport.starts_with("direct") ? 1 : 0);
    if (!transport.empty()) setenv("VICINAL_DEVICE_WAY", transport.c_str(), 1);
    vicinal::treat_host_memory_as(gpu->memory());
  }
  std::signal(SIGALRM, give_up);
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  for (const auto& test : vicinal::testing::cases()) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    std::string fault, reason;
    vicinal::forget_decisions();
    try {
      test.run();
    } catch (const vicinal::testing::Skipped& left_out) {
      reason = left_out.why;
    } catch (const std::exception& error) {
      fault = "rank " + std::to_string(rank) + ": " + error.what();
      std::cerr << test.name << ": " << fault << '\n' << std::flush;
      alarm(patience_s);
    }
    fault = lowest_message(fault);
    reason = lowest_message(reason);
    alarm(0);
    ++(!fault.empty() ? failed : !reason.empty() ? skipped : passed);
    if (rank != 0) continue;
    if (!fault.empty()) {
      std::cout << "FAILED " << test.name << ": " << fault << '\n' << std::flush;
    } else if (!reason.empty()) {
      std::cout << "skipped " << test.name << ": " << reason << '\n' << std::flush;
    } else {
      std::cout << "ok " << test.name << '\n' << std::flush;
    }
  }
  if (rank == 0) {
    std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped\n"
              << std::flush;
  }
  if (gpu && gpu->get("misuses") > 0) {
    std::cout << "FAILED: rank " << rank << " has used the driver wrongly\n" << std::flush;
    ++failed;
  }
  MPI_Finalize();
  return failed > 0 || passed + skipped == 0 ? 1 : 0;
}

#include "mpi/device_pointers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/no_destructor.hpp"
#include "mpi/collectives.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"
#include "mpi/info.hpp"

namespace vicinal::mpi {

namespace {

/// MPI's answer, and the source of that answer.
struct Answer {
  bool yes = false;
  std::string by;
};

/// Functions by which Open MPI and MPICH report support; none is in the standard.
struct Query {
  std::string_view kind;
  const char* name;
};
constexpr std::array queries = std::to_array<Query>({
    {"cuda", "MPIX_Query_cuda_support"},
    {"rocm", "MPIX_Query_rocm_support"},
    {"rocm", "MPIX_Query_hip_support"},
});

Answer ask(MPI_Comm communicator, std::string_view kind) {
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Comm_get_info(communicator, &info), "MPI_Comm_get_info");
  std::optional<std::string> kinds;
  try {
    kinds = info_value(info, "mpi_memory_alloc_kinds");
  } catch (...) {
    MPI_Info_free(&info);
    throw;
  }
  MPI_Info_free(&info);
  if (kinds && has_device_memory(*kinds, kind))
    return {true, "mpi_memory_alloc_kinds has " + *kinds};
  Answer answer{false, "it says nothing of it"};
  for (const Query& query : queries) {
    if (query.kind != kind) continue;
    auto* const function = reinterpret_cast<int (*)()>(find_symbol(query.name));
    if (function == nullptr) continue;
    const int said = function();
    answer = {said != 0, std::string(query.name) + " says " + std::to_string(said)};
    if (answer.yes) break;
  }
  return answer;
}

/// Returns whether the CPU can read and write a byte there. System calls get the address, so a bad
/// one does not end the process.
bool processor_reaches(std::byte* memory) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return false;
  const bool reaches = write(ends[1], memory, 1) == 1 && read(ends[0], memory, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return reaches;
}

/// Runs a job from begin to end.
void finish(MemoryJob& job, const std::byte* from, std::byte* to) {
  for (bool done = job.begin(from, to); !done; done = job.poll()) {
  }
}

/// Returns whether a message of that many bytes to this rank itself arrives unchanged.
bool comes_right(const Communicator& communicator, MemoryKind& kind, std::size_t bytes) {
  const MemoryBlock from(kind, bytes), to(kind, bytes);
  const MemoryBlock sent(kind.staging(), bytes), received(kind.staging(), bytes);
  for (std::size_t i = 0; i < bytes; ++i) sent.data()[i] = static_cast<std::byte>(i * 7 % 251 + 1);
  const CopyRun all{0, 0, static_cast<Index>(bytes)};
  finish(*kind.prepare_copy({&all, 1}, 1, {false, true}), sent.data(), from.data());
  std::array pending{
      ireceive(communicator.handle(), {to.data(), bytes}, communicator.rank(), tag_trial),
      isend(communicator.handle(), {from.data(), bytes}, communicator.rank(), tag_trial)};
  while (!test_all(pending)) {
  }
  finish(*kind.prepare_copy({&all, 1}, 1, {true, false}), to.data(), received.data());
  return std::memcmp(sent.data(), received.data(), bytes) == 0;
}

bool find_out(const Communicator& communicator, MemoryKind& kind) {
  const Answer answer = ask(communicator.handle(), kind.mpi_name());
  std::string outcome = "is not tried";
  bool takes = false;
  if (answer.yes || processor_reaches(MemoryBlock(kind, 1).data())) {
    // One small message, which MPIs send at once, and one large one.
    takes = comes_right(communicator, kind, 64) && comes_right(communicator, kind, 1U << 20U);
    outcome = takes ? "comes right" : "does not come right";
  }
  log_line(LogLevel::info, [&](std::ostream& line) {
    line << "device memory: MPI is " << (takes ? "" : "not ") << "given addresses of "
         << kind.name() << ": " << answer.by << ", and a message to oneself " << outcome;
  });
  return takes;
}

}  // namespace

bool has_device_memory(std::string_view kinds, std::string_view kind) {
  while (!kinds.empty()) {
    std::string_view entry = kinds.substr(0, kinds.find(','));
    kinds.remove_prefix(std::min(entry.size() + 1, kinds.size()));
    const std::string_view restrictions = entry.substr(std::min(entry.find(':'), entry.size()));
    entry.remove_suffix(restrictions.size());
    if (entry != kind) continue;
    const std::string all = std::string(restrictions) + ':';
    if (restrictions.empty() || all.find(":device:") != std::string::npos) return true;
  }
  return false;
}

bool takes_pointers(const Communicator& communicator, MemoryKind& kind) {
  if (kind.mpi_name() == nullptr) return false;
  static Mutex mutex;
  static NoDestructor<std::map<const MemoryKind*, bool>> known;
  const Lock lock(mutex);
  const auto found = known->find(&kind);
  if (found != known->end()) return found->second;
  return (*known)[&kind] = find_out(communicator, kind);
}

}  // namespace vicinal::mpi

// GPUs: copies and kernels, by the jobs that exchanges use.
#include <algorithm>
#include <array>
#include <cstring>

#include "calibrate/calibrate.hpp"
#include "calibrate/measuring.hpp"
#include "memory/device/device_memory.hpp"
#include "mpi/backoff.hpp"
#include "mpi/device_pointers.hpp"

namespace vicinal {

using namespace measuring;

namespace {

constexpr std::int64_t word = 8;
/// Expected seconds of an iteration before any is timed.
constexpr double first_trip = 50e-6;

struct JobTimes {
  double begun = 0;
  double done = 0;
};

/// Times one execution of a job.
JobTimes time_of(MemoryJob& job, const std::byte* from, std::byte* to) {
  const double start = now();
  const bool at_once = job.begin(from, to);
  const double begun = now();
  if (!at_once) mpi::poll_until([&] { return job.poll(); }, "a GPU that is measured");
  return {begun - start, now() - start};
}

/// Returns the runs that reverse the order of all words.
std::vector<CopyRun> in_reverse(std::int64_t bytes) {
  const Index count = bytes / word;
  std::vector<CopyRun> runs;
  for (Index i = 0; i < count; ++i) runs.push_back({count - 1 - i, i, 1});
  return runs;
}

/// A copy from the host to a GPU, a reversal there, and a copy back.
class RoundTrip {
 public:
  RoundTrip(MemoryKind& memory, std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        blocks_{MemoryBlock(memory.staging(), bytes_), MemoryBlock(memory, bytes_),
                MemoryBlock(memory, bytes_), MemoryBlock(memory.staging(), bytes_)} {
    const CopyRun all{0, 0, bytes / word};
    jobs_[0] = memory.prepare_copy({&all, 1}, word, {false, true});
    jobs_[1] = memory.prepare_copy(in_reverse(bytes), word, {true, true});
    jobs_[2] = memory.prepare_copy({&all, 1}, word, {true, false});
  }

  std::array<JobTimes, 3> time() {
    std::array<JobTimes, 3> times;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      times[i] = time_of(*jobs_[i], blocks_[i].data(), blocks_[i + 1].data());
    }
    return times;
  }
  void fill(int value) {
    for (std::size_t i = 0; i < bytes_; ++i) {
      blocks_.front().data()[i] =
          static_cast<std::byte>(static_cast<std::size_t>(value) + i / word);
    }
  }
  void check() const {
    const std::byte *sent = blocks_.front().data(), *back = blocks_.back().data();
    for (std::size_t i = 0; i < bytes_; i += word) {
      require(std::memcmp(sent + i, back + bytes_ - word - i, word) == 0, Fault::internal,
              "what a GPU has given back is not what it was given");
    }
  }

 private:
  std::size_t bytes_;
  std::array<MemoryBlock, 4> blocks_;
  std::array<std::unique_ptr<MemoryJob>, 3> jobs_;
};

/// Exports memory of a GPU to another rank until that rank is done. Tells it if there is none to
/// export.
void offer(const Line& line, MemoryKind* memory, std::size_t bytes) {
  MemoryBlock block;
  IpcHandle handle;
  bool is_shared = false;
  if (memory != nullptr) {
    block = MemoryBlock(*memory, bytes);
    try {
      handle = memory->share(block.data());
      is_shared = true;
    } catch (const Error&) {
      // Memory that cannot be exported is not measured.
    }
  }
  line.tell(is_shared ? 1 : 0);
  if (!is_shared) return;
  mpi::PendingOperation sent = line.send(handle.bytes, tag_data);
  finish(sent);
  static_cast<void>(line.hear());  // the other rank has closed it
}

/// Memory that another rank exports with offer().
class Offered {
 public:
  Offered(const Line& line, MemoryKind* memory) : line_(line) {
    is_offered_ = line.hear() != 0;
    if (!is_offered_) return;
    IpcHandle handle;
    mpi::PendingOperation came = line.receive(handle.bytes, tag_data);
    finish(came);
    if (memory == nullptr) return;
    try {
      opened_ = Opened(*memory, handle);
    } catch (const Error&) {
      // Memory that cannot be opened is not measured.
    }
  }
  Offered(const Offered&) = delete;
  Offered& operator=(const Offered&) = delete;
  ~Offered() {
    opened_ = Opened();
    if (is_offered_) line_.tell(0);
  }
  [[nodiscard]] const std::byte* data() const { return opened_.memory(); }

 private:
  const Line& line_;
  bool is_offered_ = false;
  Opened opened_;
};

}  // namespace

Calibrator::Gpus Calibrator::gpus() const {
  const auto gpu = device::first_gpu(device::drivers());
  if (!gpu) return {};
  return {gpu->name, gpu->count, gpu->has_kernels,
          mpi::takes_pointers(*communicator_, gpu->memory)};
}

Samples Calibrator::device_peer(RankPair pair, std::span<const std::int64_t> sizes, Effort effort) {
  Samples samples;
  measure([&] {
    const bool shares = rank() == pair.first, reaches = rank() == pair.second;
    if (!shares && !reaches) return;
    const Line line(*communicator_, shares ? pair.second : pair.first);
    const auto gpu = device::first_gpu(device::drivers());
    const auto largest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
    if (shares) {
      offer(line, gpu ? &gpu->memory : nullptr, largest);
      return;
    }
    const Offered theirs(line, gpu ? &gpu->memory : nullptr);
    if (theirs.data() == nullptr) return;
    const MemoryBlock into(gpu->memory, largest);
    for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
      for (const std::int64_t size : sizes) {
        const auto job = gpu->memory.prepare_copy(in_reverse(size), word, {true, true});
        std::array<std::vector<double>, 2> times;
        for (std::int64_t iteration = iterations_for(effort.seconds, first_trip); iteration > 0;
             --iteration) {
          const JobTimes found = time_of(*job, theirs.data(), into.data());
          times[0].push_back(found.begun);
          times[1].push_back(found.done);
        }
        if (repetition < 0) continue;
        for (std::vector<double>& each : times) samples.push_back(median(each));
      }
    }
  });
  return samples;
}

Samples Calibrator::device(std::span<const std::int64_t> sizes, Effort effort) {
  Samples samples;
  measure([&] {
    if (rank() != 0) return;
    const auto gpu = device::first_gpu(device::drivers());
    if (!gpu) return;
    std::vector<double> of_one(sizes.size(), first_trip);
    for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        RoundTrip trip(gpu->memory, sizes[i]);
        trip.fill(repetition);
        std::array<std::array<std::vector<double>, 2>, 3> times;
        const double begin = now();
        const std::int64_t iterations = iterations_for(effort.seconds, of_one[i]);
        for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
          const std::array<JobTimes, 3> found = trip.time();
          for (std::size_t job = 0; job < found.size(); ++job) {
            times[job][0].push_back(found[job].begun);
            times[job][1].push_back(found[job].done);
          }
        }
        of_one[i] = (now() - begin) / static_cast<double>(iterations);
        trip.check();
        if (repetition < 0) continue;
        for (auto& of_job : times) {
          for (std::vector<double>& each : of_job) samples.push_back(median(each));
        }
      }
    }
  });
  return samples;
}

}  // namespace vicinal

// Tests that jobs run after the work on the user's streams, and that no caller waits for it.
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "driver_double.hpp"
#include "users_stream.hpp"

namespace vicinal::device_streams_tests {
namespace {

using testing::DelayedArray;
using testing::DeviceArray;
using testing::DriverDouble;
using testing::UsersStream;

constexpr CopyRun four{0, 0, 4};

std::unique_ptr<MemoryJob> copy_of_four(MemoryKind& memory) {
  return memory.prepare_copy({&four, 1}, 8, {true, true});
}

bool begin(MemoryJob& job, const DeviceArray& from, const DeviceArray& to) {
  return job.begin(reinterpret_cast<const std::byte*>(from.data()),
                   reinterpret_cast<std::byte*>(to.data()));
}

void finish(MemoryJob& job) {
  for (int polls = 0; !job.poll(); ++polls) CHECK(polls < 1'000'000);
}

std::vector<std::int64_t> filled(int byte) {
  std::vector<std::int64_t> values(4);
  std::memset(values.data(), byte, 32);
  return values;
}

}  // namespace

TEST(jobs_come_after_streams_that_are_followed) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    UsersStream one(gpu), other(gpu);
    for (int round = 0; round < 20; ++round) {
      const DeviceArray source(gpu.memory(), filled(round + 100)), target(gpu.memory(), filled(0));
      const auto job = copy_of_four(gpu.memory());
      one.fill(source, round);
      one.be_followed(source);
      // Later work on the stream does not count. Another stream can be followed as well.
      other.fill(target, 77);
      other.be_followed(target);
      if (!begin(*job, source, target)) finish(*job);
      CHECK(target.values() == filled(round));
    }
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(nobody_waits_for_a_stream_that_is_followed) {
  const DriverDouble gpu;
  UsersStream users(gpu);
  const DeviceArray source(gpu.memory(), filled(1)), target(gpu.memory(), filled(0));
  const auto job = copy_of_four(gpu.memory());
  gpu.set("hold", 1);
  users.fill(source, 9);
  users.be_followed(source);
  CHECK(!begin(*job, source, target));
  for (int poll = 0; poll < 20; ++poll) CHECK(!job->poll());
  // Preparing another job, whose lists are copied to the device, does not wait either.
  const CopyRun apart[]{{1, 0, 1}, {3, 1, 1}, {0, 2, 1}};
  const auto later = gpu.memory().prepare_copy(apart, 8, {true, true});
  CHECK(!users.is_idle());
  for (int poll = 0; poll < 20; ++poll) CHECK(!job->poll());
  gpu.set("hold", 0);
  finish(*job);
  CHECK(target.values() == filled(9));
}

TEST(who_gives_device_memory_to_mpi_waits_for_streams) {
  const DriverDouble gpu;
  UsersStream users(gpu);
  const DeviceArray source(gpu.memory(), filled(1)), target(gpu.memory(), filled(0));
  gpu.set("hold", 1);
  users.fill(source, 9);
  users.be_followed(source);
  gpu.memory().await_followed();
  gpu.set("hold", 0);
  // Later jobs follow no stream.
  CHECK(source.values() == filled(9));
}

TEST(a_stream_comes_after_what_jobs_have_begun) {
  const CopyRun odd[]{{1, 0, 1}, {3, 1, 1}, {0, 2, 1}};
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    for (const bool with_kernels : {true, false}) {
      const DriverDouble gpu(path);
      gpu.set("no_compiler", with_kernels ? 0 : 1);
      UsersStream users(gpu);
      for (int round = 0; round < 20; ++round) {
        const DeviceArray source(gpu.memory(), {1, 2, 3, 4}), target(gpu.memory(), filled(0)),
            later(gpu.memory(), filled(0));
        // Gathers by a kernel, which may hold other copies too, or by copies; or copies one piece.
        const auto job = round % 2 == 0 ? gpu.memory().prepare_copy(odd, 8, {true, true})
                                        : copy_of_four(gpu.memory());
        gpu.set("hold", 1);
        CHECK(!begin(*job, source, target));
        for (int poll = 0; !job->have_stream_await(users.handle()); ++poll) {
          CHECK(poll < 10);
          CHECK(!job->poll());
        }
        users.copy(later, target);
        gpu.set("hold", 0);
        users.await();
        CHECK(later.values() == (round % 2 == 0 ? std::vector<std::int64_t>{2, 4, 1, 0}
                                                : std::vector<std::int64_t>{1, 2, 3, 4}));
        finish(*job);
        // A stream need not wait for a finished job.
        if (round % 2 == 1) CHECK(job->have_stream_await(users.handle()));
      }
      CHECK_EQUAL(gpu.get("misuses"), 0);
    }
  }
}

TEST(a_stream_of_no_gpu_is_refused) {
  const DriverDouble gpu;
  const int here = 0;
  CHECK_THROWS(Fault::argument, device::follow_stream(&here, 0),
               "does not lie in the memory of a GPU");
  const DelayedArray source({1, 2, 3, 4}), target({0, 0, 0, 0});
  const auto job = delayed_memory().prepare_copy({&four, 1}, 8, {true, true});
  CHECK_THROWS(Fault::argument, job->have_stream_await(0), "is not that of a GPU's data");
}

}  // namespace vicinal::device_streams_tests

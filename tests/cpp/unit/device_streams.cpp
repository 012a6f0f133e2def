// Jobs come after what is on the user's streams, and nobody waits for it.
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "driver_double.hpp"
#include "memory/device/device.hpp"

namespace vicinal {
namespace {

using testing::DeviceArray;
using testing::DriverDouble;

constexpr CopyRun four{0, 0, 4};

/// A stream of the user's, by the driver itself.
class UsersStream {
 public:
  explicit UsersStream(const DriverDouble& gpu) : gpu_(gpu), device_(gpu.driver(), 0) {
    const device::Device::Current current(device_);
    gpu_.driver().call(gpu_.driver().calls.create_stream, &stream_, 0U);
  }
  /// Begins to fill.
  void fill(const DeviceArray& array, int byte) {
    const device::Device::Current current(device_);
    gpu_.driver().call(gpu_.driver().calls.fill, static_cast<void*>(array.data()), byte,
                       std::size_t{32}, stream_);
  }
  void be_followed(const DeviceArray& array) const {
    device::follow_stream(array.data(), reinterpret_cast<std::uintptr_t>(stream_));
  }

 private:
  const DriverDouble& gpu_;
  device::Device device_;
  void* stream_ = nullptr;
};

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
      // What is put there later is another matter; and so is another stream, which is followed besides.
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
  // Setting up another one does not, either.
  const auto later = copy_of_four(gpu.memory());
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
  // By jobs that follow nobody any more.
  CHECK(source.values() == filled(9));
}

TEST(a_stream_of_no_gpu_is_refused) {
  const DriverDouble gpu;
  const int here = 0;
  CHECK_THROWS(Fault::argument, device::follow_stream(&here, 0),
               "does not lie in the memory of a GPU");
}

}  // namespace vicinal

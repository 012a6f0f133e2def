// Tests jobs on device memory, with the double of the driver. They do what the host's kernels do,
// for any location of the buffers. They leave nothing behind if a call fails.
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "driver_double.hpp"
#include "memory/device/compiler.hpp"
#include "memory/device/device.hpp"
#include "users_stream.hpp"

namespace vicinal::device_memory_tests {
namespace {

using testing::DeviceArray;
using testing::DriverDouble;

using Bytes = std::vector<std::byte>;

constexpr Sides all_sides[] = {{true, true}, {true, false}, {false, true}};

/// Begins the job, polls until it has finished, and returns the number of polls.
int finish(MemoryJob& job, const std::byte* from, std::byte* to) {
  int polls = 0;
  for (bool done = job.begin(from, to); !done; done = job.poll()) CHECK(++polls < 100'000'000);
  return polls;
}

/// Bytes in device or host memory.
class Side {
 public:
  Side(MemoryKind& kind, bool inside, const Bytes& bytes, std::size_t shift = 0)
      : kind_(kind), inside_(inside), shift_(shift), size_(bytes.size()) {
    if (inside) {
      block_ = MemoryBlock(kind, size_ + shift);
    } else {
      host_.resize(size_ + shift);
    }
    move(bytes.data(), data(), {false, true});
  }
  [[nodiscard]] std::byte* data() { return (inside_ ? block_.data() : host_.data()) + shift_; }
  [[nodiscard]] Bytes bytes() {
    Bytes result(size_);
    move(data(), result.data(), {true, false});
    return result;
  }

 private:
  void move(const std::byte* from, std::byte* to, Sides sides) {
    if (!inside_) {
      std::memcpy(to, from, size_);
      return;
    }
    const CopyRun all{0, 0, static_cast<Index>(size_)};
    finish(*kind_.prepare_copy({&all, 1}, 1, sides), from, to);
  }

  MemoryKind& kind_;
  bool inside_;
  std::size_t shift_;
  std::size_t size_;
  MemoryBlock block_;
  Bytes host_;
};

Bytes random_bytes(std::size_t size, std::mt19937& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 100);
  return bytes;
}

/// Returns lists of runs of every form, with overlapping targets or without; elements are below
/// 3000.
std::vector<std::vector<CopyRun>> lists(std::mt19937& random) {
  std::vector<std::vector<CopyRun>> result{
      {}, {{0, 0, 2000}}, {{7, 1, 0}, {5, 9, 1}, {8, 3000, 0}}};
  for (const int longest : {1, 3, 400}) {
    for (const bool pack : {true, false}) {
      std::vector<CopyRun> runs;
      Index place = 3;
      for (int i = 0; i < 40; ++i) {
        const Index count = 1 + static_cast<Index>(random() % static_cast<unsigned>(longest));
        const Index scattered = static_cast<Index>(random() % 2500U);
        if (place + count > 3000) break;
        runs.push_back(pack ? CopyRun{scattered, place, count} : CopyRun{place, scattered, count});
        place += count;
      }
      result.push_back(runs);
    }
    std::vector<CopyRun> both;
    for (int i = 0; i < 40; ++i) {
      both.push_back({static_cast<Index>(random() % 2500U), static_cast<Index>(random() % 2500U),
                      1 + static_cast<Index>(random() % static_cast<unsigned>(longest))});
    }
    result.push_back(both);
  }
  return result;
}

struct Operator {
  ReduceOp op;
  ElementType type;
};

std::vector<Operator> operators() {
  std::vector<Operator> result;
  for (const ElementType type :
       {ElementType::int8, ElementType::int16, ElementType::int32, ElementType::int64,
        ElementType::uint8, ElementType::uint16, ElementType::uint32, ElementType::uint64,
        ElementType::float32, ElementType::float64}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
      result.push_back({op, type});
  }
  result.push_back({ReduceOp::sum, ElementType::complex64});
  result.push_back({ReduceOp::sum, ElementType::complex128});
  result.push_back({ReduceOp::replace, ElementType::int32});
  return result;
}

/// Checks that copies of every form, between all sides, give the same as the host's kernels.
void compare_copies(MemoryKind& memory) {
  std::mt19937 random(1);
  for (const std::size_t element_bytes : {1, 2, 4, 6, 8, 16, 24}) {
    for (const auto& runs : lists(random)) {
      const Bytes from = random_bytes(3000 * element_bytes, random);
      const Bytes to = random_bytes(3000 * element_bytes, random);
      Bytes expected = to;
      copy_runs(from.data(), expected.data(), runs, element_bytes);
      for (const Sides inside : all_sides) {
        // Device memory is well aligned; a program's addresses need not be.
        for (const std::size_t shift : {0U, 4U, 1U}) {
          Side source(memory, inside.from, from, shift), target(memory, inside.to, to, shift);
          const auto job = memory.prepare_copy(runs, element_bytes, inside);
          finish(*job, source.data(), target.data());
          CHECK(target.bytes() == expected);
        }
      }
    }
  }
}

/// As compare_copies(), for reductions; compares all bits.
void compare_reductions(MemoryKind& memory) {
  std::mt19937 random(2);
  for (const auto& [op, type] : operators()) {
    const std::size_t element_bytes = bytes_of(type) * (1 + random() % 2);
    for (const auto& runs : lists(random)) {
      // Bytes below 100 yield only normal floating-point numbers.
      const Bytes from = random_bytes(3000 * element_bytes, random);
      const Bytes to = random_bytes(3000 * element_bytes, random);
      Bytes expected = to;
      reduce_runs(from.data(), expected.data(), runs, element_bytes, op, type);
      for (const Sides inside : all_sides) {
        Side source(memory, inside.from, from), target(memory, inside.to, to);
        const auto job = memory.prepare_reduction(runs, element_bytes, op, type, inside);
        finish(*job, source.data(), target.data());
        CHECK(target.bytes() == expected);
      }
    }
  }
}

/// Calls `action` for the double of each vendor's driver, with kernels and without. No other test
/// has used these devices for kernels.
template <class Action>
void for_all_doubles(Action action) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    for (const bool kernels : {true, false}) {
      const DriverDouble gpu(path);
      const bool nvidia = gpu.driver().vendor() == device::Driver::Vendor::nvidia;
      if (!kernels && !nvidia) continue;
      gpu.set("no_compiler", kernels ? 0 : 1);
      const long held = gpu.held(), misuses = gpu.get("misuses");
      action(gpu, kernels);
      CHECK_EQUAL(gpu.held(), held);
      CHECK_EQUAL(gpu.get("misuses"), misuses);
    }
  }
}

}  // namespace

TEST(device_memory_is_zeros_at_first) {
  for_all_doubles([](const DriverDouble& gpu, bool) {
    const MemoryBlock block(gpu.memory(), 1000);
    Bytes bytes(1000, std::byte{7});
    const CopyRun all{0, 0, 1000};
    finish(*gpu.memory().prepare_copy({&all, 1}, 1, {true, false}), block.data(), bytes.data());
    CHECK(bytes == Bytes(1000));
    const MemoryBlock pinned(gpu.memory().staging(), 1000);
    CHECK(Bytes(pinned.data(), pinned.data() + 1000) == Bytes(1000));
  });
}

TEST(device_copies_do_what_kernels_of_the_host_do) {
  for_all_doubles([](const DriverDouble& gpu, bool kernels) {
    const long launches = gpu.get("launches");
    compare_copies(gpu.memory());
    CHECK_EQUAL(gpu.get("launches") > launches, kernels);
  });
}

TEST(kernels_that_are_compiled_already_need_no_compiler) {
  if (device::precompiled_kernels().empty())
    testing::skip("CUDA was not there when vicinal was built");
  const DriverDouble gpu;
  gpu.set("takes_precompiled", 1);
  gpu.set("no_compiler", 1);
  const long launches = gpu.get("launches"), compilations = gpu.get("compilations");
  compare_copies(gpu.memory());
  CHECK(gpu.get("launches") > launches);
  CHECK_EQUAL(gpu.get("compilations"), compilations);
}

TEST(device_reductions_do_what_kernels_of_the_host_do) {
  for_all_doubles([](const DriverDouble& gpu, bool) { compare_reductions(gpu.memory()); });
}

TEST(the_gpu_of_this_machine_does_what_kernels_of_the_host_do) {
  MemoryKind& memory = testing::memory_of_a_gpu();
  compare_copies(memory);
  compare_reductions(memory);
}

TEST(what_no_device_reduces_is_refused_as_by_the_host) {
  const DriverDouble gpu;
  const CopyRun run{0, 0, 1};
  const auto prepare = [&](std::size_t bytes, ReduceOp op, ElementType type) {
    static_cast<void>(gpu.memory().prepare_reduction({&run, 1}, bytes, op, type, {}));
  };
  CHECK_THROWS(Fault::operation, prepare(8, ReduceOp::min, ElementType::complex64), "minimum");
  CHECK_THROWS(Fault::type, prepare(6, ReduceOp::sum, ElementType::int32), "no whole number");
  const auto job =
      gpu.memory().prepare_reduction({&run, 1}, 8, ReduceOp::sum, ElementType::int64, {});
  const DeviceArray a(gpu.memory(), {1, 2}), b(gpu.memory(), {3, 4});
  const auto* from = reinterpret_cast<const std::byte*>(a.data());
  auto* to = reinterpret_cast<std::byte*>(b.data());
  CHECK_THROWS(Fault::argument, job->begin(from, to + 4), "no multiple of the 8 bytes");
  finish(*job, from, to);
  CHECK(b.values() == (std::vector<std::int64_t>{4, 4}));
}

TEST(device_jobs_finish_later_and_in_another_order) {
  for_all_doubles([](const DriverDouble& gpu, bool) {
    std::vector<DeviceArray> targets;
    const DeviceArray source(gpu.memory(), {5, 6});
    const std::vector<CopyRun> runs{{1, 0, 1}, {0, 1, 1}};
    std::vector<std::unique_ptr<MemoryJob>> jobs;
    for (int i = 0; i < 24; ++i) {
      targets.emplace_back(gpu.memory(), std::vector<std::int64_t>{-1, -1});
    }
    for (int i = 0; i < 24; ++i) {
      jobs.push_back(gpu.memory().prepare_copy(runs, 8, {}));
    }
    std::vector<int> left, order;
    gpu.set("hold", 1);
    for (int i = 0; i < 24; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool done = jobs[at]->begin(reinterpret_cast<const std::byte*>(source.data()),
                                        reinterpret_cast<std::byte*>(targets[at].data()));
      (done ? order : left).push_back(i);
      gpu.memory().launch();  // each by itself
    }
    CHECK_EQUAL(left.size(), 24U);
    gpu.set("hold", 0);
    while (!left.empty()) {
      std::erase_if(left, [&](int i) {
        if (!jobs[static_cast<std::size_t>(i)]->poll()) return false;
        order.push_back(i);
        return true;
      });
    }
    CHECK(!std::is_sorted(order.begin(), order.end()));
    for (const DeviceArray& target : targets) {
      CHECK(target.values() == (std::vector<std::int64_t>{6, 5}));
    }
  });
}

TEST(device_jobs_that_are_dropped_touch_nothing_afterwards) {
  for_all_doubles([](const DriverDouble& gpu, bool) {
    const std::vector<CopyRun> runs{{1, 0, 1}, {0, 1, 1}};
    for (const Sides inside : all_sides) {
      Side from(gpu.memory(), inside.from, Bytes(16, std::byte{3}));
      Side to(gpu.memory(), inside.to, Bytes(16, std::byte{4}));
      auto job = gpu.memory().prepare_copy(runs, 8, inside);
      gpu.set("hold", 1);
      CHECK(!job->begin(from.data(), to.data()));
      for (int poll = 0; poll < 20; ++poll) CHECK(!job->poll());
      job->drop();
      gpu.set("hold", 0);
      // No work remains pending.
      const Bytes after = to.bytes();
      for (int poll = 0; poll < 20; ++poll) CHECK(to.bytes() == after);
      // The job can begin again, and can be destroyed before it has finished.
      finish(*job, from.data(), to.data());
      CHECK(to.bytes() == Bytes(16, std::byte{3}));
      gpu.set("hold", 1);
      CHECK(!job->begin(from.data(), to.data()));
      job.reset();
      gpu.set("hold", 0);
    }
  });
}

TEST(a_call_that_fails_leaves_nothing_behind) {
  for_all_doubles([](const DriverDouble& gpu, bool) {
    const std::vector<CopyRun> runs{{4, 0, 1}, {0, 2, 1}, {1, 7, 1}};
    const Bytes from(64, std::byte{3}), to(64, std::byte{4});
    for (const Sides inside : all_sides) {
      for (const bool reduces : {false, true}) {
        Side source(gpu.memory(), inside.from, from), target(gpu.memory(), inside.to, to);
        const auto work = [&] {
          const auto job = reduces ? gpu.memory().prepare_reduction(runs, 8, ReduceOp::sum,
                                                                    ElementType::int64, inside)
                                   : gpu.memory().prepare_copy(runs, 8, inside);
          finish(*job, source.data(), target.data());
        };
        work();
        const long held = gpu.held();
        int failed = 0;
        // Repeats until a run finishes before the failing call.
        for (long ahead = 1;; ++ahead) {
          CHECK(ahead < 500);
          const long at = gpu.get("calls") + ahead;
          gpu.set("fail_at", at);
          try {
            work();
          } catch (const Error& error) {
            CHECK(error.fault() == Fault::memory || error.fault() == Fault::device);
            CHECK(std::string(error.what()).find(" has failed with ") != std::string::npos);
            ++failed;
          }
          const bool came_to_it = gpu.get("calls") >= at;
          gpu.set("fail_at", 0);
          CHECK_EQUAL(gpu.held(), held);
          work();
          if (!came_to_it) break;
        }
        CHECK(failed > 5);
      }
    }
  });
}

TEST(a_device_that_fails_while_it_is_set_up_is_set_up_later) {
  const std::vector<std::int64_t> values{1, 2, 3};
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    for (long ahead = 1; ahead < 20; ++ahead) {
      const DriverDouble gpu(path);  // a new driver, whose devices are still unused
      const long held = gpu.held();
      gpu.set("fail_at", gpu.get("calls") + ahead);
      try {
        CHECK(DeviceArray(gpu.memory(), values).values() == values);
      } catch (const Error& error) {
        CHECK(error.fault() == Fault::memory || error.fault() == Fault::device);
      }
      gpu.set("fail_at", 0);
      CHECK_EQUAL(gpu.held(), held);
      CHECK(DeviceArray(gpu.memory(), values).values() == values);
      CHECK_EQUAL(gpu.get("misuses"), 0);
    }
  }
}

}  // namespace vicinal::device_memory_tests

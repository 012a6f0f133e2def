// Copies on a GPU that begin together: one kernel for all, which may fail, and which any may leave.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "driver_double.hpp"
#include "memory/device/device.hpp"
#include "users_stream.hpp"

namespace vicinal::device_batches_tests {
namespace {

using testing::DeviceArray;
using testing::DriverDouble;

constexpr Index words = 40;

/// Copies of each form: words in another order, one piece, and runs of unequal length.
std::vector<CopyRun> runs_of(int number) {
  switch (number % 3) {
    case 0: return {{1, 0, 1}, {0, 1, 1}, {5, 2, 1}};
    case 1: return {{number, 3, words - number - 3}};
    default: return {{0, 7, 2}, {9, 0, 5}, {20, 15, 11}};
  }
}

/// Copies from one array, each to one of its own.
class Copies {
 public:
  Copies(const DriverDouble& gpu, int count) : memory_(gpu.memory()), source_(memory_, numbers()) {
    for (int i = 0; i < count; ++i) {
      targets_.emplace_back(memory_, std::vector<std::int64_t>(words, -1));
      jobs_.push_back(memory_.prepare_copy(runs_of(i % 30), 8, {}));
    }
  }
  void begin() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) CHECK(!begin(i));
  }
  bool begin(std::size_t i) {
    return jobs_[i]->begin(reinterpret_cast<const std::byte*>(source_.data()),
                           reinterpret_cast<std::byte*>(targets_[i].data()));
  }
  /// As before the first.
  void forget() {
    for (DeviceArray& target : targets_) target.fill(std::vector<std::int64_t>(words, -1));
  }
  MemoryJob& job(std::size_t i) { return *jobs_[i]; }
  [[nodiscard]] std::size_t count() const { return jobs_.size(); }
  void finish(std::size_t i) {
    while (!jobs_[i]->poll()) {
    }
  }
  void finish() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) finish(i);
  }
  /// Whether a copy has been done, and nothing else in its target.
  [[nodiscard]] bool is_right(std::size_t i, bool done) const {
    std::vector<std::int64_t> expected(words, -1);
    for (const CopyRun& run : runs_of(static_cast<int>(i) % 30)) {
      for (Index k = 0; k < run.count && done; ++k) {
        expected[static_cast<std::size_t>(run.target + k)] = 100 + run.source + k;
      }
    }
    return targets_[i].values() == expected;
  }

 private:
  static std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> values(words);
    std::iota(values.begin(), values.end(), 100);
    return values;
  }

  MemoryKind& memory_;
  DeviceArray source_;
  std::vector<DeviceArray> targets_;
  std::vector<std::unique_ptr<MemoryJob>> jobs_;
};

/// One copy of many words, in another order.
class Turned {
 public:
  Turned(const DriverDouble& gpu, Index count)
      : source_(gpu.memory(), numbers(count, 0)),
        target_(gpu.memory(), numbers(count, -count)),
        turned_(numbers(count, 0)) {
    std::reverse(turned_.begin(), turned_.end());
    std::vector<CopyRun> runs;
    for (Index i = 0; i < count; ++i) runs.push_back({count - 1 - i, i, 1});
    job_ = gpu.memory().prepare_copy(runs, 8, {});
  }
  void begin() {
    target_.fill(numbers(static_cast<Index>(turned_.size()), 7));
    CHECK(!job_->begin(reinterpret_cast<const std::byte*>(source_.data()),
                       reinterpret_cast<std::byte*>(target_.data())));
  }
  void finish() {
    while (!job_->poll()) {
    }
    CHECK(target_.values() == turned_);
  }
  MemoryJob& job() { return *job_; }

 private:
  static std::vector<std::int64_t> numbers(Index count, std::int64_t first) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
  }

  DeviceArray source_, target_;
  std::vector<std::int64_t> turned_;
  std::unique_ptr<MemoryJob> job_;
};

constexpr Index words_of_a_block = device::Device::threads_per_block;

}  // namespace

TEST(copies_that_begin_together_are_one_kernel) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    {
      Copies copies(gpu, 150);
      for (int round = 0; round < 3; ++round) {
        const long launches = gpu.get("launches"), driver_copies = gpu.get("copies");
        copies.begin();
        gpu.memory().launch();
        copies.finish();
        // As many as fit into one.
        CHECK_EQUAL(gpu.get("launches"), launches + 3);
        CHECK_EQUAL(gpu.get("copies"), driver_copies);
        for (std::size_t i = 0; i < copies.count(); ++i) CHECK(copies.is_right(i, true));
      }
    }
    CHECK_EQUAL(gpu.held(), held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(a_copy_that_begins_alone_is_the_drivers_if_it_is_in_one_piece) {
  const DriverDouble gpu;
  Copies copies(gpu, 2);
  for (const std::size_t i : {0U, 1U}) {
    const long launches = gpu.get("launches"), driver_copies = gpu.get("copies");
    CHECK(!copies.begin(i));
    copies.finish(i);  // which nobody else has launched
    CHECK_EQUAL(gpu.get("launches") - launches, i == 0 ? 1 : 0);
    CHECK_EQUAL(gpu.get("copies") - driver_copies, i == 0 ? 0 : 1);
    CHECK(copies.is_right(i, true));
  }
}

TEST(who_leaves_a_kernel_of_many_is_touched_no_more) {
  const DriverDouble gpu;
  const long held = gpu.held();
  {
    Copies copies(gpu, 6);
    copies.begin();
    copies.job(0).drop();  // before it is launched
    copies.job(4).drop();
    gpu.set("hold", 1);
    gpu.memory().launch();
    CHECK(!copies.job(1).poll());
    copies.job(2).drop();  // which waits for the kernel
    for (const std::size_t i : {1U, 3U, 5U}) CHECK(copies.job(i).poll());
    gpu.set("hold", 0);
    for (const std::size_t i : {1U, 2U, 3U, 5U}) CHECK(copies.is_right(i, true));
    for (const std::size_t i : {0U, 4U}) CHECK(copies.is_right(i, false));
    // All that were begun may leave, and begin again.
    copies.begin();
    for (std::size_t i = 0; i < copies.count(); ++i) copies.job(i).drop();
    gpu.memory().launch();
    copies.begin();
    copies.finish();
    for (std::size_t i = 0; i < copies.count(); ++i) CHECK(copies.is_right(i, true));
  }
  CHECK_EQUAL(gpu.held(), held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(a_kernel_of_many_that_fails_is_told_to_all) {
  const DriverDouble gpu;
  Copies copies(gpu, 5);
  bool came_to_it = true;
  for (long ahead = 1; came_to_it; ++ahead) {
    CHECK(ahead < 200);
    copies.forget();
    const long at = gpu.get("calls") + ahead;
    gpu.set("fail_at", at);
    std::size_t failed = 0;
    std::vector<std::size_t> begun, done;
    for (std::size_t i = 0; i < copies.count(); ++i) {
      try {
        CHECK(!copies.begin(i));
        begun.push_back(i);
      } catch (const Error&) {
        ++failed;
      }
    }
    gpu.memory().launch();
    for (const std::size_t i : begun) {
      try {
        copies.finish(i);
        done.push_back(i);
      } catch (const Error& error) {
        CHECK(error.fault() == Fault::device);
        ++failed;
      }
    }
    came_to_it = gpu.get("calls") >= at;
    if (failed > 0) CHECK(came_to_it);
    gpu.set("fail_at", 0);
    for (const std::size_t i : done) CHECK(copies.is_right(i, true));
    copies.begin();
    copies.finish();
    for (std::size_t i = 0; i < copies.count(); ++i) CHECK(copies.is_right(i, true));
  }
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(a_look_at_a_kernel_that_tells_is_no_call_of_the_drivers) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    for (const int count : {1, 4, 5, 64}) {
      Copies copies(gpu, count);
      for (int round = 0; round < 3; ++round) {
        const long told = gpu.get("words"), held = gpu.held();
        gpu.set("hold", 1);
        copies.begin();
        gpu.memory().launch();
        for (int look = 0; look < 3; ++look) {
          const long calls = gpu.get("calls");
          for (unsigned i = 1; i < device::Batches::looks_per_question; ++i) {
            CHECK(!copies.job(0).poll());
            gpu.memory().launch();
          }
          CHECK_EQUAL(gpu.get("calls"), calls);
          CHECK(!copies.job(0).poll());
          CHECK(gpu.get("calls") > calls);
        }
        gpu.set("hold", 0);
        copies.finish();
        for (std::size_t i = 0; i < copies.count(); ++i) CHECK(copies.is_right(i, true));
        CHECK_EQUAL(gpu.get("words"), told + 1);
        CHECK_EQUAL(gpu.held(), held);
        copies.forget();
      }
    }
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(kernels_of_several_blocks_tell_when_all_are_done) {
  const DriverDouble gpu;
  constexpr Index most = device::Batches::most_telling_blocks;
  Turned small(gpu, 5), some(gpu, 3 * words_of_a_block + 1), all(gpu, most * words_of_a_block),
      more(gpu, most * words_of_a_block + 1);
  for (int round = 0; round < 4; ++round) {
    for (Turned* const one : {&small, &some, &all}) {
      const long told = gpu.get("words");
      one->begin();
      one->finish();
      CHECK_EQUAL(gpu.get("words"), told + 1);
    }
    const long told = gpu.get("words");
    some.begin();
    small.begin();
    gpu.memory().launch();
    small.finish();
    some.finish();
    CHECK_EQUAL(gpu.get("words"), told + 1);
    // Larger ones by an event.
    more.begin();
    more.finish();
    small.begin();
    all.begin();
    gpu.memory().launch();
    all.finish();
    small.finish();
    CHECK_EQUAL(gpu.get("words"), told + 1);
  }
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(more_kernels_under_way_than_there_are_words) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    std::vector<std::unique_ptr<Turned>> turned;
    for (int i = 0; i < 80; ++i) turned.push_back(std::make_unique<Turned>(gpu, 3));
    for (int round = 0; round < 3; ++round) {
      const long told = gpu.get("words");
      // In other batches than the last time.
      for (auto& one : turned) {
        one->begin();
        gpu.memory().launch();
      }
      for (auto one = turned.rbegin(); one != turned.rend(); ++one) (*one)->finish();
      std::swap(turned[3], turned[70]);
      CHECK_EQUAL(gpu.get("words"), told + static_cast<long>(device::Words::count));
    }
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(a_kernel_that_fails_on_the_device_is_told_to_all) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    for (const bool by_word : {true, false}) {
      const DriverDouble gpu(path);
      gpu.set("no_words", by_word ? 0 : 1);
      for (const int count : {3, 9}) {
        for (const bool one_leaves : {false, true}) {
          Copies copies(gpu, count);
          gpu.set("fail_kernel", gpu.get("launches") + 1);
          copies.begin();
          gpu.memory().launch();
          if (one_leaves) copies.job(0).drop();
          for (std::size_t i = one_leaves ? 1 : 0; i < copies.count(); ++i) {
            CHECK_THROWS(Fault::device, copies.finish(i), by_word ? "Query" : "EventQuery");
            CHECK(copies.is_right(i, false));
          }
          copies.begin();
          copies.finish();
          for (std::size_t i = 0; i < copies.count(); ++i) CHECK(copies.is_right(i, true));
        }
      }
      CHECK_EQUAL(gpu.get("misuses"), 0);
    }
  }
}

TEST(a_stream_may_wait_for_a_kernel_that_tells_by_a_word) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const long held = gpu.held();
    {
      testing::UsersStream users(gpu);
      Copies copies(gpu, 3);
      for (int round = 0; round < 4; ++round) {
        gpu.set("hold", 1);
        copies.begin();
        gpu.memory().launch();
        CHECK(!copies.job(1).poll());
        for (const std::size_t i : {0U, 2U}) {
          CHECK(copies.job(i).have_stream_await(users.handle()));
        }
        CHECK(!copies.job(1).poll());
        gpu.set("hold", 0);
        users.await();
        for (std::size_t i = 0; i < copies.count(); ++i) CHECK(copies.is_right(i, true));
        // Whose event it is may go first, and well or not.
        if (round % 2 == 0) copies.job(0).drop();
        if (round % 2 == 1) copies.finish(0);
        copies.finish(1);
        copies.finish(2);
        copies.forget();
      }
    }
    CHECK_EQUAL(gpu.held(), held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(without_memory_for_words_events_tell) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    Copies(gpu, 1).begin();  // which sets the device up
    const long held = gpu.held();
    bool came_to_it = true, by_events = false;
    for (long ahead = 1; came_to_it; ++ahead) {
      const long at = gpu.get("calls") + ahead, told = gpu.get("words");
      gpu.set("fail_at", at);
      try {
        Copies copies(gpu, 1);
        came_to_it = gpu.get("calls") >= at;
        gpu.set("fail_at", 0);
        copies.begin();
        copies.finish();
        CHECK(copies.is_right(0, true));
        by_events = by_events || gpu.get("words") == told;
      } catch (const Error&) {
        CHECK(gpu.get("calls") >= at);
      }
      gpu.set("fail_at", 0);
      CHECK_EQUAL(gpu.held(), held);
    }
    CHECK(by_events);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

}  // namespace vicinal::device_batches_tests

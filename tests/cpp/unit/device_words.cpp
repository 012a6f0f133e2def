// Tests kernels on a GPU that report their end by completion flags.
#include <memory>
#include <utility>
#include <vector>

#include "check.hpp"
#include "device_copies.hpp"
#include "driver_double.hpp"
#include "users_stream.hpp"

namespace vicinal::device_words_tests {
namespace {

using testing::Copies;
using testing::DriverDouble;
using testing::ReversedCopy;
using testing::UsersStream;

constexpr Index words_of_a_block = device::Device::threads_per_block;

}  // namespace

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
  ReversedCopy small(gpu, 5), some(gpu, 3 * words_of_a_block + 1),
      all(gpu, most * words_of_a_block), more(gpu, most * words_of_a_block + 1);
  for (int round = 0; round < 4; ++round) {
    for (ReversedCopy* const one : {&small, &some, &all}) {
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
    // Larger kernels report by an event.
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

TEST(more_kernels_in_progress_than_there_are_words) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    std::vector<std::unique_ptr<ReversedCopy>> reversed_copies;
    for (int i = 0; i < 80; ++i) reversed_copies.push_back(std::make_unique<ReversedCopy>(gpu, 3));
    for (int round = 0; round < 3; ++round) {
      const long told = gpu.get("words");
      // In different batches than before.
      for (auto& one : reversed_copies) one->forget();
      gpu.set("hold", 1);
      for (auto& one : reversed_copies) {
        one->begin_at_once();
        gpu.memory().launch();
      }
      gpu.set("hold", 0);
      for (auto one = reversed_copies.rbegin(); one != reversed_copies.rend(); ++one)
        (*one)->finish();
      std::swap(reversed_copies[3], reversed_copies[70]);
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
      UsersStream users(gpu);
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
        // The copy that owns the event may go first, dropped or finished.
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
    Copies(gpu, 1).begin();  // sets the device up
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

}  // namespace vicinal::device_words_tests

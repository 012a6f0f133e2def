// Tests copies on a GPU that begin together in one kernel, which may fail, and from which each copy
// may be dropped.
#include <memory>
#include <vector>

#include "check.hpp"
#include "device_copies.hpp"
#include "driver_double.hpp"

namespace vicinal::device_batches_tests {
namespace {

using testing::Copies;
using testing::DriverDouble;
using testing::ReversedCopy;

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
        // As many as fit into one kernel.
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
    copies.finish(i);  // launches it
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
    copies.job(0).drop();  // before the launch
    copies.job(4).drop();
    gpu.set("hold", 1);
    gpu.memory().launch();
    CHECK(!copies.job(1).poll());
    copies.job(2).drop();  // waits for the kernel
    for (const std::size_t i : {1U, 3U, 5U}) CHECK(copies.job(i).poll());
    gpu.set("hold", 0);
    for (const std::size_t i : {1U, 2U, 3U, 5U}) CHECK(copies.is_right(i, true));
    for (const std::size_t i : {0U, 4U}) CHECK(copies.is_right(i, false));
    // All copies that have begun may be dropped and begin again.
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

}  // namespace vicinal::device_batches_tests

// Tests bounce buffers for memory that the processor cannot access: their layout, their copies, and
// their reuse.
#include "memory/bounce_buffer.hpp"

#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "driver_double.hpp"

namespace vicinal::bounce_buffers_tests {
namespace {

/// Progress function that does nothing.
void nothing() noexcept {}

using testing::DelayedArray;
using testing::DeviceArray;
using testing::DriverDouble;

UserBytes stretch(const std::int64_t* values, std::int64_t first, std::int64_t count) {
  return {reinterpret_cast<std::byte*>(const_cast<std::int64_t*>(values + first)), count * 8};
}

const std::byte* at(const std::int64_t* values, std::int64_t first) {
  return reinterpret_cast<const std::byte*>(values + first);
}

std::int64_t value_at(const std::byte* place) {
  std::int64_t value = 0;
  std::memcpy(&value, place, sizeof value);
  return value;
}

std::vector<std::int64_t> hundred() {
  std::vector<std::int64_t> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  return values;
}

}  // namespace

TEST(bounce_buffers_have_each_byte_once_and_what_touches_side_by_side) {
  const DriverDouble gpu;
  const DeviceArray array(gpu.memory(), hundred());
  const std::int64_t* const values = array.data();
  BounceBufferPool pool;
  BounceBuffer fetched(pool, gpu.memory(), BounceBuffer::Direction::fetched,
                       BounceBuffer::From::one_buffer,
                       {stretch(values, 50, 2), stretch(values, 10, 5), stretch(values, 0, 0),
                        stretch(values, 15, 5), stretch(values, 12, 4), stretch(values, 90, 1)});
  fetched.copy(nothing);
  for (const std::int64_t i : {10, 14, 15, 19, 12, 50, 51, 90}) {
    CHECK_EQUAL(value_at(fetched.at(at(values, i))), i);
  }
  CHECK_EQUAL(fetched.at(at(values, 19)) - fetched.at(at(values, 10)), 72);
  // Stretches keep their alignment within a cache line relative to each other.
  CHECK_EQUAL((fetched.at(at(values, 50)) - fetched.at(at(values, 10))) % 64, 40 * 8 % 64);
}

TEST(bounce_buffers_bring_back_nothing_but_their_stretches) {
  const DriverDouble gpu;
  const DeviceArray array(gpu.memory(), std::vector<std::int64_t>(100, -1));
  const std::int64_t* const values = array.data();
  BounceBufferPool pool;
  BounceBuffer back(pool, gpu.memory(), BounceBuffer::Direction::brought_back,
                    BounceBuffer::From::one_buffer,
                    {stretch(values, 20, 2), stretch(values, 60, 3), stretch(values, 22, 1),
                     stretch(values, 24, 1)});
  for (const std::int64_t i : {20, 21, 22, 24, 60, 61, 62}) {
    std::memcpy(back.at(at(values, i)), &i, sizeof i);
  }
  back.copy(nothing);
  std::vector<std::int64_t> expected(100, -1);
  for (const int i : {20, 21, 22, 24, 60, 61, 62}) expected[static_cast<std::size_t>(i)] = i;
  CHECK(array.values() == expected);
}

TEST(bounce_buffers_of_stretches_in_allocations_of_their_own) {
  const DriverDouble gpu;
  const DeviceArray one(gpu.memory(), hundred()), two(gpu.memory(), hundred()),
      to(gpu.memory(), hundred()), to_another(gpu.memory(), hundred());
  BounceBufferPool pool;
  BounceBuffer fetched(pool, gpu.memory(), BounceBuffer::Direction::fetched,
                       BounceBuffer::From::anywhere,
                       {stretch(one.data(), 5, 3), stretch(two.data(), 90, 10)});
  fetched.copy(nothing);
  CHECK_EQUAL(value_at(fetched.at(at(one.data(), 7))), 7);
  CHECK_EQUAL(value_at(fetched.at(at(two.data(), 99))), 99);
  BounceBuffer back(pool, gpu.memory(), BounceBuffer::Direction::brought_back,
                    BounceBuffer::From::anywhere,
                    {stretch(to.data(), 5, 1), stretch(to_another.data(), 0, 1)});
  const std::int64_t value = -3;
  for (const std::byte* place : {at(to.data(), 5), at(to_another.data(), 0)}) {
    std::memcpy(back.at(place), &value, sizeof value);
  }
  back.copy(nothing);
  CHECK_EQUAL(to.values()[5], value);
  CHECK_EQUAL(to_another.values()[0], value);
  CHECK_EQUAL(to_another.values()[1], 1);
}

TEST(bounce_buffers_of_what_touches_are_one_copy) {
  const DriverDouble gpu;
  const DeviceArray array(gpu.memory(), hundred());
  BounceBufferPool pool;
  BounceBuffer fetched(pool, gpu.memory(), BounceBuffer::Direction::fetched,
                       BounceBuffer::From::one_buffer,
                       {stretch(array.data(), 0, 10), stretch(array.data(), 10, 30)});
  const long crossings = gpu.get("crossings"), launches = gpu.get("launches");
  fetched.copy(nothing);
  CHECK_EQUAL(gpu.get("crossings"), crossings + 1);
  CHECK_EQUAL(gpu.get("launches"), launches);
}

TEST(bounce_buffers_that_are_alike_find_what_the_last_had) {
  const DriverDouble gpu;
  const long before = gpu.held();
  const DeviceArray array(gpu.memory(), hundred()), other(gpu.memory(), hundred());
  {
    BounceBufferPool pool;
    const auto fetch = [&](const std::int64_t* values, std::int64_t count) {
      BounceBuffer fetched(pool, gpu.memory(), BounceBuffer::Direction::fetched,
                           BounceBuffer::From::one_buffer,
                           {stretch(values, 0, count), stretch(values, 60, count)});
      fetched.copy(nothing);
      CHECK_EQUAL(value_at(fetched.at(at(values, 60 + count - 1))), 60 + count - 1);
    };
    fetch(array.data(), 7);
    const long held = gpu.held(), pinned = gpu.get("pinned_blocks");
    // As above, at other addresses.
    const long events = gpu.get("events");
    fetch(other.data(), 7);
    CHECK_EQUAL(gpu.get("events"), events);
    CHECK_EQUAL(gpu.held(), held);
    // Others reuse the block, but have their own job.
    fetch(other.data(), 20);
    CHECK_EQUAL(gpu.get("pinned_blocks"), pinned);
    std::vector<std::unique_ptr<BounceBuffer>> many;
    for (int i = 0; i < 20; ++i) {
      many.push_back(std::make_unique<BounceBuffer>(
          pool, gpu.memory(), BounceBuffer::Direction::brought_back, BounceBuffer::From::one_buffer,
          std::vector<UserBytes>{stretch(array.data(), i, 1)}));
    }
    many.clear();
    CHECK_EQUAL(gpu.get("pinned_blocks"),
                pinned - 1 + static_cast<long>(BounceBufferPool::most_idle));
  }
  CHECK_EQUAL(gpu.held(), before + 2);  // the arrays
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

TEST(bounce_buffers_that_go_while_they_are_copied_leave_nothing_in_progress) {
  const DriverDouble gpu;
  const DeviceArray array(gpu.memory(), hundred());
  BounceBufferPool pool;
  for (int i = 0; i < 5; ++i) {
    BounceBuffer fetched(pool, gpu.memory(), BounceBuffer::Direction::fetched,
                         BounceBuffer::From::one_buffer, {stretch(array.data(), i, 50)});
    fetched.begin();
  }
  CHECK_EQUAL(gpu.get("misuses"), 0);
  delayed_memory().hold();
  const DelayedArray there(hundred());
  {
    BounceBuffer fetched(pool, delayed_memory(), BounceBuffer::Direction::fetched,
                         BounceBuffer::From::one_buffer, {stretch(there.data(), 1, 5)});
    fetched.begin();
    CHECK(!fetched.poll());
    CHECK_EQUAL(delayed_memory().in_progress(), 1);
  }
  CHECK_EQUAL(delayed_memory().in_progress(), 0);
  delayed_memory().let_go();
}

TEST(a_driver_that_fails_at_any_call_of_a_bounce_buffer_leaves_nothing_behind) {
  const DriverDouble gpu;
  const DeviceArray array(gpu.memory(), hundred());
  const long held = gpu.held();
  for (long ahead = 1, calls = 0; calls == 0 || ahead <= calls; ++ahead) {
    BounceBufferPool pool;
    const long before = gpu.get("calls");
    gpu.set("fail_at", before + ahead);
    const auto fetch = [&] {
      BounceBuffer fetched(pool, gpu.memory(), BounceBuffer::Direction::fetched,
                           BounceBuffer::From::one_buffer,
                           {stretch(array.data(), 0, 7), stretch(array.data(), 60, 9)});
      fetched.copy(nothing);
      CHECK_EQUAL(value_at(fetched.at(at(array.data(), 68))), 68);
    };
    try {
      fetch();
      if (gpu.get("calls") < before + ahead) calls = gpu.get("calls") - before;
    } catch (const Error& error) {
      CHECK(error.fault() == Fault::memory || error.fault() == Fault::device);
    }
    gpu.set("fail_at", 0);
    fetch();  // the pool still works
    if (ahead > 1000) break;
  }
  CHECK_EQUAL(gpu.held(), held);
  CHECK_EQUAL(gpu.get("misuses"), 0);
}

}  // namespace vicinal::bounce_buffers_tests

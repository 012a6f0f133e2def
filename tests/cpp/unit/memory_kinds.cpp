// Tests kinds of memory: which one holds an address, and jobs that finish later.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>
#include <vector>

#include "arrays.hpp"
#include "check.hpp"
#include "memory/kind.hpp"

namespace vicinal::memory_kinds_tests {
namespace {

using testing::DelayedArray;

std::vector<std::int64_t> numbers(std::int64_t count, std::int64_t first = 0) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

std::byte* bytes(std::int64_t* numbers) { return reinterpret_cast<std::byte*>(numbers); }
const std::byte* bytes(const std::int64_t* numbers) {
  return reinterpret_cast<const std::byte*>(numbers);
}

/// Begins the job, polls until it has finished, and returns the number of polls.
int finish(MemoryJob& job, const void* from, void* to) {
  int polls = 0;
  if (job.begin(static_cast<const std::byte*>(from), static_cast<std::byte*>(to))) return 0;
  do {
    CHECK(++polls < 100);
  } while (!job.poll());
  return polls;
}

}  // namespace

TEST(memory_that_no_kind_holds_is_the_hosts) {
  const int here = 0;
  CHECK_EQUAL(&kind_of(&here), &host_memory());
  CHECK_EQUAL(&kind_of(nullptr), &host_memory());
  std::byte* freed = nullptr;
  {
    const DelayedArray array(numbers(1000));
    freed = bytes(array.data());
    CHECK_EQUAL(&kind_of(array.data()), &delayed_memory());
    CHECK_EQUAL(&kind_of(array.data() + 999), &delayed_memory());
    CHECK_EQUAL(&kind_of(array.data() + 1000), &host_memory());
    CHECK_EQUAL(&kind_of(bytes(array.data()) - 1), &host_memory());
    CHECK_THROWS(Fault::unsupported, require_reachable(array.data(), "send buffer"),
                 "the send buffer lies in delayed memory");
  }
  CHECK_EQUAL(&kind_of(freed), &host_memory());
  require_reachable(&here, "send buffer");
}

TEST(memory_blocks_hold_zeros_and_serve_what_fits) {
  MemoryBlock block(host_memory(), 100);
  for (std::size_t i = 0; i < block.size(); ++i) CHECK(block.data()[i] == std::byte{0});
  CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(block.data()) % 64, 0U);
  CHECK(block.serves(host_memory(), 60));
  CHECK(!block.serves(host_memory(), 101));
  CHECK(!block.serves(delayed_memory(), 60));
  std::byte* const data = block.data();
  const MemoryBlock moved = std::move(block);
  CHECK_EQUAL(moved.data(), data);
  CHECK(MemoryBlock(delayed_memory(), 0).data() == nullptr);
}

TEST(delayed_memory_is_out_of_reach) {
  const DelayedArray array(numbers(10));
  int ends[2] = {};
  CHECK_EQUAL(pipe(ends), 0);
  // The system call returns an error where a load or store would raise a signal.
  CHECK_EQUAL(write(ends[1], array.data(), 8), -1);
  CHECK_EQUAL(errno, EFAULT);
  CHECK_EQUAL(write(ends[1], "12345678", 8), 8);
  CHECK_EQUAL(read(ends[0], array.data(), 8), -1);
  CHECK_EQUAL(errno, EFAULT);
  for (const int end : ends) close(end);
  CHECK(array.values() == numbers(10));
}

TEST(delayed_jobs_do_what_kernels_do) {
  const std::vector<CopyRun> lists[] = {{{0, 0, 20}},                       // copy
                                        {{3, 0, 1}, {9, 1, 1}, {4, 2, 2}},  // gather
                                        {{0, 3, 1}, {1, 9, 2}, {3, 4, 1}},  // scatter
                                        {{5, 3, 1}, {8, 9, 3}, {1, 12, 7}}};
  for (const auto& runs : lists) {
    const std::vector<std::int64_t> from = numbers(20, 100);
    std::vector<std::int64_t> copied = numbers(20), summed = numbers(20);
    copy_runs(bytes(from.data()), bytes(copied.data()), runs, 8);
    reduce_runs(bytes(from.data()), bytes(summed.data()), runs, 8, ReduceOp::sum,
                ElementType::int64);
    const DelayedArray source(from);
    DelayedArray target(numbers(20));
    const auto copy = delayed_memory().prepare_copy(runs, 8, {});
    const auto reduction =
        delayed_memory().prepare_reduction(runs, 8, ReduceOp::sum, ElementType::int64, {});
    for (int repeat = 0; repeat < 10; ++repeat) {
      target.fill(numbers(20));
      finish(*copy, source.data(), target.data());
      CHECK(target.values() == copied);
      target.fill(numbers(20));
      finish(*reduction, from.data(), target.data());  // from host memory
      CHECK(target.values() == summed);
      std::vector<std::int64_t> fetched = numbers(20);
      finish(*copy, source.data(), fetched.data());
      CHECK(fetched == copied);
    }
  }
  CHECK_EQUAL(delayed_memory().in_progress(), 0);
}

TEST(delayed_jobs_finish_in_another_order) {
  const std::vector<CopyRun> runs{{0, 0, 1}};
  std::int64_t from = 5;
  std::vector<DelayedArray> targets;
  std::vector<std::unique_ptr<MemoryJob>> jobs;
  std::vector<int> left, order;
  for (int i = 0; i < 24; ++i) {
    targets.emplace_back(numbers(1, -1));
    jobs.push_back(delayed_memory().prepare_copy(runs, 8, {}));
    (jobs.back()->begin(bytes(&from), bytes(targets.back().data())) ? order : left).push_back(i);
  }
  CHECK(!order.empty() && !left.empty());
  for (const int i : left) CHECK(targets[static_cast<std::size_t>(i)].values() == numbers(1, -1));
  from = 6;  // pending copies have not read the source
  while (!left.empty()) {
    std::erase_if(left, [&](int i) {
      if (!jobs[static_cast<std::size_t>(i)]->poll()) return false;
      CHECK(targets[static_cast<std::size_t>(i)].values() == numbers(1, 6));
      order.push_back(i);
      return true;
    });
  }
  CHECK(!std::is_sorted(order.begin(), order.end()));
}

TEST(dropped_jobs_touch_nothing) {
  const std::vector<CopyRun> runs{{0, 0, 3}};
  const std::vector<std::int64_t> from = numbers(3, 7);
  DelayedArray target(numbers(3));
  auto job = delayed_memory().prepare_copy(runs, 8, {});
  delayed_memory().hold();
  CHECK(!job->begin(bytes(from.data()), bytes(target.data())));
  for (int poll = 0; poll < 50; ++poll) CHECK(!job->poll());
  CHECK_EQUAL(delayed_memory().in_progress(), 1);
  job->drop();
  CHECK_EQUAL(delayed_memory().in_progress(), 0);
  CHECK(!job->begin(bytes(from.data()), bytes(target.data())));
  job.reset();
  CHECK_EQUAL(delayed_memory().in_progress(), 0);
  delayed_memory().let_go();
  CHECK(target.values() == numbers(3));
}

TEST(a_failing_job_can_be_begun_again) {
  const std::vector<CopyRun> runs{{0, 0, 3}};
  const std::vector<std::int64_t> from = numbers(3, 7);
  DelayedArray target(numbers(3));
  const auto job = delayed_memory().prepare_copy(runs, 8, {});
  delayed_memory().fail_next();
  CHECK_THROWS(Fault::memory, finish(*job, from.data(), target.data()), "delayed memory");
  CHECK(target.values() == numbers(3));
  finish(*job, from.data(), target.data());
  CHECK(target.values() == from);
}

TEST(tests_can_treat_the_hosts_memory_as_another_kind) {
  const int here = 0;
  CHECK_EQUAL(&treat_host_memory_as(delayed_memory()), &host_memory());
  CHECK_EQUAL(&kind_of(&here), &delayed_memory());
  require_reachable(&here, "send buffer");  // the address does lie there
  CHECK_EQUAL(&treat_host_memory_as(host_memory()), &delayed_memory());
  CHECK_EQUAL(&kind_of(&here), &host_memory());
  static const int elsewhere = 0;
  treat_host_memory_as(delayed_memory(), [](const void* it) { return it == &elsewhere; });
  CHECK_EQUAL(&kind_of(&here), &host_memory());
  CHECK_EQUAL(&kind_of(&elsewhere), &delayed_memory());
  treat_host_memory_as(host_memory(), nullptr);
}

}  // namespace vicinal::memory_kinds_tests

// Tests that compiled copy lists and reductions give the same as the plain loop over runs, in every
// form.
#include "memory/kernels.hpp"

#include <complex>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"

namespace vicinal::kernels_tests {
namespace {

using Form = CompiledRuns::Form;
using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, std::mt19937& random) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

/// Compiles the runs, checks the form, and compares the result with copy_runs().
void check_copy(const std::vector<CopyRun>& runs, std::size_t element_bytes, Form form,
                int word_bytes) {
  std::mt19937 random(7);
  const Bytes from = random_bytes(4096, random);
  Bytes expected = random_bytes(4096, random);
  Bytes found = expected;
  copy_runs(from.data(), expected.data(), runs, element_bytes);
  const CompiledRuns compiled = compile(runs, element_bytes);
  run(compiled, from.data(), found.data());
  CHECK(found == expected);
  CHECK_EQUAL(static_cast<int>(compiled.form), static_cast<int>(form));
  CHECK_EQUAL(compiled.word_bytes, word_bytes);
  CHECK_EQUAL(compiled.bytes, total(runs) * static_cast<Index>(element_bytes));
}

TEST(kernels_classify_copy_lists) {
  check_copy({}, 8, Form::nothing, 0);
  check_copy({{3, 5, 0}}, 8, Form::nothing, 0);
  check_copy({{3, 5, 4}}, 0, Form::nothing, 0);
  check_copy({{3, 5, 10}}, 8, Form::block, 0);
  check_copy({{3, 5, 10}, {13, 15, 4}}, 8, Form::block, 0);
  check_copy({{3, 0, 1}, {9, 1, 1}, {4, 2, 1}}, 8, Form::pack, 8);
  check_copy({{3, 7, 1}, {9, 8, 1}, {4, 9, 1}}, 4, Form::pack, 4);
  check_copy({{0, 3, 1}, {1, 9, 1}, {2, 4, 1}}, 8, Form::unpack, 8);
  check_copy({{5, 3, 2}, {7, 9, 2}}, 2, Form::unpack, 4);
  check_copy({{5, 3, 1}, {8, 9, 1}}, 8, Form::scatter, 8);
  check_copy({{5, 3, 1}, {8, 9, 1}}, 16, Form::scatter, 16);
  check_copy({{5, 3, 1}, {8, 9, 3}}, 8, Form::scatter, 8);
  check_copy({{5, 3, 1}, {8, 9, 30}}, 8, Form::pieces, 0);
  check_copy({{5, 3, 1}, {8, 9, 1}}, 3, Form::pieces, 0);
  check_copy({{5, 3, 1}, {8, 9, 1}}, 1, Form::pieces, 0);
}

TEST(kernels_copy_random_lists) {
  std::mt19937 random(11);
  for (const std::size_t element_bytes : {1, 2, 3, 4, 8, 12, 16, 24}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<CopyRun> runs;
      const auto span = static_cast<Index>(4096 / element_bytes);
      const Index longest = 1 + static_cast<Index>(random() % 6);
      for (Index target = 0; target + longest < span && runs.size() < 40;) {
        const Index count = 1 + static_cast<Index>(random()) % longest;
        const Index source = static_cast<Index>(random()) % (span - count);
        runs.push_back({source, target, count});
        target += count + static_cast<Index>(random() % 2);
      }
      const Bytes from = random_bytes(4096, random);
      Bytes expected(4096);
      Bytes found(4096);
      copy_runs(from.data(), expected.data(), runs, element_bytes);
      run(compile(runs, element_bytes), from.data(), found.data());
      CHECK(found == expected);
      // Copies back, with source and target exchanged.
      std::vector<CopyRun> back;
      for (const CopyRun& one : runs) back.push_back({one.target, one.source, one.count});
      Bytes expected_back(4096);
      Bytes found_back(4096);
      copy_runs(expected.data(), expected_back.data(), back, element_bytes);
      run(compile(back, element_bytes), found.data(), found_back.data());
      CHECK(found_back == expected_back);
    }
  }
}

TEST(kernels_use_wide_offsets_beyond_2_gib) {
  const Index far = Index{1} << 40;
  const CompiledRuns pack = compile(std::vector<CopyRun>{{far, 0, 1}, {0, 1, 1}}, 8);
  CHECK(pack.sources32.empty());
  CHECK_EQUAL(pack.sources64.size(), std::size_t{2});
  CHECK_EQUAL(pack.sources64[0], far * 8);
  const CompiledRuns near = compile(std::vector<CopyRun>{{7, 0, 1}, {0, 1, 1}}, 8);
  CHECK(near.sources64.empty());
  CHECK_EQUAL(near.sources32.size(), std::size_t{2});

  // Runs wide offsets on small buffers, since 64-bit lists may hold small offsets.
  std::vector<std::int64_t> from{10, 11, 12};
  std::vector<std::int64_t> to(2);
  CompiledRuns wide;
  wide.form = Form::pack;
  wide.word_bytes = 8;
  wide.sources64 = {16, 0};
  run(wide, reinterpret_cast<const std::byte*>(from.data()),
      reinterpret_cast<std::byte*>(to.data()));
  CHECK(to == (std::vector<std::int64_t>{12, 10}));
}

TEST(kernels_use_wide_offsets_on_the_side_that_needs_them) {
  const Index far = Index{1} << 40;
  const CompiledRuns unpack = compile(std::vector<CopyRun>{{0, far, 1}, {1, 0, 1}}, 8);
  CHECK_EQUAL(static_cast<int>(unpack.form), static_cast<int>(Form::unpack));
  CHECK(unpack.targets32.empty());
  CHECK((unpack.targets64 == std::vector<std::int64_t>{far * 8, 0}));
  const CompiledRuns scatter = compile(std::vector<CopyRun>{{5, far, 1}, {9, 0, 1}}, 8);
  CHECK(scatter.sources32.empty() && scatter.targets32.empty());
  CHECK((scatter.sources64 == std::vector<std::int64_t>{40, 72}));
  CHECK((scatter.targets64 == std::vector<std::int64_t>{far * 8, 0}));
  // 2^31 bytes just exceed 32 bits.
  const Index edge = Index{1} << 28;
  CHECK(compile(std::vector<CopyRun>{{0, edge - 1, 1}, {1, 0, 1}}, 8).targets32.empty());
  CHECK_EQUAL(compile(std::vector<CopyRun>{{0, edge - 2, 1}, {1, 0, 1}}, 8).targets32.size(),
              std::size_t{2});
}

TEST(reductions_use_wide_offsets_on_either_side) {
  const Index far = Index{1} << 40;
  for (const CopyRun distant : {CopyRun{far, 0, 1}, CopyRun{0, far, 1}}) {
    const std::vector<CopyRun> runs{distant, {1, 1, 1}};
    const auto compiled = compile_reduction(runs, 8, ReduceOp::sum, ElementType::float64);
    CHECK(compiled.sources32.empty() && compiled.targets32.empty());
    CHECK_EQUAL(compiled.pieces.size(), std::size_t{2});
    CHECK_EQUAL(compiled.pieces[0].source, distant.source * 8);
    CHECK_EQUAL(compiled.pieces[0].target, distant.target * 8);
  }
  const auto near =
      compile_reduction(std::vector<CopyRun>{{1, 1, 1}}, 8, ReduceOp::sum, ElementType::float64);
  CHECK_EQUAL(near.sources32.size(), std::size_t{1});
}

TEST(kernels_refuse_impossible_lists) {
  CHECK_THROWS(Fault::internal, compile(std::vector<CopyRun>{{-1, 0, 1}}, 8), "source -1");
  CHECK_THROWS(Fault::internal, compile(std::vector<CopyRun>{{0, 0, -2}}, 8), "count -2");
  CHECK_THROWS(Fault::count, compile(std::vector<CopyRun>{{Index{1} << 62, 0, 1}}, 8),
               "64-bit addresses");
}

template <class T>
std::vector<T> reduce(std::vector<T> target, const std::vector<T>& source,
                      const std::vector<CopyRun>& runs, ReduceOp op, ElementType type,
                      std::size_t values = 1) {
  CHECK_EQUAL(bytes_of(type), sizeof(T));
  reduce_runs(reinterpret_cast<const std::byte*>(source.data()),
              reinterpret_cast<std::byte*>(target.data()), runs, values * sizeof(T), op, type);
  return target;
}

template <class T>
void check_reductions(ElementType type) {
  const std::vector<T> source{5, 1, 7, 3};
  const std::vector<T> target{4, 4, 4, 4};
  const std::vector<CopyRun> singles{{0, 1, 1}, {2, 1, 1}, {3, 0, 1}};
  CHECK((reduce(target, source, singles, ReduceOp::sum, type) == std::vector<T>{7, 16, 4, 4}));
  CHECK((reduce(target, source, singles, ReduceOp::min, type) == std::vector<T>{3, 4, 4, 4}));
  CHECK((reduce(target, source, singles, ReduceOp::max, type) == std::vector<T>{4, 7, 4, 4}));
  CHECK((reduce(target, source, singles, ReduceOp::replace, type) == std::vector<T>{3, 7, 4, 4}));
  const std::vector<CopyRun> stretches{{0, 1, 3}, {0, 0, 2}};
  CHECK((reduce(target, source, stretches, ReduceOp::sum, type) == std::vector<T>{9, 10, 5, 11}));
  CHECK((reduce(target, source, stretches, ReduceOp::min, type) == std::vector<T>{4, 1, 1, 4}));
  CHECK(
      (reduce(target, source, {{1, 0, 1}}, ReduceOp::sum, type, 2) == std::vector<T>{11, 7, 4, 4}));
}

TEST(kernels_reduce_every_type) {
  check_reductions<std::int8_t>(ElementType::int8);
  check_reductions<std::int16_t>(ElementType::int16);
  check_reductions<std::int32_t>(ElementType::int32);
  check_reductions<std::int64_t>(ElementType::int64);
  check_reductions<std::uint8_t>(ElementType::uint8);
  check_reductions<std::uint16_t>(ElementType::uint16);
  check_reductions<std::uint32_t>(ElementType::uint32);
  check_reductions<std::uint64_t>(ElementType::uint64);
  check_reductions<float>(ElementType::float32);
  check_reductions<double>(ElementType::float64);
  using Single = std::complex<float>;
  using Double = std::complex<double>;
  CHECK((reduce<Single>({{1, 2}}, {{3, -4}}, {{0, 0, 1}}, ReduceOp::sum, ElementType::complex64) ==
         std::vector<Single>{{4, -2}}));
  CHECK((reduce<Double>({{1, 2}}, {{3, -4}}, {{0, 0, 1}}, ReduceOp::sum, ElementType::complex128) ==
         std::vector<Double>{{4, -2}}));
}

TEST(kernels_reduce_in_the_order_of_runs) {
  // In another order, rounding would lose other small values.
  const std::vector<double> source{1e16, 1.0, 1.0, -1e16};
  const std::vector<CopyRun> forward{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}};
  const std::vector<CopyRun> reordered{{1, 0, 1}, {2, 0, 1}, {0, 0, 1}, {3, 0, 1}};
  const std::vector<double> zero{0.0};
  CHECK_EQUAL(reduce(zero, source, forward, ReduceOp::sum, ElementType::float64)[0],
              ((1e16 + 1.0) + 1.0) - 1e16);
  CHECK_EQUAL(reduce(zero, source, reordered, ReduceOp::sum, ElementType::float64)[0],
              ((1.0 + 1.0) + 1e16) - 1e16);
}

TEST(kernels_reduce_single_values_beyond_what_32_bits_reach) {
  constexpr Index near = 10, far = Index{1} << 28;  // 2 GiB of doubles
  for (const CopyRun& run : {CopyRun{far, near, 1}, CopyRun{near, far, 1}}) {
    const CompiledReduction compiled =
        compile_reduction({{run}}, 8, ReduceOp::sum, ElementType::float64);
    CHECK(compiled.sources32.empty() && compiled.targets32.empty());
    CHECK_EQUAL(compiled.pieces.size(), std::size_t{1});
    CHECK_EQUAL(compiled.pieces[0].source, run.source * 8);
    CHECK_EQUAL(compiled.pieces[0].target, run.target * 8);
  }
}

TEST(kernels_wrap_integer_sums_around) {
  const std::vector<std::int32_t> most{2147483647};
  CHECK_EQUAL(reduce(most, {1}, {{0, 0, 1}}, ReduceOp::sum, ElementType::int32)[0],
              -2147483647 - 1);
}

TEST(kernels_refuse_impossible_reductions) {
  const std::vector<CopyRun> runs{{0, 0, 1}};
  CHECK_THROWS(Fault::operation,
               compile_reduction(runs, 16, ReduceOp::max, ElementType::complex128), "no order");
  CHECK_THROWS(Fault::type, compile_reduction(runs, 12, ReduceOp::sum, ElementType::float64),
               "no whole number");
}

}  // namespace
}  // namespace vicinal::kernels_tests

// Tests a pool of numbers that are taken and returned.
#include "base/number_pool.hpp"

#include "check.hpp"

namespace vicinal::number_pool_tests {

TEST(numbers_in_use_are_not_given_out_again) {
  NumberPool pool(4);
  for (std::int64_t number = 0; number < 4; ++number) CHECK_EQUAL(pool.take().value_or(-1), number);
  CHECK(!pool.take());
  CHECK(pool.give_back(2));
  CHECK(!pool.give_back(2));
  CHECK(!pool.give_back(7));
  // The next number would be 0, which is in use.
  CHECK_EQUAL(pool.take().value_or(-1), std::int64_t{2});
  CHECK(!pool.take());
}

TEST(numbers_are_given_out_again_as_late_as_possible) {
  NumberPool pool(5);
  for (std::int64_t i = 0; i < 12; ++i) {
    const std::int64_t number = pool.take().value_or(-1);
    CHECK_EQUAL(number, i % 5);
    CHECK(pool.give_back(number));
  }
  CHECK(!NumberPool(0).take());
}

}  // namespace vicinal::number_pool_tests

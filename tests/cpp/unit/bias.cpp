// Tests the biases that a user gives for planners.
#include "negotiate/choice.hpp"

#include "check.hpp"

namespace vicinal::bias_tests {

TEST(a_bias_is_a_list_of_planners_and_factors) {
  const auto bias = Bias::read("direct:0.8,aggregate:1.25,two-step:3");
  CHECK(bias.has_value());
  CHECK_EQUAL(bias->of("direct"), 0.8);
  CHECK_EQUAL(bias->of("aggregate"), 1.25);
  CHECK_EQUAL(bias->of("two-step"), 3.0);
  CHECK_EQUAL(bias->of("split"), 1.0);
  CHECK_EQUAL(bias->text(), std::string("direct:0.8,aggregate:1.25,two-step:3"));
  CHECK(Bias::read("")->text().empty());
}

TEST(what_is_no_bias_is_none) {
  for (const char* wrong :
       {"direct", "direct:", "direct:x", "direct:0", "direct:-1", "direct:inf", "direct:nan",
        "fastest:1", ":1", "direct:1,", ",direct:1", "direct:1,,split:1", "direct:1,direct:2",
        "direct:1 ", "direct:1e999", "direct:1;split:2", ","}) {
    if (Bias::read(wrong)) testing::fail_check(__FILE__, __LINE__, wrong, " was taken for a bias");
  }
}

TEST(a_bias_of_relaying_is_that_of_leaders_over_that_of_straight_messages) {
  CHECK_EQUAL(Bias().of_relaying(), 1.0);
  CHECK_EQUAL(Bias::read("direct:0.5")->of_relaying(), 2.0);
  CHECK_EQUAL(Bias::read("aggregate:3,direct:2")->of_relaying(), 1.5);
  CHECK_EQUAL(Bias::read("aggregate:3,split:5")->of_relaying(), 5.0);
}

}  // namespace vicinal::bias_tests

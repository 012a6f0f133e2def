// Tests the values that all ranks must have in common.
#include "base/given.hpp"

#include "base/setting.hpp"
#include "check.hpp"

namespace vicinal::given_tests {

TEST(versions_that_differ_are_told_whatever_else_differs) {
  const std::vector<Given> mine = given_by_process();
  std::vector<Given> theirs = mine;
  CHECK_EQUAL(fingerprint(mine), fingerprint(theirs));
  CHECK_EQUAL(mine.front().value.value_or(""), std::string(VICINAL_VERSION_STRING));
  theirs.front().value = "99.0.0";
  theirs.back().value = "another";
  CHECK(fingerprint(mine) != fingerprint(theirs));
  const std::string text = difference(mine, 0, theirs, 3).value().what();
  CHECK(text.find("the version of vicinal is '" VICINAL_VERSION_STRING
                  "' on rank 0, but '99.0.0' on rank 3") == 0);
}

}  // namespace vicinal::given_tests

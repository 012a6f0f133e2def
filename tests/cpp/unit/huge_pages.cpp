// Tests arrays in huge pages, which behave the same if the system has none.
#include "memory/pages.hpp"

#include <cstdint>
#include <vector>

#include "check.hpp"

namespace vicinal::huge_pages_tests {
namespace {

struct alignas(64) Line {
  int number = 0;
};

using Lines = std::vector<Line, HugePages<Line>>;

}  // namespace

TEST(arrays_in_huge_pages_are_arrays) {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{100003}}) {
    Lines lines;
    for (std::size_t i = 0; i < count; ++i) lines.push_back({static_cast<int>(i)});
    CHECK(reinterpret_cast<std::uintptr_t>(lines.data()) % sizeof(Line) == 0);
    const Lines copied = lines;
    lines.clear();
    lines.shrink_to_fit();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += copied[i].number != static_cast<int>(i);
    CHECK_EQUAL(wrong, 0U);
  }
}

}  // namespace vicinal::huge_pages_tests

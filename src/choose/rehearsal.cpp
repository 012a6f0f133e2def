// Executions on scratch memory.
#include "choose/rehearsal.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/runs.hpp"
#include "choose/executions.hpp"

namespace vicinal {

namespace {

/// An array as large as the program's. Its pages are touched unless they are many, so that all
/// plans find them alike.
class Scratch {
 public:
  Scratch(Index elements, std::int64_t element_bytes) {
    constexpr std::size_t most_touched = std::size_t{64} << 20;
    const auto bytes = static_cast<std::size_t>(product(elements, element_bytes));
    bytes_.reset(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(bytes, 1), 1)));
    require(bytes_ != nullptr, Fault::memory, "no memory to try a plan on");
    if (bytes <= most_touched) std::memset(bytes_.get(), 0x2a, bytes);
  }
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

/// Arrays as large as the pattern requires. A single plan may touch less, since it reads each item
/// in one place only.
struct Arrays {
  Scratch source, target;
  Arrays(const Pattern& pattern, std::int64_t element_bytes)
      : source(source_extent(pattern), element_bytes),
        target(target_extent(pattern), element_bytes) {}

  static Index source_extent(const Pattern& pattern) {
    Index extent = 0;
    for (const OutEdge& edge : pattern.out) {
      for (const ItemRun& run : edge.items) extent = std::max(extent, run.position + run.count);
    }
    return extent;
  }
  static Index target_extent(const Pattern& pattern) {
    Index extent = 0;
    for (const InEdge& edge : pattern.in) {
      for (const CopyRun& run : edge.slots) extent = std::max(extent, run.target + run.count);
    }
    return extent;
  }
};

}  // namespace

void rehearse(const Chosen& chosen, const Pattern& pattern, std::int64_t element_bytes) {
  std::optional<Arrays> arrays;
  Binding binding;
  try {
    arrays.emplace(pattern, element_bytes);
    binding.source = arrays->source.data();
    binding.target = arrays->target.data();
    binding.element_bytes = element_bytes;
  } catch (const std::exception&) {
    arrays.reset();
  }
  Executions executions(chosen, false, 0);
  // This rank knows the decision for execution `number` before it starts it, so all ranks stop at
  // the same number.
  for (std::int64_t number = 0;; ++number) {
    static_cast<void>(chosen.contest->await_plan(number));
    if (chosen.contest->is_settled(number)) return;
    try {
      if (!arrays) {
        executions.start_after_failure();
        executions.wait_idle();
      } else {
        executions.start(binding);
        executions.wait();
      }
    } catch (const std::exception&) {
      continue;  // the contest has noted that this execution has no time
    }
  }
}

}  // namespace vicinal

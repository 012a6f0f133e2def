// A plan on trial: executed on memory that nobody else uses, and timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "choose/council.hpp"
#include "execute/execution.hpp"

namespace vicinal {

class Trial {
 public:
  /// Of the plan's first channel, in both directions where it has two. Never throws for what this rank lacks: its
  /// executions are at fault then, in step with the others'.
  Trial(const std::shared_ptr<AgreedPlan>& plan, std::int64_t element_bytes);

  /// Executes each direction so many times in a row. Nanoseconds for one of each; `untimed` where any was at fault.
  std::int64_t run(int times);

 private:
  /// An array as large as a user's must be. Where that is small enough it is filled, so that it lies in memory of
  /// its own.
  class Scratch {
   public:
    Scratch(Index elements, std::int64_t element_bytes);
    [[nodiscard]] std::byte* data() const { return bytes_.get(); }

   private:
    struct Free {
      void operator()(std::byte* bytes) const;
    };
    std::unique_ptr<std::byte, Free> bytes_;
  };
  struct Direction {
    std::optional<Scratch> source, target;
    std::optional<Binding> binding;        ///< nothing where there is no memory for it
    std::unique_ptr<Execution> execution;  ///< null where there is no channel for it
  };

  bool execute(Direction& direction);

  std::vector<Direction> directions_;
};

/// Times plans in turn, round after round, each warmed up. Collective over the component, like all that is made of the
/// times: nanoseconds by plan, of each round those of the slowest rank, and of these the median; `untimed` where it
/// could not be executed on all ranks.
Numbers time_plans(Council& council, std::span<const std::shared_ptr<AgreedPlan>> plans,
                   std::int64_t element_bytes);

/// The median of the rounds in which all ranks have a time; `untimed` where there is none.
std::int64_t median_of(Numbers rounds);

}  // namespace vicinal

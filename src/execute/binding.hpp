// What a plan is made concrete with: buffers, element size, operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/runs.hpp"
#include "execute/combine.hpp"
#include "execute/events.hpp"

namespace vicinal {

struct Binding {
  const std::byte* source = nullptr;  ///< user's memory, read during an execution
  std::byte* target = nullptr;        ///< user's memory, written during an execution
  std::int64_t element_bytes = 1;     ///< of all that moves for one element of the plan
  Combine combine;                    ///< for reverse plans
  std::shared_ptr<Events> events;     ///< for plans with triggers and notifications

  // Several vectors exchanged together: an element is `pieces` pieces of element_bytes / pieces bytes,
  // and in the user's buffers piece v lies v * stride bytes further on.
  Index pieces = 1;
  std::int64_t piece_unit = 1;  ///< a size that divides pieces and strides, for the copy kernels
  std::int64_t source_stride = 0;
  std::int64_t target_stride = 0;

  friend bool operator==(const Binding&, const Binding&) = default;
};

}  // namespace vicinal

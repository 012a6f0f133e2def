// Binds a plan to buffers, an element size and an operator.
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
  std::int64_t element_bytes = 1;     ///< bytes that move for one element of the plan
  Combine combine;                    ///< for reverse plans
  std::shared_ptr<Events> events;     ///< for plans with triggers and notifications

  // For several vectors that are exchanged together. An element consists of `pieces` pieces of
  // element_bytes / pieces bytes. Piece v lies v * stride bytes after piece 0 in the user's
  // buffers.
  Index pieces = 1;
  std::int64_t piece_unit = 1;  ///< divides pieces and strides; the unit of the copy kernels
  std::int64_t source_stride = 0;
  std::int64_t target_stride = 0;

  friend bool operator==(const Binding&, const Binding&) = default;
};

}  // namespace vicinal

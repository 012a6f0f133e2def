// Numbers and tags of the graphs of a communicator. They follow from the order of creation, so
// ranks exchange nothing for them.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/communicator.hpp"

namespace vicinal {

/// Returns the number of the next graph. It is identical on all ranks, since they must create
/// graphs in the same order. No other communicator of this process uses it, so a late control
/// message matches nothing. Allocates no memory.
std::int64_t next_graph_number(mpi::Communicator& communicator) noexcept;

/// Tags for messages outside of plans. No other live graph of this rank on the communicator has
/// them.
class GraphTags {
 public:
  static constexpr int kinds = 6;  ///< kinds of calls, and overflow messages of the first two
  static constexpr int tags_per_kind = 8;  ///< calls of a kind that have different tags

  /// Throws a memory fault if a live graph has the same tags.
  GraphTags(std::shared_ptr<mpi::Communicator> communicator, std::int64_t graph);
  GraphTags(const GraphTags&) = delete;
  GraphTags& operator=(const GraphTags&) = delete;
  ~GraphTags();
  [[nodiscard]] int tag(int kind, int slot) const { return first_ + kind * tags_per_kind + slot; }

 private:
  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t block_ = 0;
  int first_ = 0;
};

}  // namespace vicinal

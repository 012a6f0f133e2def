// How the graphs of a communicator are numbered, and the tags that follow from that: no rank has to tell
// another of either.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/communicator.hpp"

namespace vicinal {

/// The number of another graph: the same on all ranks when graphs are created in the same order, as they
/// must be; and used on no other communicator of this process, so that a letter that comes late meets
/// nobody. Needs no memory.
std::int64_t next_graph_number(mpi::Communicator& communicator) noexcept;

/// Tags for the messages of calls that have no plan. No other live graph of this rank on the communicator
/// has them.
class GraphTags {
 public:
  static constexpr int kinds =
      6;  ///< of calls, and of what departs from the plans of the first two
  static constexpr int turns = 8;  ///< calls of a kind that are told apart

  /// A memory fault where a graph that is still alive has the same tags.
  GraphTags(std::shared_ptr<mpi::Communicator> communicator, std::int64_t graph);
  GraphTags(const GraphTags&) = delete;
  GraphTags& operator=(const GraphTags&) = delete;
  ~GraphTags();
  [[nodiscard]] int tag(int kind, int turn) const { return first_ + kind * turns + turn; }

 private:
  std::shared_ptr<mpi::Communicator> communicator_;
  std::int64_t block_ = 0;
  int first_ = 0;
};

}  // namespace vicinal

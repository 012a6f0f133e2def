// Writes plans, so that planners name what they mean and the bookkeeping of buffers and dependencies
// stands in one place. Every function that adds an operation returns its number, for `after`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace vicinal {

class PlanBuilder {
 public:
  PlanBuilder(int rank, int size, std::string_view planner, bool reverse);

  int staging(Index extent);
  /// A slot that this rank owns.
  int own_slot(std::int64_t slot, Index extent, int peers);
  /// A slot of `owner` in which this rank is peer `index`.
  int far_slot(std::int64_t slot, Index extent, int owner, int index);

  int copy(Phase phase, int from, int to, std::vector<CopyRun> runs, std::vector<int> after);
  int reduce(Phase phase, int from, int to, std::vector<CopyRun> runs, std::vector<int> after);
  int send(Phase phase, bool local, int from, Index offset, Index count, int peer, std::int64_t tag,
           std::vector<int> after);
  int receive(Phase phase, bool local, int to, Index offset, Index count, int peer,
              std::int64_t tag, std::vector<int> after);
  /// Flag -1 is the owner's.
  int signal(Phase phase, int slot, int flag, std::vector<int> after);
  /// `peer`: whose flag it is, -1 where that is not known.
  int await(Phase phase, int slot, int flag, int lag, int peer = -1, std::vector<int> after = {});

  /// Sends what `runs` take from `from` into a message of `count` elements: straight from the buffer
  /// where they are one stretch, else by way of a staging buffer.
  void pack_and_send(Phase phase, bool local, int from, const std::vector<CopyRun>& runs,
                     Index count, int peer, std::int64_t tag, std::vector<int> after);
  /// Receives a message of `count` elements and puts it where `runs` say, likewise.
  /// Returns the number of the last operation.
  int receive_and_unpack(Phase phase, bool local, int to, const std::vector<CopyRun>& runs,
                         Index count, int peer, std::int64_t tag);

  /// Ends the building: user buffers get the extents that the operations need.
  Plan finish();

 private:
  int add(Operation operation);
  int add_buffer(Buffer buffer);

  Plan plan_;
};

}  // namespace vicinal

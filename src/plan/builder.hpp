// Builds plans. Planners say what they need, and the builder keeps track of buffers and
// dependencies. Every function that adds an operation returns its number, for `after`.
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
  /// Adds a slot that this rank owns.
  int own_slot(std::int64_t slot, Index extent, int peers);
  /// Adds a slot of `owner` in which this rank is peer `index`.
  int far_slot(std::int64_t slot, Index extent, int owner, int index);

  int copy(Phase phase, int from, int to, std::vector<CopyRun> runs, std::vector<int> after);
  int reduce(Phase phase, int from, int to, std::vector<CopyRun> runs, std::vector<int> after);
  int send(Phase phase, bool local, int from, Index offset, Index count, int peer, std::int64_t tag,
           std::vector<int> after);
  int receive(Phase phase, bool local, int to, Index offset, Index count, int peer,
              std::int64_t tag, std::vector<int> after);
  /// Flag -1 is the owner's.
  int signal(Phase phase, int slot, int flag, std::vector<int> after);
  /// `peer` is the rank that sets the flag, or -1 if unknown.
  int await(Phase phase, int slot, int flag, int lag, int peer = -1, std::vector<int> after = {});

  /// Sends the elements that `runs` select in `from`, as a message of `count` elements. A single
  /// run is sent directly from the buffer; several runs are packed into a staging buffer first.
  void pack_and_send(Phase phase, bool local, int from, const std::vector<CopyRun>& runs,
                     Index count, int peer, std::int64_t tag, std::vector<int> after);
  /// Receives a message of `count` elements and copies its elements as `runs` say. A single run
  /// that covers the message is received directly. Returns the number of the last operation.
  int receive_and_unpack(Phase phase, bool local, int to, const std::vector<CopyRun>& runs,
                         Index count, int peer, std::int64_t tag);

  /// Ends the construction: sets the extents of the user's buffers to what the operations touch.
  Plan finish();

 private:
  int add(Operation operation);
  int add_buffer(Buffer buffer);

  Plan plan_;
};

}  // namespace vicinal

// A call as one message per edge, straight between the users' buffers, posted when it begins.
//
// A rank whose call has failed sends one empty message along each edge all the same, and takes in what
// comes for it, however long: so the others come to their end, and find that what was due is missing. No
// other call may receive with the tags of this one before that is over.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "collectives/call.hpp"
#include "collectives/edge_data.hpp"
#include "mpi/messages.hpp"

namespace vicinal {

/// The edges of a graph, and its tags. Kept apart from the graph, which may be freed before its calls.
struct DirectRoute {
  std::shared_ptr<mpi::Communicator> communicator;
  std::shared_ptr<const mpi::GraphTags> tags;
  std::vector<int> sources;
  std::vector<int> destinations;
};

class DirectCall final : public Call {
 public:
  /// Edges to the own rank are served at once. Throws where the arguments do not fit each other there.
  DirectCall(std::shared_ptr<const DirectRoute> route, int tag, EdgeData send, EdgeData receive,
             std::shared_ptr<const Call> after);
  void name_awaited(std::ostream& out) const override;

 private:
  void begin() override;
  bool poll() override;
  [[nodiscard]] bool wants_progress() const override { return false; }

  std::shared_ptr<const DirectRoute> route_;
  int tag_;
  EdgeData send_;
  EdgeData receive_;
  std::vector<mpi::KeptType> types_;  ///< where it begins after the user may have freed theirs
  mpi::MessageBatch messages_;
};

/// The call of a rank at fault.
class FailedDirectCall final : public Call {
 public:
  FailedDirectCall(std::shared_ptr<const DirectRoute> route, int tag,
                   std::shared_ptr<const Call> after)
      : Call(std::move(after)), route_(std::move(route)), tag_(tag) {}
  void name_awaited(std::ostream& out) const override;

 private:
  void begin() override;
  bool poll() override;
  [[nodiscard]] bool wants_progress() const override { return true; }
  [[nodiscard]] bool holds_tags() const override { return true; }

  std::shared_ptr<const DirectRoute> route_;
  int tag_;
  std::vector<mpi::Stray> strays_;
};

}  // namespace vicinal

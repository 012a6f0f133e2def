// A call as one message per edge, straight between the users' buffers, posted when it begins.
//
// A rank whose call has failed sends one empty message along each edge all the same, and takes in what
// comes for it, however long: so the others come to their end, and find that what was due is missing. No
// other call may receive with the tags of this one before that is over.
#pragma once

#include <mpi.h>

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/call.hpp"
#include "collectives/call_data.hpp"
#include "mpi/messages.hpp"

namespace vicinal {

/// The edges of a graph, and its tags. Kept apart from the graph, which may be freed before its calls.
struct DirectRoute {
  std::shared_ptr<mpi::Communicator> communicator;
  std::shared_ptr<const GraphTags> tags;
  std::vector<int> sources;
  std::vector<int> destinations;
};

/// How long a message to a piece may be that has more than `without` bytes.
mpi::MessageBatch::Length length_of(const EdgePiece& piece, const EdgeData& receive,
                                    std::int64_t without);

/// Copies a piece to another that has room for it, of whatever type. A count fault where that does not fit.
void copy_piece(const EdgeData& send, const EdgePiece& from, const EdgeData& receive,
                const EdgePiece& to, MPI_Comm communicator);

/// Tells once of receive counts that announce more than was sent.
void note_room_left() noexcept;

/// Goes on with a sentence: "messages from ranks 1 2, to rank 5".
void name_messages(std::ostream& out, mpi::MessageBatch::Due due,
                   const std::vector<mpi::Stray>& strays);

class DirectCall final : public Call {
 public:
  /// Edges to the own rank are served before it begins. Throws where the arguments do not fit each other there.
  /// Without data it is the call of a rank at fault, as is each message that cannot be posted.
  DirectCall(std::shared_ptr<const DirectRoute> route, int tag, std::optional<CallData> data,
             std::shared_ptr<const Call> after);
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;
  ~DirectCall() override { leave_dump(); }
  void name_what_is_due(std::ostream& out) const override;

 private:
  bool may_begin() override;
  Fetch look_at_fetch() noexcept override {
    if (!data_ || !data_->is_fetched()) return Fetch::nothing;
    return data_->is_fetching() ? Fetch::under_way : Fetch::over;
  }
  void begin() override;
  bool poll(Polls polls) override;
  [[nodiscard]] bool wants_progress() const override { return !strays_.empty(); }
  [[nodiscard]] bool holds_tags() const override;
  void post_receive(std::size_t edge, int peer);
  void post_send(std::size_t edge, int peer);

  std::shared_ptr<const DirectRoute> route_;
  int tag_;
  std::optional<CallData> data_;
  bool own_are_copied_ = true;        ///< between the edges of this rank to itself
  std::vector<mpi::KeptType> types_;  ///< where it begins after the user may have freed theirs
  mpi::MessageBatch messages_;
  std::vector<mpi::Stray> strays_;  ///< in the place of receives
  std::exception_ptr refused_;      ///< the first thing that has failed
};

}  // namespace vicinal

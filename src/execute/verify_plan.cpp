// The proof goes on where the planner has ended, so that whoever left the planning is heard of here too.
#include "execute/verify_plan.hpp"

#include <utility>

#include "mpi/drive.hpp"

namespace vicinal {

namespace {

/// Later than any superstep of a planner, of which there are a few for each power of two of ranks.
constexpr int first_superstep = 1 << 20;

}  // namespace

void verify_agreed(mpi::Communicator& communicator, mpi::ConversationKey key,
                   const Neighborhood& neighborhood, const Plans& plans, const Pattern& pattern,
                   std::optional<Error> fault) {
  if (!neighborhood.has_edges()) return;
  Conversation conversation;
  conversation.skip(first_superstep);
  Task<Done> task = prove(conversation, neighborhood, plans, pattern, std::move(fault));
  mpi::drive(communicator, key, conversation, task);
}

}  // namespace vicinal

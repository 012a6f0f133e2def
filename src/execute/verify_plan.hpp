// Plans proved at run time, where VICINAL_VERIFY=1 or the info key vicinal_verify asks for it.
#pragma once

#include <optional>

#include "mpi/communicator.hpp"
#include "mpi/mailbox.hpp"
#include "planners/proof.hpp"

namespace vicinal {

/// As prove(), over MPI, in the conversation in which the plans were agreed on. Returns at once on a rank
/// without edges.
void verify_agreed(mpi::Communicator& communicator, mpi::ConversationKey key,
                   const Neighborhood& neighborhood, const Plans& plans, const Pattern& pattern,
                   std::optional<Error> fault = std::nullopt);

}  // namespace vicinal

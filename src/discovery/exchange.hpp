// A sparse dynamic data exchange: each rank knows whom it sends to, and none whom it receives from.
// Two of the algorithms of Geyko and Bienz, "A Locality-Aware Sparse Dynamic Data Exchange" (2023):
//
//   personalized (algorithm 1): a reduction of counts tells each rank how many letters will come.
//     Sends need no acknowledgement, but each rank gives a count for every other: wins on few
//     ranks.
//   nonblocking (algorithm 2; Hoefler et al. 2010, "NBX"): letters are sent so that their sender
//     learns of their receipt, and a rank whose letters were all received enters a nonblocking
//     consensus; when that is complete, nothing can be on its way. Log(ranks) steps, nothing per
//     rank.
#pragma once

#include <optional>
#include <vector>

#include "base/conversation.hpp"
#include "discovery/agreement.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

enum class Method { personalized, nonblocking };

/// The method that is likely the faster. All ranks must use the same, so it depends on nothing that
/// only one of them knows, such as how many letters it has.
[[nodiscard]] Method choose_method(int size);

/// Delivers each letter of the outbox to its peer; returns those that are for this rank, ordered by
/// sender, then as sent. Letters may be empty, go to the own rank (without MPI), and be several to
/// one peer. Collective: all ranks give the same method.
///
/// A rank may come with a finding instead of letters, or address a rank that does not exist; then
/// every rank throws as agree() does, at no cost to an exchange without a fault.
std::vector<Letter> exchange(mpi::Communicator& communicator, std::vector<Letter> outbox,
                             Method method, std::optional<Finding> mine = std::nullopt);

}  // namespace vicinal

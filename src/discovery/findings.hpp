// Faults in collective discovery. If one rank refuses its arguments, every rank throws, so that
// none waits forever. A user may see the message of any rank, so each message contains what the
// failed rank reported.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/given.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Runs a collective of discovery, even if there is a fault already. Its fault becomes `fault` if
/// there is none yet. `step` may throw only after all ranks have completed it: a rank that leaves in
/// the middle would be out of step.
template <class Step>
void attempt_together(std::optional<Error>& fault, Step step) {
  try {
    step();
  } catch (const std::exception&) {
    if (!fault) fault = current_fault();
  }
}

/// Agrees on success: returns if no rank has a fault. Otherwise a rank with a fault throws it, and
/// the others throw the fault of the lowest such rank: as Fault::elsewhere, or unchanged if it is on
/// all ranks, since the input of several ranks conflicts. Replaces each of `numbers` by its minimum over all ranks. If the settings `given` differ,
/// every rank throws an info fault that names two ranks and both values. Collective: one allreduce,
/// and two broadcasts after a fault.
void agree(mpi::Communicator& communicator, const std::optional<Error>& mine,
           std::span<std::int64_t> numbers = {}, std::span<const Given> given = {});

/// The parts of agree(), for a reduction that is part of another operation. The caller passes the
/// minimum of all votes to settle(), with the finding that it passed to vote().
[[nodiscard]] std::int64_t vote(const mpi::Communicator& communicator,
                                const std::optional<Error>& mine);
void settle(mpi::Communicator& communicator, std::int64_t least_vote,
            const std::optional<Error>& mine);

}  // namespace vicinal

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

/// A fault that this rank has found.
struct Finding {
  Finding(Error what, bool shared = false) : error(std::move(what)), common(shared) {}
  Error error;
  bool common;  ///< the input of several ranks conflicts: every rank throws the error unchanged
};

/// Runs a local step, unless there is a finding already. Its exception becomes the finding.
template <class Step>
void attempt(std::optional<Finding>& finding, Step step) {
  if (finding) return;
  try {
    step();
  } catch (const std::exception&) {
    finding.emplace(current_fault());
  }
}

/// Runs a collective of discovery, even if there is a finding already. Its fault becomes the
/// finding if there is none yet. `step` may throw only after all ranks have completed it: a rank
/// that leaves in the middle would be out of step.
template <class Fault, class Step>
void attempt_together(std::optional<Fault>& finding, Step step) {
  try {
    step();
  } catch (const std::exception&) {
    if (!finding) finding.emplace(current_fault());
  }
}

/// Agrees on success: returns if no rank has a finding. Otherwise a rank with a finding throws it, and
/// the others throw the finding of the lowest such rank: as Fault::elsewhere, or unchanged if it is
/// common. Replaces each of `numbers` by its minimum over all ranks. If the settings `given` differ,
/// every rank throws an info fault that names two ranks and both values. Collective: one allreduce,
/// and two broadcasts after a fault.
void agree(mpi::Communicator& communicator, const std::optional<Finding>& mine,
           std::span<std::int64_t> numbers = {}, std::span<const Given> given = {});

/// The parts of agree(), for a reduction that is part of another operation. The caller passes the
/// minimum of all votes to settle(), with the finding that it passed to vote().
[[nodiscard]] std::int64_t vote(const mpi::Communicator& communicator,
                                const std::optional<Finding>& mine);
void settle(mpi::Communicator& communicator, std::int64_t least_vote,
            const std::optional<Finding>& mine);

}  // namespace vicinal

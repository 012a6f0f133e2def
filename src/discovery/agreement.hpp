// Discovery is collective. Where one rank refuses what it was given, the others must not be left
// waiting for it, so every rank throws; and since a person may see the message of any one of them,
// each message says what the rank at fault saw.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// A fault that this rank has seen.
struct Finding {
  Finding(Error what, bool shared = false) : error(std::move(what)), common(shared) {}
  Error error;
  bool common;  ///< what several ranks gave does not fit together: every rank throws it as it is
};

/// Runs a step that only looks at this rank's arguments, unless there is a finding already; its fault,
/// if any, becomes the finding.
template <class Step>
void attempt(std::optional<Finding>& finding, Step step) {
  if (finding) return;
  try {
    step();
  } catch (const Error& error) {
    finding.emplace(error);
  }
}

/// Returns where no rank has a finding. Elsewhere a rank that has one throws it, and the others
/// throw the lowest such rank's: as Fault::elsewhere, or as it is where it is common. Collective;
/// one allreduce, and two broadcasts where there is a fault.
void agree(mpi::Communicator& communicator, const std::optional<Finding>& mine);

/// agree() where the allreduce is part of another operation: the least vote of all ranks is to be
/// given to settle(), with the same finding.
[[nodiscard]] std::int64_t vote(const mpi::Communicator& communicator,
                                const std::optional<Finding>& mine);
void settle(mpi::Communicator& communicator, std::int64_t least_vote,
            const std::optional<Finding>& mine);

}  // namespace vicinal

// Discovery is collective. Where one rank refuses what it was given, the others must not be left
// waiting for it, so every rank throws; and since a person may see the message of any one of them,
// each message says what the rank at fault saw.
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

/// A fault that this rank has seen.
struct Finding {
  Finding(Error what, bool shared = false) : error(std::move(what)), common(shared) {}
  Error error;
  bool common;  ///< what several ranks gave does not fit together: every rank throws it as it is
};

/// Runs a step of this rank alone, unless there is a finding already; its fault, whatever it is, becomes
/// the finding.
template <class Step>
void attempt(std::optional<Finding>& finding, Step step) {
  if (finding) return;
  try {
    step();
  } catch (const std::exception&) {
    finding.emplace(current_fault());
  }
}

/// Runs a collective of discovery, whatever this rank has found; its fault becomes the finding where there is none yet. Only
/// what it throws at its end, when all are through it: whoever has left it in the middle could not go on in step.
template <class Fault, class Step>
void attempt_together(std::optional<Fault>& finding, Step step) {
  try {
    step();
  } catch (const Error& error) {
    if (!finding) finding.emplace(error);
  }
}

/// Returns where no rank has a finding. Elsewhere a rank that has one throws it, and the others
/// throw the lowest such rank's: as Fault::elsewhere, or as it is where it is common. Collective;
/// one allreduce, and two broadcasts where there is a fault.
void share_findings(mpi::Communicator& communicator, const std::optional<Finding>& mine);

/// For what all ranks must do in the same way: throws as share_findings() does, and where they have not given the
/// same settings an info fault that names two ranks and both values, on every rank. Each of the numbers
/// becomes the least of all ranks'. Collective; costs what share_findings() does.
void agree_on(mpi::Communicator& communicator, std::span<const Given> given,
              const std::optional<Finding>& mine, std::span<std::int64_t> numbers = {});

/// share_findings() where the allreduce is part of another operation: the least vote of all ranks is to be
/// given to settle(), with the same finding.
[[nodiscard]] std::int64_t vote(const mpi::Communicator& communicator,
                                const std::optional<Finding>& mine);
void settle(mpi::Communicator& communicator, std::int64_t least_vote,
            const std::optional<Finding>& mine);

}  // namespace vicinal

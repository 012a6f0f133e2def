// The planners that a contest measures: those that are the best somewhere, the likely ones first.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "choose/joining.hpp"
#include "mpi/communicator.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

/// Largest number of contenders that are timed. One that does the same as an earlier one on all
/// ranks is not timed.
inline constexpr std::size_t most_timed = 4;

/// Returns the planners that a contest may try for these options, `automatic` first. The others are
/// one message per edge, a relay by one leader for each pair of regions, and one by several leaders
/// or steps. Equal options give equal lists.
std::vector<std::string_view> contenders(const PlanOptions& options);

/// As contenders(), for an exchange that already uses the plan of `automatic`. `forecast`: the
/// largest of all ranks, in any unit. Leaves out plans that are expected to take several times as
/// long, or to do what that plan does.
std::vector<std::string_view> contenders_in_use(const PlanOptions& options, const Machine& machine,
                                                const Forecast& forecast);

/// Name of the contender whose executions are calls of the MPI library's own collective.
inline constexpr std::string_view mpis_own = "MPI's own";

/// Upper bound of the number of contenders.
inline constexpr std::size_t most_contenders = 16;

/// Returns the key for the negotiation of the contender at `place`. Other values of `place` serve
/// other conversations about the exchange.
mpi::ConversationKey contender_key(mpi::ConversationKey of_exchange, std::size_t place);

/// Returns a number for what plans do, apart from the names of tags and slots. If it is equal on
/// all ranks for two plans, their messages are equal.
std::uint64_t fingerprint(const Plan& plan);
std::uint64_t fingerprint(const Plans& plans);

/// Returns the indices of the planned contenders to time. `planned`: for each contender, the number
/// of ranks that have its plan. `sums`: the sums of its plans' fingerprints over all ranks.
std::vector<std::size_t> worth_timing(std::span<const std::int64_t> planned,
                                      std::span<const std::int64_t> sums, std::int64_t ranks);

/// Returns this rank's figures of its plans, to be summed over all ranks. `fingerprints`: by
/// contender; nothing if it has no plan.
Numbers figures_of(std::span<const std::optional<std::uint64_t>> fingerprints);
/// As above, from the sums of figures_of().
std::vector<std::size_t> worth_timing(const Numbers& figures);

/// Returns the index of the least time multiplied by its planner's bias; the first if several are
/// equal. Ignores times that are `untimed`; returns 0 if all are.
inline constexpr std::int64_t untimed = std::numeric_limits<std::int64_t>::max();
std::size_t winner(std::span<const std::string_view> names, std::span<const std::int64_t> times,
                   const Bias& bias);

}  // namespace vicinal

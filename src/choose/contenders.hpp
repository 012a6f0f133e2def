// Who is timed where a planner is to be measured: those that are the best somewhere, the likely ones first.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "choose/joining.hpp"
#include "mpi/communicator.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// So many are timed at most; those of the list below that do the same as one before them on all ranks are not.
inline constexpr std::size_t most_timed = 4;

/// The planners to be looked at for what the options ask for, `automatic` first. The same on all ranks that ask for
/// the same.
std::vector<std::string_view> contenders(const PlanOptions& options);

/// Those of an exchange that is in use already, `automatic` first, whose plan that has: one message per edge, a relay by
/// one leader for each pair of regions, which `automatic` is itself where ranks share cores, and by several for those that exchange much.
/// `forecast`: the most of all ranks, in any unit; what is expected to take several times as long as the plan in use is left out.
std::vector<std::string_view> contenders_in_use(const PlanOptions& options, const Machine& machine,
                                                const Forecast& forecast);

/// The name of the contender whose executions the MPI library carries out, by a call of its own.
inline constexpr std::string_view mpis_own = "MPI's own";

/// There are never more.
inline constexpr std::size_t most_contenders = 16;

/// For the negotiation of a contender, by its place, or what else the ranks have to say of the exchange that was to be planned in
/// this conversation.
mpi::ConversationKey contender_key(mpi::ConversationKey of_exchange, std::size_t place);

/// A number for what plans do, whatever their tags and slots are called: where it is the same on all ranks, so are the
/// messages.
std::uint64_t fingerprint(const Plan& plan);
std::uint64_t fingerprint(const Plans& plans);

/// Of planned contenders those to be timed, by place in the list. `planned`: by contender, how many ranks have its
/// plan; `sums`: their plans' fingerprints, added up over all ranks.
std::vector<std::size_t> worth_timing(std::span<const std::int64_t> planned,
                                      std::span<const std::int64_t> sums, std::int64_t ranks);

/// A rank's figures of its plans, to be added up over all ranks. By contender: a fingerprint; nothing where there is no plan.
Numbers figures_of(std::span<const std::optional<std::uint64_t>> fingerprints);
/// As above, of what these add up to.
std::vector<std::size_t> worth_timing(const Numbers& figures);

/// The place of the least cost, times multiplied by the bias of their planners; the first where several are. Times
/// that are `untimed` do not count; 0 where all are.
inline constexpr std::int64_t untimed = std::numeric_limits<std::int64_t>::max();
std::size_t winner(std::span<const std::string_view> names, std::span<const std::int64_t> times,
                   const Bias& bias);

}  // namespace vicinal

// Records times that all ranks have agreed on: a line of the log, and an entry of the wisdom file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mpi/mailbox.hpp"

namespace vicinal {

/// Returns "was measured: automatic 12.3 us, aggregate 10.1 us; aggregate is taken". `times`: by
/// name, in nanoseconds. `left_out`: times from earlier, shorter heats, which do not compare with
/// the others.
std::string outcome_text(const char* how, std::span<const std::string_view> names,
                         std::span<const std::int64_t> times, std::size_t best,
                         std::span<const std::int64_t> left_out = {});
/// Logs that text for a plan.
void log_outcome(const mpi::ConversationKey& plan, const char* how,
                 std::span<const std::string_view> names, std::span<const std::int64_t> times,
                 std::size_t best, std::span<const std::int64_t> left_out = {}) noexcept;

/// Adds the times to the file, if there are any.
void remember_outcome(const std::string& wisdom, const std::string& key,
                      std::span<const std::string_view> names, std::span<const std::int64_t> times);

}  // namespace vicinal

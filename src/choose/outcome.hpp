// What becomes of times that all ranks have agreed on: a line of the log, and an entry of the file of wisdom.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mpi/mailbox.hpp"

namespace vicinal {

/// "was measured: automatic 12.3 us, aggregate 10.1 us; aggregate is taken". Times by name, in nanoseconds. `left_out`: those of
/// shorter trials before, which the others' do not compare with.
std::string outcome_text(const char* how, std::span<const std::string_view> names,
                         std::span<const std::int64_t> times, std::size_t best,
                         std::span<const std::int64_t> left_out = {});
/// The same of a plan, as a line of the log.
void log_outcome(const mpi::ConversationKey& plan, const char* how,
                 std::span<const std::string_view> names, std::span<const std::int64_t> times,
                 std::size_t best, std::span<const std::int64_t> left_out = {}) noexcept;

/// Adds them to the file, if there are any.
void remember_outcome(const std::string& wisdom, const std::string& key,
                      std::span<const std::string_view> names, std::span<const std::int64_t> times);

}  // namespace vicinal

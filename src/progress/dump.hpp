// What a person reads to diagnose a hang: what every activity and every thread of the process waits for.
// It is written when the program asks, or when the signal comes that VICINAL_DUMP_SIGNAL names.
#pragma once

#include <iosfwd>

namespace vicinal {

/// Writes what every activity and every thread of this process waits for.
void describe_pending(std::ostream& out);

/// Writes that to standard error where the signal has come since. For whoever waits or progresses.
void answer_dump_signal() noexcept;

/// Throws where VICINAL_DUMP_SIGNAL is no signal that can be caught.
void check_dump_signal();

}  // namespace vicinal

// Dump for the diagnosis of a hang: what every activity and every thread of the process waits for.
// It is written when the program asks, or on the signal that VICINAL_DUMP_SIGNAL names.
#pragma once

#include <iosfwd>

namespace vicinal {

/// Writes what every activity and every thread of this process waits for.
void describe_pending(std::ostream& out);

/// Writes the dump to standard error if the signal has arrived. Called by waits and by progress.
void answer_dump_signal() noexcept;

/// Throws if VICINAL_DUMP_SIGNAL is not a signal that can be caught.
void check_dump_signal();

}  // namespace vicinal

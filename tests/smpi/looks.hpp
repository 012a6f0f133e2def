// Simulated duration of polls (for requests or messages) that find nothing. The shorter they are,
// the more of them are simulated, so they are short only during timed sections.
#pragma once

#include <chrono>

/// Duration outside timed sections.
constexpr std::chrono::nanoseconds setup_look{1000};
/// Duration in timed sections, of which it is a part.
constexpr std::chrono::nanoseconds timed_look{20};

/// Sets the duration for this rank from now on. Initially it is `setup_look`.
void let_looks_take(std::chrono::nanoseconds duration);

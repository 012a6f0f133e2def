// How long it takes to look at requests, or for messages, and find nothing: simulated time, and the shorter it is the more looks
// there are to simulate. So looks are short only while a time is taken.
#pragma once

#include <chrono>

/// While it does not matter.
constexpr std::chrono::nanoseconds setup_look{1000};
/// While a time is taken, of which it is part.
constexpr std::chrono::nanoseconds timed_look{20};

/// From now on, on this rank. In the beginning they take `setup_look`.
void let_looks_take(std::chrono::nanoseconds duration);

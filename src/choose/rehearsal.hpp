// Measures plans before the program's first execution, where the choice is `measure`.
#pragma once

#include <cstdint>

#include "choose/contest.hpp"

namespace vicinal {

/// Executes the contest's plans on scratch memory until it has decided. Collective over the
/// component, whose ranks wait for each other. A rank that fails to allocate participates in every
/// execution nevertheless; no plan has a time then.
void rehearse(const Chosen& chosen, const Pattern& pattern, std::int64_t element_bytes);

}  // namespace vicinal

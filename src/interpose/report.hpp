// The report, for people and for programs.
#pragma once

#include <span>
#include <string>

#include "interpose/call_profile.hpp"

namespace vicinal::interpose {

/// Adds up the records of all ranks (index = rank). Writes JSON to `path` and a table to
/// `path`.txt. Throws an argument fault if a file cannot be written.
void write_report_of(std::span<const RankRecord> ranks, const std::string& path);

}  // namespace vicinal::interpose

// The report as people and programs read it.
#pragma once

#include <span>
#include <string>

#include "interpose/ledger.hpp"

namespace vicinal::interpose {

/// Adds up what all ranks have noted (index = rank), and writes JSON to `path` and a table to `path`.txt. Throws an
/// argument fault where a file cannot be written.
void write_report_of(std::span<const RankRecord> ranks, const std::string& path);

}  // namespace vicinal::interpose

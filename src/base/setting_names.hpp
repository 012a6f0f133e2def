// The settings that all ranks must have alike, by name. Each is an info key of the functions that make
// something; the environment variable is the key in upper case, and wins. What they mean is said in
// include/vicinal/vicinal.h, and read in src/collectives/settings.cpp; here they stand so that the
// environment can be compared where ranks first meet, below all that knows settings.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/given.hpp"

namespace vicinal {

inline constexpr std::array<std::string_view, 11> setting_keys{
    "vicinal_regions",      "vicinal_strategy",   "vicinal_allgather", "vicinal_exchange",
    "vicinal_local",        "vicinal_in_flight",  "vicinal_progress",  "vicinal_split_bytes",
    "vicinal_leader_shift", "vicinal_group_size", "vicinal_verify",
};

/// The environment variable of a key.
std::string variable_of(std::string_view key);
/// What the environment says of a key; an empty variable is none.
std::optional<std::string> environment_value(std::string_view key);
/// What all processes must have alike: the version of the library, and of the environment the settings,
/// and whether there is a progress thread, by which ranks decide what to plan.
std::vector<Given> given_by_process();

}  // namespace vicinal

// Settings that a user can choose for a call. Each is an info key of the functions that make a
// graph or a halo, or do a sparse exchange. It is also an environment variable of the same name in
// upper case. The environment wins, so users can try settings without changing the program. A table
// in base/setting.cpp lists the values of each setting.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/given.hpp"
#include "discovery/exchange.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

struct Settings {
  std::string regions;                 ///< vicinal_regions: see read_regions; "" for the default
  std::string strategy = "automatic";  ///< vicinal_strategy: a planner's name
  /// vicinal_local, vicinal_progress, vicinal_split_bytes, vicinal_idle_ranks, vicinal_radix,
  /// vicinal_device_way, vicinal_profile, vicinal_choice, vicinal_plan_after, vicinal_bias,
  /// vicinal_wisdom, vicinal_verify
  PlanOptions options;
  /// vicinal_allgather: the planner of allgathers over a communicator
  std::string allgather = "automatic";
  Method exchange = Method::automatic;  ///< vicinal_exchange: method of sparse exchanges
  int in_flight = 4;                    ///< vicinal_in_flight: executions of a halo at once, 1 to 8
  std::set<std::string_view> given;     ///< keys that the user has set
};

/// Returns the options of sparse exchanges.
ExchangeOptions exchange_options(const Settings& settings);

/// Returns the settings that must be equal on all ranks, by key, with their values as text.
/// `regions` replaces the default regions.
std::vector<Given> given_settings(const Settings& settings, const std::string& regions);

/// Fingerprint of these settings (given.hpp).
std::int64_t fingerprint(const Settings& settings, const std::string& regions);

/// Reads the settings of a call. Throws an info fault that names the key, the value and what is
/// expected. Reads the file of vicinal_profile, unless this process has read it already. Expects
/// buffers in GPU memory if vicinal_device_way is given, or if the process uses a GPU. Rank 0 of
/// `comm` warns of keys that are no settings.
Settings read_settings(MPI_Info info, MPI_Comm comm = MPI_COMM_NULL);

/// As above, where `given` returns the value of each key that was given. Info values are limited in
/// length (to 256 characters in Open MPI), these are not.
Settings read_settings(
    const std::function<std::optional<std::string>(const std::string& key)>& given);

}  // namespace vicinal

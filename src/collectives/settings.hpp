// What a person can choose for a call. Each setting is an info key of the function that makes a graph or a
// halo, or does a sparse exchange, and an environment variable of the same name in upper case; the
// environment wins, so that a program can be tried out differently without touching it. What may be written
// for each is a row of the table in base/setting.cpp.
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
#include "planners/planner.hpp"

namespace vicinal {

struct Settings {
  std::string regions;                  ///< vicinal_regions: see read_regions; "" for the default
  std::string strategy = "automatic";   ///< vicinal_strategy: a planner's name
  PlanOptions options;                  ///< vicinal_local: "shared" or "messages";
                                        ///< vicinal_split_bytes; vicinal_leader_shift;
                                        ///< vicinal_idle_ranks; vicinal_group_size;
                                        ///< vicinal_radix; vicinal_device_way; vicinal_profile;
                                        ///< vicinal_choice; vicinal_plan_after;
                                        ///< vicinal_bias; vicinal_wisdom
  std::string allgather = "automatic";  ///< vicinal_allgather: the planner of allgathers over a
                                        ///< communicator
  Method exchange = Method::automatic;  ///< vicinal_exchange: how sparse exchanges go
  int in_flight = 4;                    ///< vicinal_in_flight: executions of a halo at once, 1 to 8
  std::set<std::string_view> given;     ///< the keys for which somebody has said something
};

/// What settings say of sparse exchanges.
ExchangeOptions exchange_options(const Settings& settings);

/// The settings that all ranks must give alike, by key, as they are read. `regions` is what stands for
/// the default ones.
std::vector<Given> given_settings(const Settings& settings, const std::string& regions);

/// Their fingerprint (given.hpp).
std::int64_t fingerprint(const Settings& settings, const std::string& regions);

/// Throws an info fault that names the key, the value and what is expected. Reads the file that is named as
/// profile, where this process has not read it yet. Buffers are expected in a GPU's memory where a way to move such is given, or
/// the process uses a GPU. Rank 0 of `comm` warns of keys that are no settings.
Settings read_settings(MPI_Info info, MPI_Comm comm = MPI_COMM_NULL);

/// The same where `given` has the value of each key that was given. Info values are limited in length
/// (to 256 characters in Open MPI), these are not.
Settings read_settings(
    const std::function<std::optional<std::string>(const std::string& key)>& given);

}  // namespace vicinal

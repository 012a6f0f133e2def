// Where the buffers of a plan lie when those of the user lie in a GPU's memory, by the way in which such data are moved.
// Which way a rank takes is its own affair: messages are the same to whoever is at their other end, and who
// reads a slot finds out where its owner has put it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace vicinal {

/// Which of the user's buffers lie in a GPU's memory.
struct OnDevice {
  bool source = false;
  bool target = false;
  [[nodiscard]] bool any() const { return source || target; }
};

/// How what lies in a GPU's memory is moved: messages, and what ranks of a host hand each other.
struct DeviceWay {
  std::string_view name;
  bool direct =
      false;  ///< MPI is given the GPU's memory; else it sends from and receives into the host's
  bool shared = false;  ///< peers reach into each other's GPU's memory; else into the host's
  bool lent = false;    ///< and what stands in a slot only for them, they read in the source
  friend bool operator==(const DeviceWay&, const DeviceWay&) = default;
};
inline constexpr std::array device_ways = std::to_array<DeviceWay>({
    {"staged", false, false, false},
    {"direct", true, false, false},
    {"shared", false, true, false},
    {"direct-shared", true, true, false},
    {"lent", false, true, true},
    {"direct-lent", true, true, true},
});
inline constexpr DeviceWay staged_way = device_ways.front();
/// The one that does these, and lends nothing.
constexpr DeviceWay device_way(bool direct, bool shared) {
  return device_ways[(direct ? 1U : 0U) + (shared ? 2U : 0U)];
}
/// The one of that name, or none.
constexpr std::optional<DeviceWay> device_way_called(std::string_view name) {
  const auto found = std::ranges::find(device_ways, name, &DeviceWay::name);
  return found == device_ways.end() ? std::nullopt : std::optional(*found);
}

/// Which way a plan is to take.
struct DeviceChoice {
  DeviceWay way = staged_way;
  bool is_asked_for = false;  ///< by a person, who is told where it cannot be had
};

/// By buffer, whether it lies in the GPU's memory, too: the user's as told, and where messages go direct, staging that
/// is touched by nothing but messages and them.
std::vector<bool> lying_on_device(const Plan& plan, OnDevice users, bool direct);

/// By buffer, whether it is a slot of this rank's that lies in the GPU's memory where peers reach into that: one which
/// nothing of this rank's touches but copies and reductions from or to the user's buffers there.
std::vector<bool> slots_on_device(const Plan& plan, OnDevice users);

/// By buffer, whether it is one of those that hands out what lies in the source, and nothing else: peers that are lent the source
/// need no copy of it.
std::vector<bool> lendable_slots(const Plan& plan, OnDevice users);
/// What of the source stands where in such a slot, in the order of places there.
std::vector<CopyRun> lent_in(const Plan& plan, int slot);

}  // namespace vicinal

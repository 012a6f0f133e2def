// Decides which buffers of a plan lie in GPU memory if the user's buffers do, depending on the
// transport. Each rank chooses its transport alone. Messages look the same to the other end, and a
// reader of a slot learns where the owner has placed it.
//
// with_staged() makes plans for user buffers that MPI cannot access directly: each element is
// scattered in memory (several vectors exchanged together), or MPI cannot reach the memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace vicinal {

/// The user's buffers that lie in GPU memory.
struct OnDevice {
  bool source = false;
  bool target = false;
  [[nodiscard]] bool any() const { return source || target; }
};

/// The transport of data in GPU memory: by messages, and between ranks of a host.
struct DeviceTransport {
  std::string_view name;
  /// MPI gets addresses in GPU memory; otherwise it sends from and receives into host memory.
  bool direct = false;
  bool shared = false;  ///< peers access each other's GPU memory; else host memory
  bool lent = false;    ///< peers also read the source directly, in place of a slot
  friend bool operator==(const DeviceTransport&, const DeviceTransport&) = default;
};
inline constexpr std::array device_transports = std::to_array<DeviceTransport>({
    {"staged", false, false, false},
    {"direct", true, false, false},
    {"shared", false, true, false},
    {"direct-shared", true, true, false},
    {"lent", false, true, true},
    {"direct-lent", true, true, true},
});
inline constexpr DeviceTransport staged_transport = device_transports.front();
/// Returns the transport with these properties and without `lent`.
constexpr DeviceTransport device_transport(bool direct, bool shared) {
  return device_transports[(direct ? 1U : 0U) + (shared ? 2U : 0U)];
}
/// Returns the transport of that name, or nothing.
constexpr std::optional<DeviceTransport> device_transport_called(std::string_view name) {
  const auto found = std::ranges::find(device_transports, name, &DeviceTransport::name);
  return found == device_transports.end() ? std::nullopt : std::optional(*found);
}

/// The requested transport of a plan.
struct DeviceChoice {
  DeviceTransport transport = staged_transport;
  bool is_asked_for = false;  ///< by the user, who gets a warning if it is unavailable
};

/// Returns, for each buffer, whether it lies in GPU memory: the user's buffers as given. If MPI
/// gets GPU addresses (`direct`), this includes staging buffers touched only by messages and by
/// copies from or to those buffers.
std::vector<bool> lying_on_device(const Plan& plan, OnDevice users, bool direct);

/// Returns, for each buffer, whether it is a slot of this rank that lies in GPU memory if peers
/// access it there. Such a slot is touched only by this rank's copies and reductions from or to the
/// user's buffers in GPU memory.
std::vector<bool> slots_on_device(const Plan& plan, OnDevice users);

/// Returns, for each buffer, whether it is such a slot that holds only elements of the source.
/// Peers that read the source directly need no copy of them.
std::vector<bool> lendable_slots(const Plan& plan, OnDevice users);
/// Returns the runs from the source to such a slot, sorted by target.
std::vector<CopyRun> lent_in(const Plan& plan, int slot);

enum class Staged : std::uint8_t {
  messages,
  messages_and_reductions,  ///< for operators that do not work on the user's memory
};

/// Returns the plan with staging buffers between these operations and the user's buffers (of
/// reductions, also the slots). The staging buffers are appended to the list of buffers.
Plan with_staged(const Plan& plan, Staged what);

}  // namespace vicinal

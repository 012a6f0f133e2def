// Choices of the transport, by the profile: for data in a GPU's memory, and for data that go
// directly from one rank to another. The latter go through a slot or by messages, one or several.
// The sender decides, from the memory its data lie in, and tells the receiver.
#pragma once

#include <cstdint>
#include <optional>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "plan/placement.hpp"

namespace vicinal {

/// Returns the transport that takes the least time for this rank's messages and handovers together.
/// Assumes that both of the user's buffers lie in a GPU's memory. Uses host memory if the profile
/// has no prices for the alternative.
DeviceTransport cheaper_transport(const Plan& plan, const Machine& machine, const Profile& profile,
                                  Index element_bytes);

/// Data of one rank for another.
struct StraightData {
  std::int64_t bytes = 0;
  bool in_pieces = false;  ///< in the sender's buffer; the receiver's is assumed to be alike
  Level level = Level::network;
  bool on_device = false;                         ///< the buffers are expected in a GPU's memory
  std::optional<DeviceTransport> transport = {};  ///< as requested; else the cheaper one is used
};

/// Returns whether a slot costs less than a message, for ranks that share memory. In host memory,
/// data are copied twice through a slot. Data in a GPU's memory are moved by kernels that access
/// each other's memory, or through the host.
[[nodiscard]] bool slot_pays(const Profile& profile, const StraightData& data);

/// Returns the best number of messages to divide the data into. While one message is in transit,
/// the next is copied from the GPU to the host, and the previous one to the other GPU. 1 if no such
/// copies are expected.
[[nodiscard]] int message_parts(const Profile& profile, const StraightData& data);

}  // namespace vicinal

// How what goes straight from one rank to another is best moved: through a slot or by a message, and by how many.
// Its sender decides, by what it knows of the memory in which its data lie, and tells the receiver.
#pragma once

#include <cstdint>
#include <optional>

#include "cost/profile.hpp"
#include "plan/placement.hpp"

namespace vicinal {

/// What one rank has for another.
struct StraightData {
  std::int64_t bytes = 0;
  bool in_pieces = false;  ///< in the sender's buffer; its receiver's is taken to be alike
  Level level = Level::network;
  bool on_device = false;             ///< the buffers are expected in a GPU's memory
  std::optional<DeviceWay> way = {};  ///< that was asked for; else the cheaper one is taken
};

/// Whether it costs less through a slot than by a message, for ranks that share memory. In the host's memory data are copied
/// twice on that way; what lies in a GPU's goes by kernels that reach into each other's, or by way of the host.
[[nodiscard]] bool slot_pays(const Profile& profile, const StraightData& data);

/// Into how many messages it is best divided: while one is on its way, what follows is copied from a GPU to the host,
/// and what has come from there to the other's. 1 where no such copies are expected.
[[nodiscard]] int message_parts(const Profile& profile, const StraightData& data);

}  // namespace vicinal

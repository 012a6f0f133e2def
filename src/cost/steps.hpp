// What the price asks of an operation again and again, worked out once: operations of plans are large and lie
// apart, and a price goes through all of them many times, in no order that memory likes.
#pragma once

#include "base/product.hpp"
#include "cost/profile.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

struct Step {
  std::int64_t bytes = 0;  ///< sent, received, copied or reduced
  int peer = -1;
  OperationKind kind = OperationKind::copy;
  Level level = Level::domain;  ///< of a message
  std::uint16_t protocol = 0;   ///< of a message: its number at the level
};

class Steps {
 public:
  Steps(const Program& program, const Machine& machine, const Profile& profile,
        Index element_bytes);

  /// Of operation `id`.
  [[nodiscard]] const Step& operator[](int id) const {
    return steps_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const LevelCost& cost(int id) const { return profile_.at((*this)[id].level); }
  [[nodiscard]] const Protocol& protocol(int id) const {
    return cost(id).protocols[(*this)[id].protocol];
  }

 private:
  const Profile& profile_;
  std::vector<Step> steps_;
};

}  // namespace vicinal::detail

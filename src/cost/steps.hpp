// What the price asks of an operation again and again, worked out once, and what it finds of it: operations of plans are
// large and lie apart, and a price goes through all of them many times, in no order that memory likes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/product.hpp"
#include "cost/profile.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

/// When something of an operation is over.
struct Moment {
  double time = 0;
  int cause = -1;  ///< the moment that it waited for last, or -1
};

struct Step {
  std::int64_t bytes = 0;  ///< sent, received, copied or reduced
  int peer = -1;
  OperationKind kind = OperationKind::copy;
  Level level = Level::domain;  ///< of a message
  std::uint16_t protocol = 0;   ///< of a message: its number at the level
  /// The processor's part is over, and with that all but a send; a send's bytes have left.
  std::array<Moment, 2> moments{};
  double begun = -1;  ///< when it began to occupy its processor, if it ever did
};

class Steps {
 public:
  Steps(const Program& program, const Machine& machine, const Profile& profile,
        Index element_bytes);

  /// Of operation `id`.
  [[nodiscard]] const Step& operator[](int id) const {
    return steps_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] Step& operator[](int id) { return steps_[static_cast<std::size_t>(id)]; }
  /// Moments are numbered over all operations.
  static int done(int id) { return 2 * id; }
  static int gone(int send) { return done(send) + 1; }
  static int operation(int moment) { return moment / 2; }
  [[nodiscard]] Moment& moment(int number) {
    return (*this)[operation(number)].moments[number % 2];
  }
  [[nodiscard]] const Moment& moment(int number) const {
    return (*this)[operation(number)].moments[number % 2];
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

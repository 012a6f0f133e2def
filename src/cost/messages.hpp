// What a message of a program is to a machine: how far it goes, by which protocol.
#pragma once

#include "base/product.hpp"
#include "cost/profile.hpp"
#include "plan/program.hpp"

namespace vicinal::detail {

struct Message {
  Level level;
  const LevelCost& cost;
  const Protocol& protocol;
  std::int64_t bytes;
};

class Messages {
 public:
  Messages(const Program& program, const Machine& machine, const Profile& profile,
           Index element_bytes)
      : program_(program), machine_(machine), profile_(profile), element_bytes_(element_bytes) {}

  /// That of a send, or of a receive.
  [[nodiscard]] Message of(int id) const {
    const Operation& it = program_.operation(id);
    const Level level = machine_.level(program_.rank_of[id], it.peer);
    const LevelCost& cost = profile_.at(level);
    const std::int64_t bytes = product(it.count, element_bytes_);
    return {level, cost, cost.protocol(bytes), bytes};
  }

 private:
  const Program& program_;
  const Machine& machine_;
  const Profile& profile_;
  Index element_bytes_;
};

}  // namespace vicinal::detail

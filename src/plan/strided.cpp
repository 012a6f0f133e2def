// Staging every message of a plan.
#include "plan/strided.hpp"

namespace vicinal {

Plan with_staged_messages(const Plan& plan) {
  Plan result = plan;
  result.operations.clear();
  std::vector<int> number;  // of the operation that now ends what an old operation did
  const auto add = [&](Operation operation) {
    result.operations.push_back(std::move(operation));
    return static_cast<int>(result.operations.size()) - 1;
  };
  const auto is_users = [](int buffer) { return buffer == Plan::source || buffer == Plan::target; };
  for (const Operation& old : plan.operations) {
    Operation operation = old;
    for (int& before : operation.after) before = number[static_cast<std::size_t>(before)];
    const bool send = old.kind == OperationKind::send && is_users(old.from);
    const bool receive = old.kind == OperationKind::receive && is_users(old.to);
    if (!send && !receive) {
      number.push_back(add(std::move(operation)));
      continue;
    }
    Buffer buffer;
    buffer.extent = old.count;
    result.buffers.push_back(buffer);
    const int staging = static_cast<int>(result.buffers.size()) - 1;
    Operation copy;
    copy.phase = old.phase;
    copy.count = old.count;
    operation.offset = 0;
    if (send) {
      copy.from = old.from;
      copy.to = staging;
      copy.runs = {{old.offset, 0, old.count}};
      copy.after = std::move(operation.after);
      operation.after = {add(std::move(copy))};
      operation.from = staging;
      number.push_back(add(std::move(operation)));
    } else {
      operation.to = staging;
      copy.from = staging;
      copy.to = old.to;
      copy.runs = {{0, old.offset, old.count}};
      copy.after = {add(std::move(operation))};
      number.push_back(add(std::move(copy)));
    }
  }
  return result;
}

}  // namespace vicinal

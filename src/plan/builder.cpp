// Adds the buffers and operations of a plan under construction.
#include "plan/builder.hpp"

#include <algorithm>
#include <utility>

namespace vicinal {

PlanBuilder::PlanBuilder(int rank, int size, std::string_view planner, bool reverse) {
  plan_.rank = rank;
  plan_.size = size;
  plan_.planner = planner;
  plan_.reverse = reverse;
  plan_.buffers.resize(2);
  plan_.buffers[Plan::source].space = Space::source;
  plan_.buffers[Plan::target].space = Space::target;
}

int PlanBuilder::add(Operation operation) {
  plan_.operations.push_back(std::move(operation));
  return static_cast<int>(plan_.operations.size()) - 1;
}

int PlanBuilder::add_buffer(Buffer buffer) {
  plan_.buffers.push_back(buffer);
  return static_cast<int>(plan_.buffers.size()) - 1;
}

int PlanBuilder::staging(Index extent) {
  Buffer buffer;
  buffer.extent = extent;
  return add_buffer(buffer);
}

int PlanBuilder::own_slot(std::int64_t slot, Index extent, int peers) {
  return add_buffer({Space::shared, extent, slot, plan_.rank, -1, peers});
}

int PlanBuilder::far_slot(std::int64_t slot, Index extent, int owner, int index) {
  return add_buffer({Space::shared, extent, slot, owner, index, 0});
}

int PlanBuilder::copy(Phase phase, int from, int to, std::vector<CopyRun> runs,
                      std::vector<int> after) {
  Operation operation;
  operation.kind = OperationKind::copy;
  operation.phase = phase;
  operation.from = from;
  operation.to = to;
  operation.count = total(runs);
  operation.runs = std::move(runs);
  operation.after = std::move(after);
  return add(std::move(operation));
}

int PlanBuilder::reduce(Phase phase, int from, int to, std::vector<CopyRun> runs,
                        std::vector<int> after) {
  const int number = copy(phase, from, to, std::move(runs), std::move(after));
  plan_.operations.back().kind = OperationKind::reduce;
  return number;
}

int PlanBuilder::send(Phase phase, bool local, int from, Index offset, Index count, int peer,
                      std::int64_t tag, std::vector<int> after) {
  Operation operation;
  operation.kind = OperationKind::send;
  operation.phase = phase;
  operation.local = local;
  operation.from = from;
  operation.offset = offset;
  operation.count = count;
  operation.peer = peer;
  operation.tag = tag;
  operation.after = std::move(after);
  return add(std::move(operation));
}

int PlanBuilder::receive(Phase phase, bool local, int to, Index offset, Index count, int peer,
                         std::int64_t tag, std::vector<int> after) {
  const int number = send(phase, local, -1, offset, count, peer, tag, std::move(after));
  plan_.operations.back().kind = OperationKind::receive;
  plan_.operations.back().to = to;
  return number;
}

int PlanBuilder::signal(Phase phase, int slot, int flag, std::vector<int> after) {
  Operation operation;
  operation.kind = OperationKind::signal;
  operation.phase = phase;
  operation.local = true;
  operation.from = slot;
  operation.flag = flag;
  operation.after = std::move(after);
  return add(std::move(operation));
}

int PlanBuilder::await(Phase phase, int slot, int flag, int lag, int peer, std::vector<int> after) {
  const int number = signal(phase, slot, flag, std::move(after));
  plan_.operations.back().kind = OperationKind::await;
  plan_.operations.back().lag = lag;
  plan_.operations.back().peer = peer;
  return number;
}

void PlanBuilder::pack_and_send(Phase phase, bool local, int from, const std::vector<CopyRun>& runs,
                                Index count, int peer, std::int64_t tag, std::vector<int> after) {
  if (runs.size() == 1) {
    send(phase, local, from, runs[0].source, count, peer, tag, std::move(after));
    return;
  }
  const int message = staging(count);
  const int packed = copy(phase, from, message, runs, std::move(after));
  send(phase, local, message, 0, count, peer, tag, {packed});
}

int PlanBuilder::receive_and_unpack(Phase phase, bool local, int to,
                                    const std::vector<CopyRun>& runs, Index count, int peer,
                                    std::int64_t tag) {
  if (runs.size() == 1 && runs[0].count == count) {
    return receive(phase, local, to, runs[0].target, count, peer, tag, {});
  }
  const int message = staging(count);
  const int received = receive(phase, local, message, 0, count, peer, tag, {});
  return copy(phase, message, to, runs, {received});
}

Plan PlanBuilder::finish() {
  const auto touch = [&](int buffer, Index end) {
    if (buffer != Plan::source && buffer != Plan::target) return;
    Index& extent = plan_.buffers[static_cast<std::size_t>(buffer)].extent;
    extent = std::max(extent, end);
  };
  for (const Operation& operation : plan_.operations) {
    for (const CopyRun& run : operation.runs) {
      touch(operation.from, run.source + run.count);
      touch(operation.to, run.target + run.count);
    }
    if (operation.kind == OperationKind::send)
      touch(operation.from, operation.offset + operation.count);
    if (operation.kind == OperationKind::receive)
      touch(operation.to, operation.offset + operation.count);
  }
  // Releases spare capacity: plans are long-lived, and a process with virtual ranks holds many of
  // them.
  for (Operation& operation : plan_.operations) {
    operation.runs.shrink_to_fit();
    operation.after.shrink_to_fit();
  }
  plan_.operations.shrink_to_fit();
  plan_.buffers.shrink_to_fit();
  return std::move(plan_);
}

}  // namespace vicinal

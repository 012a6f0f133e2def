// A plan is one rank's part of a program that all ranks agreed on: a directed graph of operations on
// named buffers, counted in elements and free of addresses. It can be executed, verified, priced,
// simulated and printed; which algorithm made it no longer matters.
//
// Shared slots. Ranks of one host hand data to each other through a slot: memory that one of them
// owns and its peers write into (a gather) or read from (a scatter). A slot has one flag per side:
// the owner's, and one for each peer. A flag holds the number of the last execution for which its
// writer is done. A writer of data signals "ready" after writing; a reader of data signals
// "acknowledged" after reading; who writes again first awaits the readers' flags of the execution
// before (`lag` 1). These are the only two ways in which ranks of a host synchronize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/runs.hpp"

namespace vicinal {

enum class Space : std::uint8_t {
  source,   ///< the user's send buffer (in reverse: the ghost side)
  target,   ///< the user's receive buffer (in reverse: the owned side)
  staging,  ///< private memory of this rank
  shared,   ///< a slot in the arena of the host
};

/// A buffer of a plan. Buffers 0 and 1 are always the user's source and target.
struct Buffer {
  Space space = Space::staging;
  Index extent = 0;        ///< elements; for the user's buffers one past the last element touched
  std::int64_t slot = -1;  ///< shared: the slot's handle, valid within the owner's host
  int owner = -1;          ///< shared: the owner's rank
  int peer_index = -1;     ///< shared: which peer of the slot this rank is, or -1 for its owner
  int peers = 0;           ///< shared: how many peers the slot has (known to the owner only)
};

enum class OperationKind : std::uint8_t {
  copy,
  reduce,
  send,
  receive,
  signal,
  await,
  trigger,  ///< complete when an event outside of the plan has happened: a partition is ready
  notify,   ///< makes an event happen for the outside: a partition has arrived
};

/// Whether an operation of a kind reads elements of its buffer `from`.
[[nodiscard]] constexpr bool reads_elements(OperationKind kind) {
  return kind == OperationKind::copy || kind == OperationKind::reduce ||
         kind == OperationKind::send;
}
/// Whether it writes elements of its buffer `to`.
[[nodiscard]] constexpr bool writes_elements(OperationKind kind) {
  return kind == OperationKind::copy || kind == OperationKind::reduce ||
         kind == OperationKind::receive;
}

[[nodiscard]] constexpr bool is_message(OperationKind kind) {
  return kind == OperationKind::send || kind == OperationKind::receive;
}

/// A label for reports. Phases are not barriers.
enum class Phase : std::uint8_t {
  direct,     ///< an edge served without a relay
  local,      ///< between ranks of one region
  gather,     ///< to a leader
  non_local,  ///< between leaders
  scatter,    ///< from a leader
  halving,    ///< to the agent of a halving step
};
inline constexpr std::size_t phase_count = 6;

/// One operation. It may begin when all operations in `after` are complete.
struct Operation {
  OperationKind kind = OperationKind::copy;
  Phase phase = Phase::direct;
  bool local = false;  ///< send and receive: both ranks are in one region

  // copy, reduce: elements `runs` of buffer `from` go to buffer `to`; reduce combines each with what
  // is there, in the order of the runs, as target = target (op) source.
  // send: `count` elements at `offset` of `from` go to rank `peer`. receive: likewise into `to`.
  int from = -1;
  int to = -1;
  std::vector<CopyRun> runs;
  Index offset = 0;
  Index count = 0;
  int peer = -1;
  std::int64_t tag = -1;  ///< unique among the live messages between the two ranks; no MPI tag yet

  // signal, await: flag `flag` of the slot in buffer `from`: -1 the owner's, else a peer's. await
  // is complete when the flag has reached the current execution minus `lag`. Of an await, `peer` is the rank whose flag it is,
  // for people, and may be unknown (-1).
  int flag = -1;
  int lag = 0;

  // trigger, notify: the partitions of the pattern's out-edges (in-edges), counted edge after edge in the
  // pattern's order; `peer` is the rank at the other end of the edge.
  int event = -1;

  std::vector<int> after;
};

struct Plan {
  int rank = 0;
  int size = 1;
  std::string planner;
  bool reverse = false;
  std::vector<Buffer> buffers;
  std::vector<Operation> operations;  ///< in an order that respects `after`

  static constexpr int source = 0;
  static constexpr int target = 1;
};

const char* name(Space space);
const char* name(OperationKind kind);
const char* name(Phase phase);

}  // namespace vicinal

// A plan is one rank's part of a program that all ranks agreed on: a directed graph of operations
// on named buffers. It counts in elements and contains no addresses. It can be executed, verified,
// priced, simulated and printed, whichever algorithm made it.
//
// Shared slots. Ranks of one host exchange data through slots. A slot is memory of one rank, which
// its peers write (a gather) or read (a scatter). It has one flag for the owner and one for each
// peer. A flag holds the number of the last execution that its writer has completed. A writer of
// data signals "ready" after writing; a reader signals "acknowledged" after reading. Before it
// overwrites data, a writer awaits the readers' flags of the previous execution (`lag` 1). Ranks of
// a host synchronize in these two ways only.
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
  Index extent = 0;        ///< elements; user's buffers: one past the last one touched
  std::int64_t slot = -1;  ///< shared: the slot's handle, valid within the owner's host
  int owner = -1;          ///< shared: the owner's rank
  int peer_index = -1;     ///< shared: this rank's index among the peers; -1 for the owner
  int peers = 0;           ///< shared: number of peers (known to the owner only)
};

enum class OperationKind : std::uint8_t {
  copy,
  reduce,
  send,
  receive,
  signal,
  await,
  trigger,  ///< complete when an outside event has happened: a partition is ready
  notify,   ///< reports an event to the outside: a partition has arrived
};

/// Returns whether operations of this kind read elements of their buffer `from`.
[[nodiscard]] constexpr bool reads_elements(OperationKind kind) {
  return kind == OperationKind::copy || kind == OperationKind::reduce ||
         kind == OperationKind::send;
}
/// Returns whether operations of this kind write elements of their buffer `to`.
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

  // copy, reduce: elements `runs` of buffer `from` go to buffer `to`. A reduce combines each
  // element with the present one, in the order of the runs, as target = target (op) source.
  // send: `count` elements at `offset` of `from` go to rank `peer`. receive: likewise into `to`.
  int from = -1;
  int to = -1;
  std::vector<CopyRun> runs;
  Index offset = 0;
  Index count = 0;
  int peer = -1;
  std::int64_t tag = -1;  ///< unique among live messages between the two ranks; not an MPI tag

  // signal, await: flag `flag` of the slot in buffer `from`: -1 for the owner's, else a peer's
  // index. An await is complete when the flag has reached the current execution minus `lag`. In an
  // await, `peer` is the rank that sets the flag, for reports only; it may be unknown (-1).
  int flag = -1;
  int lag = 0;

  // trigger, notify: number of the partition, counted over all out-edges (in-edges) in the
  // pattern's order. `peer` is the rank at the other end of the edge.
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

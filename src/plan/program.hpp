// The plans of all ranks as one program. A plan identifies its partners only by rank, tag and slot.
// Code that looks at all plans (the verifier, the exports) must resolve these names. It needs the
// receive of each send, the signal of each await, and the buffers that are the same memory.
// Operations, memories and flags are numbered over all ranks, so other code can use flat arrays.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace vicinal {

/// A piece of memory: a private buffer of one rank, or a slot that several ranks map.
struct Memory {
  Space space = Space::staging;
  Index extent = 0;
  Index base = 0;  ///< number of its first element among all elements of the program
  int owner = 0;
  int buffer = 0;          ///< its number among the owner's buffers
  std::int64_t slot = -1;  ///< shared: its handle
  int peers = 0;           ///< shared: number of ranks besides the owner that have a flag
  int first_flag = -1;     ///< shared: the owner's flag; that of peer k is first_flag + 1 + k
};

struct Program {
  /// Throws an internal fault for:
  /// - fields out of range, or accesses outside a buffer;
  /// - messages without exactly one counterpart of the same size;
  /// - slots on which their ranks disagree;
  /// - flags that the wrong rank signals, that are signaled twice, or that are awaited but never
  ///   signaled.
  explicit Program(std::span<const Plan> all_plans);

  std::span<const Plan> plans;
  bool reverse = false;
  std::vector<int> first_operation;  ///< by rank, then the total
  std::vector<int> rank_of;          ///< by operation
  std::vector<int> counterpart;      ///< by operation: the matching send, receive or signal
  std::vector<Memory> memories;
  std::vector<int> signal_of;               ///< by flag: the operation that sets it, or -1
  std::vector<std::vector<int>> awaits_of;  ///< by flag: the operations that await it
  Index elements = 0;                       ///< in all memories

  [[nodiscard]] int ranks() const { return static_cast<int>(plans.size()); }
  [[nodiscard]] int operations() const { return first_operation.back(); }
  [[nodiscard]] const Operation& operation(int id) const {
    const int rank = rank_of[id];
    return plans[rank].operations[id - first_operation[rank]];
  }
  [[nodiscard]] int id(int rank, int index) const { return first_operation[rank] + index; }
  [[nodiscard]] int memory(int rank, int buffer) const {
    return memory_of_[first_buffer_[rank] + buffer];
  }
  /// Returns the flag that a signal sets or an await awaits.
  [[nodiscard]] int flag(int id) const {
    const Operation& it = operation(id);
    return memories[memory(rank_of[id], it.from)].first_flag + 1 + it.flag;
  }
  /// Returns "rank 3, operation 5 (copy, gather)".
  [[nodiscard]] std::string describe(int id) const;
  /// Returns "buffer 1 (target) of rank 3" or "slot 2 of rank 0".
  [[nodiscard]] std::string describe_memory(int memory) const;

 private:
  void number();
  void join_slots();
  void join_messages();
  void join_flags();

  std::vector<int> first_buffer_;
  std::vector<int> memory_of_;
};

/// Throws an internal fault unless every index of one plan is in range, and every access is inside
/// its buffer.
void check_plan(const Plan& plan, int rank, int size, bool reverse);

/// Returns "rank 3, operation 5 (copy, gather)".
std::string describe(const Plan& plan, int index);

}  // namespace vicinal

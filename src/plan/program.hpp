// The plans of all ranks seen as one program. A plan names its partners only by rank, tag and slot;
// whoever looks at all plans together (the verifier, the exports) needs those names resolved: which
// send meets which receive, which signal an await waits for, which buffers are the same memory.
// Operations, memories and flags are numbered over all ranks, so that the rest can use flat arrays.
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
  Index base = 0;          ///< its first element in the numbering of all elements of the program
  int owner = 0;           ///< the rank that has it
  int buffer = 0;          ///< the owner's number for it
  std::int64_t slot = -1;  ///< shared: its handle
  int peers = 0;           ///< shared: how many ranks other than the owner have a flag
  int first_flag = -1;     ///< shared: the owner's flag; that of peer k is first_flag + 1 + k
};

struct Program {
  /// Refuses, as internal faults: fields out of range, accesses outside a buffer, messages without
  /// exactly one counterpart of the same size, slots that their ranks see differently, flags that
  /// are signalled by the wrong rank, twice, or never although somebody awaits them.
  explicit Program(std::span<const Plan> all_plans);

  std::span<const Plan> plans;
  bool reverse = false;
  std::vector<int> first_operation;  ///< by rank, and the number of all operations at the end
  std::vector<int> rank_of;          ///< by operation
  std::vector<int> counterpart;  ///< by operation: send and receive each other's; await: its signal
  std::vector<Memory> memories;
  std::vector<int> signal_of;               ///< by flag: the operation that sets it, or -1
  std::vector<std::vector<int>> awaits_of;  ///< by flag: the operations that wait for it
  Index elements = 0;                       ///< of all memories

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
  /// The flag that a signal sets or an await waits for.
  [[nodiscard]] int flag(int id) const {
    const Operation& it = operation(id);
    return memories[memory(rank_of[id], it.from)].first_flag + 1 + it.flag;
  }
  /// "rank 3, operation 5 (copy, gather)".
  [[nodiscard]] std::string describe(int id) const;
  /// "buffer 1 (target) of rank 3", "slot 2 of rank 0".
  [[nodiscard]] std::string describe_memory(int memory) const;

 private:
  void number();
  void join_slots();
  void join_messages();
  void join_flags();

  std::vector<int> first_buffer_;
  std::vector<int> memory_of_;
};

/// What one plan must satisfy on its own: every index in range, every access inside its buffer.
void check_plan(const Plan& plan, int rank, int size, bool reverse);

/// "rank 3, operation 5 (copy, gather)".
std::string describe(const Plan& plan, int index);

}  // namespace vicinal

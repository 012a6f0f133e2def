// Common parts of the entry points of both interfaces.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "simulated.hpp"

#define ENTRY extern "C" __attribute__((visibility("default"))) int

namespace simulated {

/// Runs `action` unless this call is to fail.
template <class Action>
int entered(Action action, Status failure = launch_failed) {
  const Status status = enter(failure);
  return status != success ? status : action();
}

/// Returns the attributes of addresses that the library asks for: memory type, managed, device.
inline int answer(unsigned count, const int* attributes, void** data, const void* address) {
  if (!is_initialised()) return not_initialised;
  const Where where = locate(address);
  for (unsigned i = 0; i < count; ++i) {
    int value = 0;
    if (attributes[i] == 2)
      value = where.kind == Kind::pinned ? 1 : where.kind == Kind::unknown ? 0 : 2;
    if (attributes[i] == 8) value = where.kind == Kind::managed ? 1 : 0;
    if (attributes[i] == 9) value = where.kind == Kind::unknown ? -2 : where.device;
    std::memcpy(data[i], &value, attributes[i] == 8 ? 1 : sizeof value);
  }
  return success;
}

inline int capture_state(void* stream, int* state) {
  *state = is_captured(stream) ? 1 : 0;
  return success;
}
inline int exchange_capture_mode(int* mode) {
  std::swap(*mode, capture_mode());
  return success;
}

/// A program of a run-time compiler.
struct Program {
  std::string source, code, portable, log;
};

inline int create(void** program, const char* source) {
  *program = new Program{source, {}, {}, {}};
  return success;
}
inline int destroy(void** program) {
  delete static_cast<Program*>(*program);
  return success;
}
inline int compile(void* program, int count, const char* const* options) {
  auto& it = *static_cast<Program*>(program);
  it.code = compiled(it.source, count > 0 ? options[0] : "any architecture");
  if (it.code.empty()) it.log = "the double does not compile this";
  return it.code.empty() ? 6 : 0;
}
inline int size_of(const std::string& text, std::size_t* bytes) {
  *bytes = text.size() + 1;
  return success;
}
inline int give(const std::string& text, char* where) {
  std::memcpy(where, text.c_str(), text.size() + 1);
  return success;
}

}  // namespace simulated

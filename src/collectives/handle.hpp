// The handles of the C interface. A handle is a number instead of a pointer. It has the place of an
// entry in a table, the kind of the object, and the number of earlier uses of the place. So one
// load and one comparison, without a lock, tell whether a handle is alive. They detect handles that
// are freed or never existed, even if the place is in use again.
//
// Thread-safe. Only the constructor and the destructor take a lock.
#pragma once

#include <cstdint>

namespace vicinal {

enum class HandleKind : std::uint8_t { graph, halo, request, received };

/// The handle of an object, as long as this lives.
class Handle {
 public:
  /// Throws std::bad_alloc if the table cannot grow.
  Handle(HandleKind kind, void* object);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();
  [[nodiscard]] std::uintptr_t number() const { return number_; }
  /// Changes the number, since the user has given up the old one. Takes no lock.
  void renew() noexcept;
  /// Returns the object of a handle; null if no live object of that kind has it.
  [[nodiscard]] static void* find(std::uintptr_t number, HandleKind kind) noexcept;

 private:
  std::uintptr_t number_;
};

}  // namespace vicinal

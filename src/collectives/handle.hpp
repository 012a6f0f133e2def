// The handles of the C interface. A handle is a number in the place of a pointer: the place of an entry in a table, the
// kind of the object, and how often the place has been used before. So a handle that is freed, or never was one, is told
// from one that is alive, also where its memory is in use again: by one load and one comparison, without a lock.
//
// Thread safety: all of it. A lock is taken where an object gets its handle, and where the object ends.
#pragma once

#include <cstdint>

namespace vicinal {

enum class HandleKind : std::uint8_t { graph, halo, request, received };

/// The handle of an object, as long as this lives.
class Handle {
 public:
  /// Throws std::bad_alloc where the table cannot grow.
  Handle(HandleKind kind, void* object);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();
  [[nodiscard]] std::uintptr_t number() const { return number_; }
  /// Another number from now on: the user has given up the one so far. Takes no lock.
  void renew() noexcept;
  /// The object of a handle; null where none of that kind has it.
  [[nodiscard]] static void* find(std::uintptr_t number, HandleKind kind) noexcept;

 private:
  std::uintptr_t number_;
};

}  // namespace vicinal

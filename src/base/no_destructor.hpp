// What a process has one of, and keeps to its end.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace vicinal {

/// A T for a static variable: never destroyed, so that whatever runs at the end of the process, such as a destructor
/// that ends MPI, still finds it; and made in place, so that its first use takes no memory that T does not take.
template <class T>
class NoDestructor {
 public:
  template <class... Arguments>
  explicit NoDestructor(Arguments&&... arguments) noexcept(
      std::is_nothrow_constructible_v<T, Arguments...>) {
    object_ = ::new (static_cast<void*>(&place_)) T(std::forward<Arguments>(arguments)...);
  }
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;

  T& operator*() noexcept { return *object_; }
  T* operator->() noexcept { return object_; }

 private:
  alignas(T) std::array<std::byte, sizeof(T)> place_;
  T* object_;
};

}  // namespace vicinal

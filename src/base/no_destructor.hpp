// Objects that live until the process ends.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace vicinal {

/// Holds a T for a static variable and never destroys it. Code that runs at process exit, such as a
/// destructor that finalizes MPI, can still use it. T is constructed in place, so the first use
/// allocates only what T allocates.
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

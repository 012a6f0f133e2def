// A shared library opened at run time, and its functions found by name. The interfaces of CUDA and
// ROCm are declared here from their documentation, since a build requires neither.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace vicinal::device {

/// Return value of the functions of drivers and run-time compilers. NVIDIA and AMD agree on these
/// values.
using Status = int;
inline constexpr Status success = 0;
inline constexpr Status out_of_memory = 2;
inline constexpr Status not_found = 500;
inline constexpr Status not_ready = 600;

/// A function of a library, with its name for error messages.
template <class... Parameters>
struct Entry {
  Status (*function)(Parameters...) = nullptr;
  const char* name = "";
};

/// Stays loaded until the process ends, as objects that it created may live as long.
class Library {
 public:
  Library() = default;
  /// Opens the first library that can be opened. If none can, `why()` gives the reason for the
  /// first.
  explicit Library(std::initializer_list<const char*> names);
  [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] void* find(const char* name) const;

 private:
  void* handle_ = nullptr;
  std::string name_;
  std::string why_;
};

/// Fills in entries, and remembers the first function that the library lacks.
class Finder {
 public:
  explicit Finder(const Library& library) : library_(library) {}
  template <class... Parameters>
  void operator()(Entry<Parameters...>& entry, const char* name) {
    entry = {reinterpret_cast<Status (*)(Parameters...)>(library_.find(name)), name};
    if (entry.function == nullptr && missing_ == nullptr) missing_ = name;
  }
  /// As above, for a function of another type.
  template <class Result, class... Parameters>
  void operator()(Result (*&function)(Parameters...), const char* name) {
    function = reinterpret_cast<Result (*)(Parameters...)>(library_.find(name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  /// Name of the first missing function; null if none is missing.
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  const Library& library_;
  const char* missing_ = nullptr;
};

}  // namespace vicinal::device

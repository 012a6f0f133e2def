// The kernels of a device: compiled when vicinal was built, where CUDA was there; else at run time by NVIDIA's NVRTC or
// AMD's hipRTC, or read from the disk where one of them has compiled the same source for the same architecture before.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "memory/device/driver.hpp"

namespace vicinal::device {

/// A run-time compiler's library: the driver's own where that has one, else that of its vendor.
class Compiler {
 public:
  /// Of none, `why()` tells the reason.
  explicit Compiler(const Driver& driver);
  [[nodiscard]] explicit operator bool() const { return why_.empty(); }
  [[nodiscard]] const std::string& why() const { return why_; }
  /// "NVRTC 12.9"
  [[nodiscard]] const std::string& version() const { return version_; }
  /// What the driver loads as a module. For NVIDIA's architecture "sm_90", or for one that this compiler does not
  /// know as code that the driver compiles on; AMD's compiler looks for itself. Throws an
  /// unsupported fault with the compiler's own words.
  [[nodiscard]] std::string compile(std::string_view source, const std::string& architecture) const;

 private:
  struct Calls {
    Entry<int*, int*> version;
    Entry<void**, const char*, const char*, int, const char* const*, const char* const*> create;
    Entry<void*, int, const char* const*> compile;
    Entry<void**> destroy;
    Entry<void*, std::size_t*> log_size, code_size, portable_size;
    Entry<void*, char*> log, code, portable;
  };
  class Program;

  Library library_;
  Calls calls_;
  bool names_architecture_ = false;
  std::string why_;
  std::string version_;
};

/// A file of code on the disk: under XDG_CACHE_HOME, else under .cache in HOME. The key says all that the code
/// depends on. What is there but is not whole, or of another key, counts as nothing.
[[nodiscard]] std::optional<std::string> cached_code(const std::string& key);
/// Whole or not at all, and never a fault: without a cache code is compiled again next time.
void cache_code(const std::string& key, std::string_view code) noexcept;
/// Where that file is; "" where there is no place for it.
[[nodiscard]] std::string cache_path(const std::string& key);

/// The code of all kernels for NVIDIA's GPUs, as CUDA's compiler has made it when vicinal was built; empty where it was
/// not there. A driver may know too little, or a GPU be too old or new, for it.
[[nodiscard]] std::string_view precompiled_kernels();

/// The source of all kernels.
[[nodiscard]] std::string_view kernel_source();

/// The code of all kernels for a device of the current thread's. Throws an unsupported fault where it can neither be
/// found nor be compiled.
[[nodiscard]] std::string kernel_code(const Driver& driver, const std::string& architecture);

}  // namespace vicinal::device

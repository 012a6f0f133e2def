// Code of the kernels of a device. The build compiles it if CUDA is present. Otherwise NVIDIA's
// NVRTC or AMD's hipRTC compiles it at run time. The disk caches that code per source and
// architecture.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "memory/device/driver.hpp"

namespace vicinal::device {

/// A run-time compiler's library: the driver's own if it contains one, else its vendor's.
class Compiler {
 public:
  /// Opens the library. On failure `why()` gives the reason.
  explicit Compiler(const Driver& driver);
  [[nodiscard]] explicit operator bool() const { return why_.empty(); }
  [[nodiscard]] const std::string& why() const { return why_; }
  /// For example "NVRTC 12.9".
  [[nodiscard]] const std::string& version() const { return version_; }
  /// Returns code that the driver loads as a module. `architecture` is NVIDIA's, such as "sm_90";
  /// AMD's compiler detects its own. For an architecture that NVIDIA's compiler does not know,
  /// returns code that the driver compiles further. Throws an unsupported fault with the compiler's
  /// log.
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

/// Reads code from the cache, under XDG_CACHE_HOME or else under .cache in HOME. The key names all
/// that the code depends on besides the source. Returns nothing if the file is incomplete or has
/// another key.
[[nodiscard]] std::optional<std::string> cached_code(const std::string& key);
/// Writes the code to the cache, atomically. Reports no failure: without a cache the code is
/// compiled again next time.
void cache_code(const std::string& key, std::string_view code) noexcept;
/// Returns the path of that file; "" if there is no directory for it.
[[nodiscard]] std::string cache_path(const std::string& key);

/// Returns the code of all kernels for NVIDIA's GPUs from the build; empty if CUDA was absent. The
/// driver or the GPU may not support it.
[[nodiscard]] std::string_view precompiled_kernels();

/// Returns the source of all kernels.
[[nodiscard]] std::string_view kernel_source();

/// Returns the code of all kernels for the thread's current device. Throws an unsupported fault if
/// it can be neither found nor compiled.
[[nodiscard]] std::string kernel_code(const Driver& driver, const std::string& architecture);

}  // namespace vicinal::device

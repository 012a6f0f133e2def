// The double of a GPU driver (tests/driver), which replaces the machine's drivers; and the
// machine's own GPU.
//
// Numbers to set:
//   fail_at        index of the call to fail, as `calls` counts them; 0 for none
//   fail_in        as fail_at, counted from now
//   fail_query     the event query to fail, counted from now, in any thread
//   lost           1: the device has failed. No stream progresses. All calls fail, except
//                  those that release, query captures or query addresses
//   hold           1: nothing put on a stream finishes before a thread waits for it
//   reaches_host   1: kernels access all host memory, as on machines with unified memory
//   open_to_mpi    1: any code may access device memory allocated from now on, as if MPI
//                  were CUDA-aware
//   no_sharing     1: no memory can be shared with other processes
//   no_opening     1: no memory of other processes can be opened
//   no_admission   1: the program's own memory cannot be registered
//   seen_elsewhere 1: a device sees registered memory at other addresses
//   no_compiler    1: nothing compiles
//   no_words       1: kernels do not set completion flags
//   fail_kernel    index in `launches` of the kernel to fail when its stream reaches it, if
//                  it is a batch of copies; 0 for none
//   takes_precompiled  1: code from CUDA's compiler is accepted, and runs as host code
//   architecture   of NVIDIA devices; the compiler does not know 99
//   version        of the driver; 0 for a recent one
// Counters to read: calls, compilations, launches, words (completion flags set), admissions
// (registrations), copies, crossings (copies with one end on the host); blocks in use
// (device_blocks, pinned_blocks, opened_blocks), events, misuses.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>

#include "check.hpp"
#include "memory/device/device_memory.hpp"

namespace vicinal::testing {

class DriverDouble {
 public:
  explicit DriverDouble(const std::string& path = DRIVER_DOUBLE_CUDA)
      : library_(dlopen(path.c_str(), RTLD_NOW)) {
    // Other processes cannot use code that the double compiles.
    setenv("XDG_CACHE_HOME", "nowhere", 1);
    get_ = reinterpret_cast<long (*)(const char*)>(dlsym(library_, "driver_double_get"));
    set_ = reinterpret_cast<void (*)(const char*, long)>(dlsym(library_, "driver_double_set"));
    drivers_ = &device::find_drivers_again(path);
    CHECK_EQUAL(drivers_->size(), 1U);
    for (std::size_t i = 0; i < lent.size(); ++i) {
      before_[i] = get(lent[i]);
      set(lent[i], 0);
    }
    // A run that passes all memory to MPI must not pass this double's memory, which MPI cannot
    // access.
    const char* const of_run = std::getenv("ENGINE_TESTS_MEMORY");
    const char* const transport = std::getenv("VICINAL_DEVICE_WAY");
    if (of_run != nullptr && transport != nullptr && of_run == "device-" + std::string(transport)) {
      transport_ = transport;
      setenv("VICINAL_DEVICE_WAY", "automatic", 1);
    }
  }
  DriverDouble(const DriverDouble&) = delete;
  DriverDouble& operator=(const DriverDouble&) = delete;
  ~DriverDouble() {
    for (std::size_t i = 0; i < lent.size(); ++i) set(lent[i], before_[i]);
    if (transport_) setenv("VICINAL_DEVICE_WAY", transport_->c_str(), 1);
    device::find_drivers_again("none");
  }

  [[nodiscard]] const device::Driver& driver() const { return *drivers_->front(); }
  [[nodiscard]] MemoryKind& memory(int device = 0) const { return device_memory(driver(), device); }
  [[nodiscard]] long get(const char* name) const { return get_(name); }
  void set(const char* name, long value) const { set_(name, value); }
  /// Number of objects that the library still has to release.
  [[nodiscard]] long held() const {
    return get("device_blocks") + get("pinned_blocks") + get("opened_blocks") + get("events");
  }

 private:
  /// Settings that the constructor saves and the destructor restores, because doubles may nest.
  static constexpr std::array<const char*, 15> lent = {
      "fail_at",        "fail_in",     "hold",        "no_compiler", "takes_precompiled",
      "architecture",   "open_to_mpi", "no_sharing",  "no_opening",  "no_admission",
      "seen_elsewhere", "no_words",    "fail_kernel", "fail_query",  "lost"};

  void* library_;
  std::array<long, lent.size()> before_{};
  std::optional<std::string> transport_;  ///< former VICINAL_DEVICE_WAY, if it was replaced
  long (*get_)(const char*) = nullptr;
  void (*set_)(const char*, long) = nullptr;
  const device::Drivers* drivers_ = nullptr;
};

/// Returns the memory of the machine's own GPU, through its driver or the one that
/// VICINAL_DEVICE_DRIVER names. Skips the case if there is none.
inline MemoryKind& memory_of_a_gpu() {
  const char* const named = std::getenv("VICINAL_DEVICE_DRIVER");
  const auto gpu =
      device::first_gpu(device::find_drivers_again(named != nullptr ? named : "automatic"));
  if (!gpu) skip("needs a GPU and its driver");
  return gpu->memory;
}

}  // namespace vicinal::testing

// The double of a GPU's driver (tests/driver), in the place of the drivers that the machine has; and the machine's own.
//
// Numbers to set:
//   fail_at        the call to fail, counted in `calls`; 0 for none
//   fail_in        the same, counted from now
//   fail_query     the question about an event to fail, counted from now, whichever thread asks
//   lost           1: the device has failed: no stream goes on, and all calls fail but those that give back, ask of captures, or ask of addresses
//   hold           1: nothing that was put on a stream is done before somebody waits for it
//   reaches_host   1: kernels reach all of the host's memory, as on machines with one memory
//   open_to_mpi    1: what is allocated in device memory from now on can be touched by all, as if MPI were NVIDIA's friend
//   no_sharing     1: no memory can be shared with other processes; no_opening: none of theirs be opened
//   no_admission   1: none of the program's own memory can be registered; seen_elsewhere: a device sees it at other addresses
//   no_compiler    1: nothing compiles; no_words: kernels do not tell by words that they are over
//   fail_kernel    the kernel to fail when its stream comes to it, counted in `launches`, if it is one of many copies; 0 for none
//   takes_precompiled  1: code that CUDA's compiler has made is taken, and runs as the host's
//   architecture   of NVIDIA's devices; 99 is one that the compiler does not know
//   version        of the driver; 0 for one that is young enough
// and to read: calls, compilations, launches, words that kernels have told, admissions, copies, and crossings, of which one end is on the host;
// device_blocks, pinned_blocks, opened_blocks and events that there are; misuses.
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
    // Its code is of no use to others.
    setenv("XDG_CACHE_HOME", "nowhere", 1);
    get_ = reinterpret_cast<long (*)(const char*)>(dlsym(library_, "driver_double_get"));
    set_ = reinterpret_cast<void (*)(const char*, long)>(dlsym(library_, "driver_double_set"));
    drivers_ = &device::find_drivers_again(path);
    CHECK_EQUAL(drivers_->size(), 1U);
    for (std::size_t i = 0; i < lent.size(); ++i) {
      before_[i] = get(lent[i]);
      set(lent[i], 0);
    }
    // A run in which all memory is given to MPI is no reason to give it this one's, which is closed.
    const char* const of_run = std::getenv("ENGINE_TESTS_MEMORY");
    const char* const way = std::getenv("VICINAL_DEVICE_WAY");
    if (of_run != nullptr && way != nullptr && of_run == "device-" + std::string(way)) {
      way_ = way;
      setenv("VICINAL_DEVICE_WAY", "automatic", 1);
    }
  }
  DriverDouble(const DriverDouble&) = delete;
  DriverDouble& operator=(const DriverDouble&) = delete;
  ~DriverDouble() {
    for (std::size_t i = 0; i < lent.size(); ++i) set(lent[i], before_[i]);
    if (way_) setenv("VICINAL_DEVICE_WAY", way_->c_str(), 1);
    device::find_drivers_again("none");
  }

  [[nodiscard]] const device::Driver& driver() const { return *drivers_->front(); }
  [[nodiscard]] MemoryKind& memory(int device = 0) const { return device_memory(driver(), device); }
  [[nodiscard]] long get(const char* name) const { return get_(name); }
  void set(const char* name, long value) const { set_(name, value); }
  /// All that somebody has to give back.
  [[nodiscard]] long held() const {
    return get("device_blocks") + get("pinned_blocks") + get("opened_blocks") + get("events");
  }

 private:
  /// What whoever has made another one may have set, finds as it was.
  static constexpr std::array<const char*, 15> lent = {
      "fail_at",        "fail_in",     "hold",        "no_compiler", "takes_precompiled",
      "architecture",   "open_to_mpi", "no_sharing",  "no_opening",  "no_admission",
      "seen_elsewhere", "no_words",    "fail_kernel", "fail_query",  "lost"};

  void* library_;
  std::array<long, lent.size()> before_{};
  std::optional<std::string> way_;  ///< VICINAL_DEVICE_WAY, where that is set anew
  long (*get_)(const char*) = nullptr;
  void (*set_)(const char*, long) = nullptr;
  const device::Drivers* drivers_ = nullptr;
};

/// The memory of the machine's own GPU, by its own driver, or by the one that VICINAL_DEVICE_DRIVER names; skips the case where
/// there is none.
inline MemoryKind& memory_of_a_gpu() {
  const char* const named = std::getenv("VICINAL_DEVICE_DRIVER");
  const auto gpu =
      device::first_gpu(device::find_drivers_again(named != nullptr ? named : "automatic"));
  if (!gpu) skip("needs a GPU and its driver");
  return gpu->memory;
}

}  // namespace vicinal::testing

// The functions that the library uses of a GPU's driver, under one interface for NVIDIA's (libcuda)
// and AMD's (libamdhip64). The first query of an address finds the drivers of the process, as
// VICINAL_DEVICE_DRIVER says. If there are none, later queries cost one load.
//
// A driver that the process has not initialized knows no memory, and says so at once. So a program
// that uses host memory alone does not pay for initializing a GPU.
//
// A driver is a shared library opened at run time, and its functions are found by name. The
// interfaces of CUDA and ROCm are declared here from their documentation, since a build requires
// neither. All functions are thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/kind.hpp"

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

/// Kind of memory of an address, and its device.
struct Place {
  enum class Kind : std::uint8_t {
    unknown,  ///< the driver does not know it: host memory
    pinned,   ///< host memory that the driver knows
    managed,  ///< the driver's; the processor reaches it, too
    device,   ///< memory of device `number` only
  };
  Kind kind = Kind::unknown;
  int number = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// The driver's functions under common names. Both drivers represent streams, events, modules,
/// functions and contexts by pointers. NVIDIA's device addresses are integers of the size of a
/// pointer.
struct Calls {
  Entry<unsigned> initialize;
  Entry<int*> count_devices;
  Entry<char*, int, int> device_name;
  Entry<int, unsigned*, int*> context_state;
  Entry<unsigned, int*, void**, void*> pointer_attributes;
  Entry<void**, std::size_t> allocate;
  Entry<void*> release;
  Entry<void**, std::size_t, unsigned> allocate_pinned;
  Entry<void*> release_pinned;
  Entry<void*, std::size_t, unsigned> register_memory;
  Entry<void*> unregister_memory;
  Entry<void**, void*, unsigned> seen_from_device;
  Entry<void*, int, std::size_t, void*> fill;
  Entry<void**, unsigned> create_stream;
  Entry<void*> query_stream;
  Entry<void*> await_stream;
  Entry<void*, void*, unsigned> have_stream_await;
  Entry<void*, int*> capture_state;
  Entry<int*> exchange_capture_mode;
  Entry<void**, unsigned> create_event;
  Entry<void*> destroy_event;
  Entry<void*, void*> record_event;
  Entry<void*> query_event;
  Entry<void*> await_event;
  Entry<void**, std::size_t*, void*> allocation_range;
  Entry<IpcHandle*, void*> share_memory;
  Entry<void**, IpcHandle, unsigned> open_memory;
  Entry<void*> close_memory;
  Entry<void**, const void*> load_module;
  Entry<void**, void*, const char*> find_function;
  Entry<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
        void**>
      launch;

  // NVIDIA only: a device is used through its primary context, which CUDA's runtime uses, too.
  Entry<int*, int, int> device_attribute;
  Entry<void**, int> retain_context;
  Entry<void*> push_context;
  Entry<void**> pop_context;
  Entry<void*, const void*, std::size_t, void*> copy;
  Status (*text_into)(Status, const char**) = nullptr;

  // AMD only: a thread has a current device.
  Entry<int*> current_device;
  Entry<int> use_device;
  Entry<void*, const void*, std::size_t, int, void*> copy_of_kind;
  const char* (*text)(Status) = nullptr;
};

class Driver {
 public:
  enum class Vendor : std::uint8_t { nvidia, amd };

  Driver(Vendor vendor, Library library, const Calls& functions)
      : calls(functions), vendor_(vendor), library_(std::move(library)) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const Calls calls;
  [[nodiscard]] Vendor vendor() const { return vendor_; }
  [[nodiscard]] const char* name() const { return vendor_ == Vendor::nvidia ? "CUDA" : "HIP"; }
  [[nodiscard]] const Library& library() const { return library_; }

  /// Returns where an address lies. Neither waits nor initializes, except for AMD's driver, whose
  /// first call initializes it.
  [[nodiscard]] Place locate(const void* address) const noexcept;

  /// Calls a function. Throws on failure: a memory fault if memory ran out, else a device fault.
  template <class... Parameters, class... Arguments>
  void call(const Entry<Parameters...>& entry, Arguments... arguments) const {
    const Status status = entry.function(arguments...);
    if (status != success) refuse(entry.name, status);
  }
  /// Returns whether the work of a stream or up to an event is complete; `query` is query_stream or
  /// query_event. Throws as call().
  [[nodiscard]] bool is_done(const Entry<void*>& query, void* what) const {
    const Status status = query.function(what);
    if (status != success && status != not_ready) refuse(query.name, status);
    return status == success;
  }
  /// Copies between any two places, in stream order.
  void copy(void* to, const void* from, std::size_t bytes, void* stream) const;
  /// Throws the fault for a function's failure.
  [[noreturn]] void refuse(const char* function, Status status) const;

 private:
  Vendor vendor_;
  Library library_;
};

using Drivers = std::vector<std::unique_ptr<const Driver>>;

namespace detail {
inline std::atomic<const Drivers*> drivers = nullptr;
}
/// Finds the drivers as VICINAL_DEVICE_DRIVER says, and logs the result.
const Drivers& find_drivers();

/// Returns the drivers of this process.
inline const Drivers& drivers() {
  const Drivers* const found = detail::drivers.load(std::memory_order_acquire);
  return found != nullptr ? *found : find_drivers();
}

/// For tests: as if VICINAL_DEVICE_DRIVER were `wish`. Earlier drivers stay valid, but are no
/// longer asked.
const Drivers& find_drivers_again(std::string_view wish);

}  // namespace vicinal::device

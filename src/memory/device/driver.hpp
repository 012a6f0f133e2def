// What the library asks of a GPU's driver, in the same words for NVIDIA's (libcuda) and AMD's (libamdhip64). Which
// drivers a process has is found out when an address is first asked of, or as VICINAL_DEVICE_DRIVER says; where
// there is none, asking costs one load from then on.
//
// A driver that nobody in the process has initialised knows no memory, and says so at once: so a program that uses
// the host's memory alone does not pay for initialising a GPU that happens to be there.
//
// Any thread may call any of this.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/device/library.hpp"
#include "memory/ticket.hpp"

namespace vicinal::device {

/// Whose memory an address is.
struct Place {
  enum class Kind : std::uint8_t {
    unknown,  ///< to the driver: the host's, as far as it goes
    pinned,   ///< the host's, and the driver knows it
    managed,  ///< the driver's, which the processor reaches, too
    device,   ///< that of device `number` alone
  };
  Kind kind = Kind::unknown;
  int number = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// The driver's functions under names that both have in common. Streams, events, modules, functions and contexts are
/// pointers for both; NVIDIA's addresses of device memory are numbers of the same size.
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
  Entry<MemoryTicket*, void*> share_memory;
  Entry<void**, MemoryTicket, unsigned> open_memory;
  Entry<void*> close_memory;
  Entry<void**, const void*> load_module;
  Entry<void**, void*, const char*> find_function;
  Entry<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
        void**>
      launch;

  // NVIDIA's: a device is used through its primary context, which its runtime uses, too.
  Entry<int*, int, int> device_attribute;
  Entry<void**, int> retain_context;
  Entry<void*> push_context;
  Entry<void**> pop_context;
  Entry<void*, const void*, std::size_t, void*> copy;
  Status (*text_into)(Status, const char**) = nullptr;

  // AMD's: a thread has a current device.
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

  /// Where an address lies. Neither waits nor initialises, but for AMD's, whose first call does.
  [[nodiscard]] Place locate(const void* address) const noexcept;

  /// Calls, and throws what it fails with: a memory fault where there is too little, else a device fault.
  template <class... Parameters, class... Arguments>
  void call(const Entry<Parameters...>& entry, Arguments... arguments) const {
    const Status status = entry.function(arguments...);
    if (status != success) refuse(entry.name, status);
  }
  /// Whether all is over that a stream or an event stands for, asked by `query_stream` or `query_event`. Throws as call().
  [[nodiscard]] bool is_done(const Entry<void*>& query, void* what) const {
    const Status status = query.function(what);
    if (status != success && status != not_ready) refuse(query.name, status);
    return status == success;
  }
  /// Copies in the order of a stream, between any two places.
  void copy(void* to, const void* from, std::size_t bytes, void* stream) const;
  /// Throws the fault that a function has failed with.
  [[noreturn]] void refuse(const char* function, Status status) const;

 private:
  Vendor vendor_;
  Library library_;
};

using Drivers = std::vector<std::unique_ptr<const Driver>>;

namespace detail {
inline std::atomic<const Drivers*> drivers = nullptr;
}
/// Looks for them as the environment says, for the log, too.
const Drivers& find_drivers();

/// Those that this process has.
inline const Drivers& drivers() {
  const Drivers* const found = detail::drivers.load(std::memory_order_acquire);
  return found != nullptr ? *found : find_drivers();
}

/// For tests: as if VICINAL_DEVICE_DRIVER were this. What was found before stays valid, but is asked no more.
const Drivers& find_drivers_again(std::string_view wish);

}  // namespace vicinal::device

#include "memory/device/driver.hpp"

#include <array>

#include "base/error.hpp"

namespace vicinal::device {

namespace {

/// Attributes of addresses, with equal numbers in both interfaces.
enum Attribute : int { memory_type = 2, is_managed = 8, device_ordinal = 9 };
/// Values of memory_type; for AMD since ROCm 6.
enum MemoryType : unsigned { of_host = 1, of_device = 2 };

/// Direction of AMD's copies: from any memory to any other.
constexpr int of_any_kind = 4;

}  // namespace

Place Driver::locate(const void* address) const noexcept {
  unsigned type = 0;
  unsigned managed = 0;  // NVIDIA writes one byte, AMD four
  int number = 0;
  std::array<int, 3> wanted{memory_type, is_managed, device_ordinal};
  std::array<void*, 3> found{&type, &managed, &number};
  const Status status = calls.pointer_attributes.function(wanted.size(), wanted.data(),
                                                          found.data(), const_cast<void*>(address));
  // For memory that is not its own, or uninitialized, a driver returns no attributes or an error.
  if (status != success) return {};
  if (managed != 0) return {Place::Kind::managed, number};
  if (type == of_device) return {Place::Kind::device, number};
  if (type == of_host) return {Place::Kind::pinned, number};
  return {};
}

void Driver::copy(void* to, const void* from, std::size_t bytes, void* stream) const {
  if (vendor_ == Vendor::nvidia) return call(calls.copy, to, from, bytes, stream);
  call(calls.copy_of_kind, to, from, bytes, of_any_kind, stream);
}

void Driver::refuse(const char* function, Status status) const {
  const char* text = nullptr;
  if (calls.text != nullptr) text = calls.text(status);
  if (calls.text_into != nullptr && calls.text_into(status, &text) != success) text = nullptr;
  const bool memory = status == out_of_memory;
  fail(memory ? Fault::memory : Fault::device, function, " has failed with ", status, ": ",
       text != nullptr ? text : "an error that the driver has no text for",
       memory
           ? "; give back device or pinned memory, or let fewer exchanges be in flight"
           : "; what the program's own kernels and copies have failed with before shows here, too");
}

}  // namespace vicinal::device

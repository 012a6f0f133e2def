// Plans move raw bytes. A user's datatype is either dense or packed and unpacked by MPI. Dense
// means that its values lie in memory as they are sent, so an address and a byte count suffice.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace vicinal::mpi {

struct Datatype {
  MPI_Datatype handle = MPI_DATATYPE_NULL;  ///< the user's; not owned
  std::int64_t size = 0;                    ///< bytes of data in one element
  std::int64_t extent = 0;                  ///< bytes from one element to the next
  std::int64_t true_lower_bound = 0;
  std::int64_t true_extent = 0;
  bool contiguous = false;  ///< count elements are size * count bytes, in order
  bool basic = false;       ///< predefined: as the compiler lays it out, perhaps with padding
};

/// Throws a type fault for MPI_DATATYPE_NULL.
[[nodiscard]] Datatype describe(MPI_Datatype type);
/// Describes MPI_BYTE without an MPI call.
[[nodiscard]] inline Datatype bytes() { return {MPI_BYTE, 1, 1, 0, 1, true, true}; }
/// Returns the name that MPI or the user gave the type.
[[nodiscard]] std::string name_of(MPI_Datatype type);

/// A copy of a user's datatype, for use after the user has freed it. It is made by
/// MPI_Type_contiguous, since MPI_Type_dup would run the callbacks of other libraries' attributes.
/// MPICH and Open MPI keep a type as long as a type made of it exists, so the user's handle stays
/// valid as well. Costs nothing for predefined types, which cannot be freed.
class KeptType {
 public:
  KeptType() = default;
  explicit KeptType(MPI_Datatype type);
  KeptType(KeptType&& other) noexcept
      : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)),
        made_(std::exchange(other.made_, false)) {}
  KeptType& operator=(KeptType&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(made_, other.made_);
    return *this;
  }
  KeptType(const KeptType&) = delete;
  KeptType& operator=(const KeptType&) = delete;
  ~KeptType();
  [[nodiscard]] MPI_Datatype handle() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
  bool made_ = false;
};

/// Copies `count` elements of `type` at `from` to count * size raw bytes at `to`, and back. Takes
/// any count. Throws an unsupported fault if this MPI's packed form is not the raw bytes.
void pack(const Datatype& type, const void* from, std::int64_t count, std::byte* to,
          MPI_Comm communicator);
void unpack(const Datatype& type, const std::byte* from, void* to, std::int64_t count,
            MPI_Comm communicator);
/// Unpacks `bytes` bytes, which may end inside an element: the remainder of that element keeps its
/// values.
void unpack_bytes(const Datatype& type, const std::byte* from, void* to, std::int64_t bytes,
                  MPI_Comm communicator);

/// Largest number of elements, of a byte or more, in a message.
constexpr std::int64_t most_in_message = (std::int64_t{1} << 51U) - 1;

/// `count` elements of a type, as a count and type for any MPI call with an int count.
class TypeSpan {
 public:
  TypeSpan(std::int64_t count, MPI_Datatype type);
  TypeSpan(const TypeSpan&) = delete;
  TypeSpan& operator=(const TypeSpan&) = delete;
  ~TypeSpan();
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool made_ = false;  ///< the type is this object's own
};

/// As TypeSpan, for raw bytes.
class ByteSpan : public TypeSpan {
 public:
  explicit ByteSpan(std::int64_t bytes) : TypeSpan(bytes, MPI_BYTE) {}
};

}  // namespace vicinal::mpi

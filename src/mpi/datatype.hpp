// Plans move raw bytes. A user's datatype is either dense (its values lie in memory as they would
// be sent, so an address and a byte count say all), or it is packed and unpacked by MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace vicinal::mpi {

struct Datatype {
  MPI_Datatype handle = MPI_DATATYPE_NULL;  ///< the user's; not owned
  std::int64_t size = 0;                    ///< bytes of data in one
  std::int64_t extent = 0;                  ///< from one to the next
  std::int64_t true_lower_bound = 0;
  std::int64_t true_extent = 0;
  bool contiguous = false;  ///< any number of them is size * count bytes, in order
  bool basic = false;       ///< predefined: as the compiler lays it out, perhaps with padding
};

/// Throws a type fault for MPI_DATATYPE_NULL.
[[nodiscard]] Datatype describe(MPI_Datatype type);
/// MPI_BYTE, without a call of MPI.
[[nodiscard]] inline Datatype bytes() { return {MPI_BYTE, 1, 1, 0, 1, true, true}; }
/// As MPI calls it, or the user does.
[[nodiscard]] std::string name_of(MPI_Datatype type);

/// A copy of a user's datatype, for use after they have freed theirs. It is made by
/// MPI_Type_contiguous, since MPI_Type_dup would run the callbacks of other libraries' attributes.
/// Both MPIs keep a type as long as one that was made of it, so the user's handle stays good as well.
/// Costs nothing for predefined types, which nobody can free.
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

/// Copies `count` of `type` at `from` to count * size raw bytes at `to`, and back. Any count.
/// Throws an unsupported fault where this MPI's packed form is not the raw bytes.
void pack(const Datatype& type, const void* from, std::int64_t count, std::byte* to,
          MPI_Comm communicator);
void unpack(const Datatype& type, const std::byte* from, void* to, std::int64_t count,
            MPI_Comm communicator);
/// Unpacks so many bytes, which may end inside of an element: the rest of that keeps its values.
void unpack_bytes(const Datatype& type, const std::byte* from, void* to, std::int64_t bytes,
                  MPI_Comm communicator);

/// How many elements, of a byte or more, a message can have.
constexpr std::int64_t most_in_message = (std::int64_t{1} << 51U) - 1;

/// `count` of a type as a count and type for any MPI call that has an int count.
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

/// The same for raw bytes.
class ByteSpan : public TypeSpan {
 public:
  explicit ByteSpan(std::int64_t bytes) : TypeSpan(bytes, MPI_BYTE) {}
};

}  // namespace vicinal::mpi

// Detection of dense datatypes, and packing of the others. Size and extent do not suffice: a struct
// whose members are out of order has no holes either. Only named types, duplicates and contiguous
// vectors of dense types are known to be in order. They are nearly all that users send without
// intending a layout.
#include "mpi/datatype.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

/// Construction of a type: the combiner, and the number of arguments of each kind.
struct Envelope {
  int combiner = MPI_COMBINER_NAMED;
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count counts = 0;
  MPI_Count types = 0;

  /// Predefined, or handled like predefined: never freed.
  [[nodiscard]] bool is_basic() const {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }
};

// Uses the large-count calls if MPI has them: only they accept types that large-count constructors
// made.

Envelope envelope_of(MPI_Datatype type) {
  using Large = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
  static const auto large = reinterpret_cast<Large>(find_symbol("MPI_Type_get_envelope_c"));
  Envelope made;
  if (large != nullptr) {
    check(large(type, &made.integers, &made.addresses, &made.counts, &made.types, &made.combiner),
          "MPI_Type_get_envelope_c");
    return made;
  }
  int integers = 0;
  int addresses = 0;
  int types = 0;
  check(MPI_Type_get_envelope(type, &integers, &addresses, &types, &made.combiner),
        "MPI_Type_get_envelope");
  made.integers = integers;
  made.addresses = addresses;
  made.types = types;
  return made;
}

/// Types from which a type was made. MPI returns new references to those that are not basic.
class InnerTypes {
 public:
  InnerTypes(MPI_Datatype type, const Envelope& made) {
    using Large = int (*)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*,
                          MPI_Count*, MPI_Datatype*);
    static const auto large = reinterpret_cast<Large>(find_symbol("MPI_Type_get_contents_c"));
    std::vector<int> integers(static_cast<std::size_t>(made.integers));
    std::vector<MPI_Aint> addresses(static_cast<std::size_t>(made.addresses));
    std::vector<MPI_Count> counts(static_cast<std::size_t>(made.counts));
    types_.resize(static_cast<std::size_t>(made.types));
    if (large != nullptr) {
      check(large(type, made.integers, made.addresses, made.counts, made.types, integers.data(),
                  addresses.data(), counts.data(), types_.data()),
            "MPI_Type_get_contents_c");
    } else {
      check(MPI_Type_get_contents(type, static_cast<int>(made.integers),
                                  static_cast<int>(made.addresses), static_cast<int>(made.types),
                                  integers.data(), addresses.data(), types_.data()),
            "MPI_Type_get_contents");
    }
  }
  InnerTypes(const InnerTypes&) = delete;
  InnerTypes& operator=(const InnerTypes&) = delete;
  ~InnerTypes() {
    for (MPI_Datatype& type : types_) {
      if (!envelope_of(type).is_basic()) MPI_Type_free(&type);
    }
  }
  [[nodiscard]] MPI_Datatype only() const { return types_.front(); }

 private:
  std::vector<MPI_Datatype> types_;
};

Datatype measure(MPI_Datatype type) {
  Datatype result;
  result.handle = type;
  MPI_Count size = 0;
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
  check(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
  check(MPI_Type_get_extent_x(type, &lower_bound, &extent), "MPI_Type_get_extent_x");
  result.size = size;
  result.extent = extent;
  check(MPI_Type_get_true_extent_x(type, &lower_bound, &extent), "MPI_Type_get_true_extent_x");
  result.true_lower_bound = lower_bound;
  result.true_extent = extent;
  return result;
}

bool is_dense(const Datatype& type, const Envelope& made) {
  if (type.size != type.extent) return false;
  if (made.is_basic()) return true;
  if (made.combiner != MPI_COMBINER_DUP && made.combiner != MPI_COMBINER_CONTIGUOUS) return false;
  const InnerTypes inner(type.handle, made);
  return is_dense(measure(inner.only()), envelope_of(inner.only()));
}

/// Returns how many elements fit into one call of MPI's packing functions, whose sizes are int.
std::int64_t batch(const Datatype& type) {
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  require(type.size <= std::numeric_limits<int>::max(), Fault::unsupported,
          "a derived datatype with ", type.size,
          " bytes of data in one; at most 2^31 - 1 are supported: use a smaller type and a count");
  return std::max<std::int64_t>(limit / type.size, 1);
}

void verify_packed(std::int64_t position, std::int64_t expected) {
  require(position == expected, Fault::unsupported, "this MPI packs ", expected,
          " bytes of data as ", position,
          " bytes; derived datatypes need an MPI whose packed form is the data alone");
}

}  // namespace

Datatype describe(MPI_Datatype type) {
  require(type != MPI_DATATYPE_NULL, Fault::type, "the datatype is MPI_DATATYPE_NULL");
  // A basic type cannot be freed, so its handle keeps its meaning.
  thread_local Datatype last_basic;
  if (type == last_basic.handle) return last_basic;
  Datatype result = measure(type);
  const Envelope made = envelope_of(type);
  result.contiguous = is_dense(result, made);
  result.basic = made.is_basic();
  if (result.basic) last_basic = result;
  return result;
}

std::string name_of(MPI_Datatype type) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  check(MPI_Type_get_name(type, name.data(), &length), "MPI_Type_get_name");
  return name.data();
}

KeptType::KeptType(MPI_Datatype type) : handle_(type) {
  if (envelope_of(type).is_basic()) return;
  check(MPI_Type_contiguous(1, type, &handle_), "MPI_Type_contiguous");
  made_ = true;
  const int code = MPI_Type_commit(&handle_);
  if (code == MPI_SUCCESS) return;
  MPI_Type_free(&handle_);
  throw_mpi_error(code, "MPI_Type_commit");
}

KeptType::~KeptType() {
  if (made_ && is_alive()) MPI_Type_free(&handle_);
}

void pack(const Datatype& type, const void* from, std::int64_t count, std::byte* to,
          MPI_Comm communicator) {
  if (count == 0 || type.size == 0) return;
  if (type.contiguous) {
    std::memcpy(to, from, static_cast<std::size_t>(count * type.size));
    return;
  }
  const std::int64_t most = batch(type);
  const auto* source = static_cast<const std::byte*>(from);
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t items = std::min(most, count - done);
    const std::int64_t bytes = items * type.size;
    int position = 0;
    check(MPI_Pack(source + done * type.extent, static_cast<int>(items), type.handle,
                   to + done * type.size, static_cast<int>(bytes), &position, communicator),
          "MPI_Pack");
    verify_packed(position, bytes);
  }
}

void unpack(const Datatype& type, const std::byte* from, void* to, std::int64_t count,
            MPI_Comm communicator) {
  if (count == 0 || type.size == 0) return;
  if (type.contiguous) {
    std::memcpy(to, from, static_cast<std::size_t>(count * type.size));
    return;
  }
  const std::int64_t most = batch(type);
  auto* target = static_cast<std::byte*>(to);
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t items = std::min(most, count - done);
    const std::int64_t bytes = items * type.size;
    int position = 0;
    check(
        MPI_Unpack(from + done * type.size, static_cast<int>(bytes), &position,
                   target + done * type.extent, static_cast<int>(items), type.handle, communicator),
        "MPI_Unpack");
    verify_packed(position, bytes);
  }
}

void unpack_bytes(const Datatype& type, const std::byte* from, void* to, std::int64_t bytes,
                  MPI_Comm communicator) {
  if (type.contiguous) return unpack(mpi::bytes(), from, to, bytes, communicator);
  if (bytes == 0) return;
  const std::int64_t whole = bytes / type.size;
  const std::int64_t rest = bytes % type.size;
  unpack(type, from, to, whole, communicator);
  if (rest == 0) return;
  std::vector<std::byte> element(static_cast<std::size_t>(type.size));
  std::byte* const last = static_cast<std::byte*>(to) + whole * type.extent;
  pack(type, last, 1, element.data(), communicator);
  std::memcpy(element.data(), from + whole * type.size, static_cast<std::size_t>(rest));
  unpack(type, element.data(), last, 1, communicator);
}

TypeSpan::TypeSpan(std::int64_t count, MPI_Datatype type) : type_(type) {
  constexpr std::int64_t in_block = std::int64_t{1} << 20;
  if (count <= std::numeric_limits<int>::max()) {
    count_ = static_cast<int>(count);
    return;
  }
  const std::int64_t blocks = count / in_block;
  const std::int64_t rest = count % in_block;
  require(count <= most_in_message, Fault::count, "a message of ", count, " elements; at most ",
          most_in_message, " are possible");
  const std::int64_t extent = measure(type).extent;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(in_block), type, &block), "MPI_Type_contiguous");
  const int lengths[] = {static_cast<int>(blocks), static_cast<int>(rest)};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(blocks * in_block * extent)};
  const MPI_Datatype types[] = {block, type};
  check(MPI_Type_create_struct(2, lengths, places, types, &type_), "MPI_Type_create_struct");
  made_ = true;
  MPI_Type_free(&block);
  check(MPI_Type_commit(&type_), "MPI_Type_commit");
  count_ = 1;
}

TypeSpan::~TypeSpan() {
  if (made_) MPI_Type_free(&type_);
}

}  // namespace vicinal::mpi

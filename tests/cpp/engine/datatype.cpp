// Checks which datatypes are dense, and that other ones are packed into raw bytes and back.
#include "mpi/datatype.hpp"

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "check.hpp"

namespace vicinal::mpi::datatype_tests {
namespace {

/// A datatype that is freed at the end of its scope.
class Made {
 public:
  template <class Make>
  explicit Made(Make make) {
    make(&type_);
    MPI_Type_commit(&type_);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() { MPI_Type_free(&type_); }
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

TEST(datatype_dense_or_not) {
  CHECK(describe(MPI_DOUBLE).contiguous);
  CHECK_EQUAL(describe(MPI_DOUBLE).size, 8);
  CHECK(describe(MPI_BYTE).contiguous);
  CHECK(describe(MPI_FLOAT_INT).contiguous);
  CHECK(!describe(MPI_DOUBLE_INT).contiguous);
  CHECK_THROWS(Fault::type, describe(MPI_DATATYPE_NULL), "MPI_DATATYPE_NULL");

  const Made row([](MPI_Datatype* type) { MPI_Type_contiguous(5, MPI_DOUBLE, type); });
  CHECK(describe(row).contiguous);
  CHECK_EQUAL(describe(row).extent, 40);
  const Made rows([&](MPI_Datatype* type) { MPI_Type_contiguous(3, row, type); });
  CHECK(describe(rows).contiguous);
  const Made copy([&](MPI_Datatype* type) { MPI_Type_dup(rows, type); });
  CHECK(describe(copy).contiguous);
  const Made holes([](MPI_Datatype* type) { MPI_Type_contiguous(2, MPI_DOUBLE_INT, type); });
  CHECK(!describe(holes).contiguous);
  const Made column([](MPI_Datatype* type) { MPI_Type_vector(3, 1, 4, MPI_DOUBLE, type); });
  CHECK(!describe(column).contiguous);
  const Made padded([](MPI_Datatype* type) { MPI_Type_create_resized(MPI_INT, 0, 16, type); });
  CHECK(!describe(padded).contiguous);
  CHECK_EQUAL(describe(padded).extent, 16);
  const Made shifted([](MPI_Datatype* type) { MPI_Type_create_resized(MPI_INT, -4, 4, type); });
  CHECK(!describe(shifted).contiguous);
  // Without holes, but out of order.
  const Made swapped([](MPI_Datatype* type) {
    const int places[] = {1, 0};
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, type);
  });
  CHECK_EQUAL(describe(swapped).size, describe(swapped).extent);
  CHECK(!describe(swapped).contiguous);
  const Made twice([&](MPI_Datatype* type) { MPI_Type_contiguous(2, swapped, type); });
  CHECK(!describe(twice).contiguous);
}

TEST(datatype_packs_to_raw_bytes) {
  const Made swapped([](MPI_Datatype* type) {
    const int places[] = {1, 0};
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, type);
  });
  const std::array<int, 6> values{10, 11, 12, 13, 14, 15};
  std::array<int, 6> packed{};
  pack(describe(swapped), values.data(), 3, reinterpret_cast<std::byte*>(packed.data()),
       MPI_COMM_SELF);
  CHECK((packed == std::array<int, 6>{11, 10, 13, 12, 15, 14}));

  const Made column([](MPI_Datatype* type) {
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 4, MPI_DOUBLE, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(double), type);
    MPI_Type_free(&vector);
  });
  std::array<double, 12> matrix{};
  std::iota(matrix.begin(), matrix.end(), 0.0);
  const Datatype described = describe(column);
  CHECK_EQUAL(described.size, 24);
  std::array<double, 6> columns{};
  pack(described, matrix.data(), 2, reinterpret_cast<std::byte*>(columns.data()), MPI_COMM_SELF);
  CHECK((columns == std::array<double, 6>{0, 4, 8, 1, 5, 9}));
  std::array<double, 12> back{};
  unpack(described, reinterpret_cast<const std::byte*>(columns.data()), back.data(), 2,
         MPI_COMM_SELF);
  CHECK((back == std::array<double, 12>{0, 1, 0, 0, 4, 5, 0, 0, 8, 9, 0, 0}));

  std::array<double, 2> dense{3, 4};
  std::array<double, 2> moved{};
  pack(describe(MPI_DOUBLE), dense.data(), 2, reinterpret_cast<std::byte*>(moved.data()),
       MPI_COMM_SELF);
  CHECK(moved == dense);
  pack(described, nullptr, 0, nullptr, MPI_COMM_SELF);
  unpack(described, nullptr, nullptr, 0, MPI_COMM_SELF);
}

TEST(datatype_of_any_number_of_bytes) {
  const ByteSpan small(1000);
  CHECK_EQUAL(small.count(), 1000);
  CHECK(small.type() == MPI_BYTE);
  for (const std::int64_t bytes : {(std::int64_t{1} << 31) + 12345, std::int64_t{1} << 33}) {
    const ByteSpan large(bytes);
    CHECK_EQUAL(large.count(), 1);
    MPI_Count size = 0;
    MPI_Type_size_x(large.type(), &size);
    CHECK_EQUAL(size, static_cast<MPI_Count>(bytes));
  }
  CHECK_THROWS(Fault::count, ByteSpan(std::int64_t{1} << 60), "at most 2251799813685247");
}

}  // namespace
}  // namespace vicinal::mpi::datatype_tests

// Sparse exchanges in Python. Ranks meet before they exchange, since a rank that has nothing to
// send must learn what kind of values it gets, and what Python finds wrong must reach all.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "discovery/query.hpp"
#include "mpi.hpp"
#include "mpi/communicator.hpp"
#include "mpi_array.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

/// The type of a rank that has no arrays: any.
constexpr std::int64_t any_type = std::numeric_limits<std::int64_t>::max();

/// What NumPy calls a type, in the bytes of a number.
std::string text_of(std::int64_t type) {
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>((type >> shift) & 0x7f);
  return text.substr(0, text.find(' '));
}

/// Arrays that stay in place as long as this.
class Messages {
 public:
  explicit Messages(const nb::list& arrays) {
    for (const nb::handle array : arrays) arrays_.emplace_back().view(array, "a message");
  }
  [[nodiscard]] std::vector<std::span<const std::byte>> bytes() const {
    std::vector<std::span<const std::byte>> all;
    for (const Array& array : arrays_) {
      all.push_back({array.data(), static_cast<std::size_t>(array.bytes())});
    }
    return all;
  }

 private:
  std::deque<Array> arrays_;
};

/// The type that all ranks agree on.
std::int64_t common_type(const AgreedSettings& agreed) {
  require(agreed.least[0] == any_type || agreed.least[0] == -agreed.least[1], Fault::type,
          "the ranks exchange arrays of different types: ", text_of(agreed.least[0]), " and ",
          text_of(-agreed.least[1]), "; all must give the same");
  return agreed.least[0];
}

AgreedSettings agree_with_type(MPI_Comm user, std::int64_t type, const GivenSettings& given,
                               const GivenFault& fault) {
  return agree_on_settings(user, given, fault, {type, type == any_type ? any_type : -type});
}

/// The type, the senders, where each message begins in bytes, and the bytes.
nb::tuple received(std::int64_t type, const Inbox& inbox) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(inbox.data.data());
  return nb::make_tuple(type == any_type ? std::string() : text_of(type), new_array(inbox.ranks),
                        new_array(inbox.offsets), new_array(std::span(bytes, inbox.data.size())));
}

std::vector<Parcel> parcels_of(const ArrayArgument<int>& ranks, const Messages& messages) {
  std::vector<Parcel> parcels;
  const auto bytes = messages.bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) parcels.push_back({ranks.data()[i], bytes[i]});
  return parcels;
}

nb::tuple sparse_exchange(Address comm, const ArrayArgument<int>& ranks, const nb::list& arrays,
                          std::int64_t type, const GivenSettings& given, const GivenFault& fault) {
  const Messages messages(arrays);
  Inbox inbox;
  {
    const nb::gil_scoped_release released;
    const auto user = handle_at<MPI_Comm>(comm);
    const AgreedSettings agreed = agree_with_type(user, type, given, fault);
    type = common_type(agreed);
    inbox = exchange(*mpi::Communicator::of(user), parcels_of(ranks, messages),
                     exchange_options(agreed.settings));
  }
  return received(type, inbox);
}

/// Requests that wait for their answers.
class PythonQuery {
 public:
  PythonQuery(Address comm, const ArrayArgument<int>& ranks, const nb::list& arrays,
              std::int64_t type, GivenSettings given, const GivenFault& fault)
      : given_(std::move(given)) {
    const Messages messages(arrays);
    const nb::gil_scoped_release released;
    const auto user = handle_at<MPI_Comm>(comm);
    const AgreedSettings agreed = agree_with_type(user, type, given_, fault);
    type_ = common_type(agreed);
    communicator_ = mpi::Communicator::of(user);
    query_.emplace(*communicator_, parcels_of(ranks, messages), exchange_options(agreed.settings));
  }
  /// Throws where there was no memory for them: those who ask are to be told.
  [[nodiscard]] nb::tuple requests() const {
    query_->requests().require_whole();
    return received(type_, query_->requests());
  }
  nb::tuple answer(const nb::list& arrays, std::int64_t type, const GivenFault& fault) {
    const Messages messages(arrays);
    Inbox inbox;
    {
      const nb::gil_scoped_release released;
      type = common_type(agree_with_type(communicator_->error_communicator(), type, given_, fault));
      inbox = query_->answer(messages.bytes());
    }
    return received(type, inbox);
  }

 private:
  GivenSettings given_;
  std::int64_t type_ = any_type;
  std::shared_ptr<mpi::Communicator> communicator_;
  std::optional<Query> query_;
};

}  // namespace

void bind_sparse(nb::module_& module) {
  module.def("sparse_exchange", &sparse_exchange, "comm"_a, "ranks"_a, "arrays"_a, "type"_a,
             "settings"_a, "fault"_a.none());
  nb::class_<PythonQuery>(module, "Query")
      .def(nb::init<Address, const ArrayArgument<int>&, const nb::list&, std::int64_t,
                    GivenSettings, const GivenFault&>(),
           "comm"_a, "ranks"_a, "arrays"_a, "type"_a, "settings"_a, "fault"_a.none())
      .def("requests", &PythonQuery::requests)
      .def("answer", &PythonQuery::answer, "arrays"_a, "type"_a, "fault"_a.none());
}

}  // namespace vicinal::python

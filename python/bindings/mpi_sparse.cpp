// Sparse exchanges in Python. Ranks agree before they exchange: a rank that sends nothing must
// learn the value type. An error found by Python must reach all ranks.
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
#include "collectives/sparse_exchange.hpp"
#include "discovery/query.hpp"
#include "mpi.hpp"
#include "mpi/communicator.hpp"
#include "mpi_array.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

/// The type given by a rank without arrays: it accepts any.
constexpr std::int64_t any_type = std::numeric_limits<std::int64_t>::max();

/// Returns NumPy's name of a type, which is stored in the bytes of a number.
std::string text_of(std::int64_t type) {
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>((type >> shift) & 0x7f);
  return text.substr(0, text.find(' '));
}

/// Arrays that stay in place as long as this object. Their errors are reported in the agreement of
/// all ranks.
class Messages {
 public:
  explicit Messages(const nb::list& arrays) {
    attempt(finding_, [&] {
      for (const nb::handle array : arrays) {
        Array& message = arrays_.emplace_back();
        message.view(array, "a message");
        require(message.by_rows(), Fault::buffer,
                "a message in the memory of a GPU is not contiguous; give an array without gaps");
      }
    });
  }
  /// Returns the bytes of all messages. Copies those in GPU memory to the host.
  [[nodiscard]] const std::vector<std::span<const std::byte>>& bytes(
      mpi::Communicator& communicator) {
    attempt(finding_, [&] {
      for (const Array& array : arrays_) {
        all_.push_back({array.data(), static_cast<std::size_t>(array.bytes())});
      }
      fetched_ = fetch(all_, communicator);
    });
    if (finding_) all_.clear();
    return all_;
  }
  [[nodiscard]] const std::optional<Error>& finding() const { return finding_; }

 private:
  std::deque<Array> arrays_;
  std::optional<Error> finding_;
  std::vector<std::span<const std::byte>> all_;
  std::unique_ptr<BounceBuffer> fetched_;
};

/// Returns the type that all ranks give. Throws a type fault if they differ.
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

/// Returns the type, the senders, the offset of each message in bytes, and the bytes.
nb::tuple received(std::int64_t type, const Inbox& inbox) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(inbox.data.data());
  return nb::make_tuple(type == any_type ? std::string() : text_of(type), new_array(inbox.ranks),
                        new_array(inbox.offsets), new_array(std::span(bytes, inbox.data.size())));
}

std::vector<Parcel> parcels_of(const ArrayArgument<int>& ranks, Messages& messages,
                               mpi::Communicator& communicator) {
  std::vector<Parcel> parcels;
  const auto& bytes = messages.bytes(communicator);
  for (std::size_t i = 0; i < bytes.size(); ++i) parcels.push_back({ranks.data()[i], bytes[i]});
  return parcels;
}

nb::tuple sparse_exchange(Address comm, const ArrayArgument<int>& ranks, const nb::list& arrays,
                          std::int64_t type, const GivenSettings& given, const GivenFault& fault) {
  Messages messages(arrays);
  Inbox inbox;
  {
    const nb::gil_scoped_release released;
    const auto user = handle_at<MPI_Comm>(comm);
    const AgreedSettings agreed = agree_with_type(user, type, given, fault);
    type = common_type(agreed);
    const auto communicator = mpi::Communicator::of(user);
    std::vector<Parcel> parcels = parcels_of(ranks, messages, *communicator);
    inbox = exchange(*communicator, std::move(parcels), exchange_options(agreed.settings),
                     messages.finding());
  }
  return received(type, inbox);
}

/// Requests that wait for their answers.
class PythonQuery {
 public:
  PythonQuery(Address comm, const ArrayArgument<int>& ranks, const nb::list& arrays,
              std::int64_t type, GivenSettings given, const GivenFault& fault)
      : given_(std::move(given)) {
    Messages messages(arrays);
    const nb::gil_scoped_release released;
    const auto user = handle_at<MPI_Comm>(comm);
    const AgreedSettings agreed = agree_with_type(user, type, given_, fault);
    type_ = common_type(agreed);
    communicator_ = mpi::Communicator::of(user);
    std::vector<Parcel> parcels = parcels_of(ranks, messages, *communicator_);
    query_.emplace(*communicator_, std::move(parcels), exchange_options(agreed.settings),
                   messages.finding());
  }
  /// Throws if the requests could not be allocated, so that the asking ranks learn of it.
  [[nodiscard]] nb::tuple requests() const {
    query_->requests().require_whole();
    return received(type_, query_->requests());
  }
  nb::tuple answer(const nb::list& arrays, std::int64_t type, const GivenFault& fault) {
    Messages messages(arrays);
    Inbox inbox;
    {
      const nb::gil_scoped_release released;
      type = common_type(agree_with_type(communicator_->error_communicator(), type, given_, fault));
      const auto& replies = messages.bytes(*communicator_);
      inbox = query_->answer(replies, messages.finding());
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

// Number of messages that sparse exchanges send, at any number of ranks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "core.hpp"
#include "cost/exchange_method.hpp"
#include "errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

std::vector<SentMessage> read_messages(const Machine& machine, const ArrayArgument<int>& sources,
                                       const ArrayArgument<int>& targets,
                                       const ArrayArgument<std::int64_t>& bytes) {
  require(sources.size() == targets.size() && sources.size() == bytes.size(), Fault::argument,
          sources.size(), " sources, ", targets.size(), " targets and ", bytes.size(),
          " numbers of bytes were given; give one of each for each message");
  std::vector<SentMessage> messages;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const SentMessage& message =
        messages.emplace_back(SentMessage{sources.data()[i], targets.data()[i], bytes.data()[i]});
    for (const int rank : {message.source, message.target}) {
      require(rank >= 0 && rank < machine.size(), Fault::rank, "a message from rank ",
              message.source, " to rank ", message.target, " was given, but there are ranks 0 to ",
              machine.size() - 1);
    }
  }
  return messages;
}

/// A machine, and messages between its ranks.
struct PlacedMessages {
  std::shared_ptr<const Machine> machine;
  std::vector<SentMessage> messages;
};

nb::dict as_dict(ExchangeMessages counted) {
  nb::dict result;
  result["payload"] = new_array(std::move(counted.payload));
  result["protocol"] = new_array(std::move(counted.protocol));
  result["inside_mpi"] = new_array(std::move(counted.inside_mpi));
  return result;
}

}  // namespace

void bind_exchanges(nb::module_& module) {
  module.def(
      "chosen_exchange",
      [](const SharedMachine& it, bool shared_memory, const std::optional<Profile>& profile) {
        const Profile& by = profile ? *profile : default_profile();
        return std::string(name(choose_method(*it.machine, shared_memory, by)));
      },
      "machine"_a, "shared_memory"_a = true, "profile"_a = nb::none(),
      "The method of sparse exchange that \"automatic\" stands for, by a profile or the default "
      "one.");
  module.def(
      "exchange_seconds",
      [](std::string_view method, const SharedMachine& it, bool shared_memory,
         const std::optional<Profile>& profile) {
        const Profile& by = profile ? *profile : default_profile();
        return 1e-12 * static_cast<double>(
                           exchange_time(method_of(method), *it.machine, shared_memory, by));
      },
      "method"_a, "machine"_a, "shared_memory"_a = true, "profile"_a = nb::none(),
      "How long one sparse exchange takes by a method that \"automatic\" may stand for, where "
      "every "
      "rank has \"exchange_messages\" messages of \"exchange_bytes\" bytes for ranks all over the "
      "machine.");
  module.attr("exchange_messages") = typical_messages;
  module.attr("exchange_bytes") = typical_bytes;
  nb::class_<PlacedMessages>(module, "Traffic",
                             "Messages of a sparse exchange, and where ranks live.")
      .def(
          "__init__",
          [](PlacedMessages* place, const SharedMachine& machine, const ArrayArgument<int>& sources,
             const ArrayArgument<int>& targets, const ArrayArgument<std::int64_t>& bytes) {
            auto messages = read_messages(*machine.machine, sources, targets, bytes);
            new (place) PlacedMessages{machine.machine, std::move(messages)};
          },
          "machine"_a, "sources"_a, "targets"_a, "bytes"_a,
          "Message i has bytes[i] bytes and goes from rank sources[i] to rank targets[i].")
      .def(
          "count",
          [](const PlacedMessages& it, std::string_view method, bool shared_memory) {
            return as_dict(
                count_messages(method_of(method), *it.machine, it.messages, shared_memory));
          },
          "method"_a, "shared_memory"_a = true,
          "What each rank sends to other regions, by a method: arrays, by rank, of the messages "
          "with something in them (\"payload\"), of those that the method itself needs "
          "(\"protocol\"), and of those inside a collective of MPI's, taken as a dissemination "
          "(\"inside_mpi\").")
      .def(
          "count_as_published",
          [](const PlacedMessages& it) {
            return as_dict(count_as_published(*it.machine, it.messages));
          },
          "The same by algorithm 3 of Geyko and Bienz (2023): one message for each rank and "
          "region.")
      .def(
          "region_pairs",
          [](const PlacedMessages& it) {
            return new_array(count_region_pairs(*it.machine, it.messages));
          },
          "By region, to how many others its ranks have something to say.");
}

}  // namespace vicinal::python

// Patterns of all ranks: of a halo or an allgather, and of arbitrary edges from lists.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "core.hpp"
#include "errors.hpp"
#include "pattern/pattern.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vicinal::python {

namespace {

using Run = std::tuple<Index, Index, Index>;
using OutEdges = std::vector<std::pair<int, std::vector<Run>>>;
using InEdges = std::vector<std::tuple<int, Index, std::vector<Run>>>;

Patterns of_halo(int size, const ArrayArgument<Index>& row_offsets,
                 const ArrayArgument<int>& needers, const ArrayArgument<Index>& indices) {
  require(size >= 0 && row_offsets.size() == static_cast<std::size_t>(size) + 1, Fault::argument,
          row_offsets.size(), " row offsets were given for ", size,
          " ranks; give one more than there are ranks");
  const nb::gil_scoped_release released;
  return {halo_patterns(span_of(row_offsets), span_of(needers), span_of(indices))};
}

Patterns of_edges(const std::vector<OutEdges>& out, const std::vector<InEdges>& in, bool identity) {
  require(out.size() == in.size(), Fault::argument, "out-edges were given for ", out.size(),
          " ranks, but in-edges for ", in.size());
  Patterns result;
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    Pattern& pattern = result.by_rank.emplace_back();
    pattern.identity = identity;
    for (const auto& [destination, items] : out[rank]) {
      OutEdge& edge = pattern.out.emplace_back();
      edge.rank = destination;
      for (const auto& [first, position, count] : items)
        edge.items.push_back({first, position, count});
    }
    for (const auto& [source, count, slots] : in[rank]) {
      InEdge& edge = pattern.in.emplace_back();
      edge.rank = source;
      edge.count = count;
      for (const auto& [offset, slot, length] : slots) edge.slots.push_back({offset, slot, length});
    }
    check(pattern, static_cast<int>(out.size()));
  }
  return result;
}

Patterns of_allgather(int size, Index count) {
  require(size >= 1 && count >= 0, Fault::argument, "an allgather of ", count, " items of each of ",
          size, " ranks was asked for; there must be a rank, and no fewer than 0 items");
  const nb::gil_scoped_release released;
  const std::vector<Index> counts(static_cast<std::size_t>(size), count);
  Patterns result;
  for (int rank = 0; rank < size; ++rank) {
    result.by_rank.push_back(allgather_pattern(rank, counts));
  }
  return result;
}

}  // namespace

void bind_patterns(nb::module_& module) {
  nb::class_<Patterns>(module, "Patterns", "Who sends what to whom: the patterns of all ranks.")
      .def_static(
          "from_edges", &of_edges, "out"_a, "in_"_a, "identity"_a = false,
          "For each rank its out-edges (destination, [(identity, position, count), ...]) and "
          "its in-edges (source, count, [(offset, slot, count), ...]). With `identity`, equal "
          "identities of one rank have equal values.")
      .def("__len__", [](const Patterns& it) { return it.by_rank.size(); })
      .def_prop_ro(
          "size", [](const Patterns& it) { return it.by_rank.size(); }, "The number of ranks.");
  module.def(
      "allgather_patterns", &of_allgather, "size"_a, "count"_a,
      "The patterns of an allgather over all ranks, each of which contributes `count` items.");
  module.def("halo_patterns", &of_halo, "size"_a, "row_offsets"_a, "needers"_a, "indices"_a,
             "The patterns of a halo in which rank r owns indices row_offsets[r] to "
             "row_offsets[r + 1] - 1, and rank needers[i] needs indices[i]: pairs ascending, each "
             "once, none owned by its needer. Ghosts lie in ascending order.");
}

}  // namespace vicinal::python

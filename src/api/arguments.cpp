// The functions for reading arguments that do not depend on the types of counts.
#include "api/arguments.hpp"

#include "base/runs.hpp"
#include "collectives/all_ranks.hpp"
#include "mpi/datatype.hpp"

namespace vicinal::c_api {

ValueShape shape_of(std::int64_t values, MPI_Datatype type) {
  const mpi::Datatype description = mpi::describe(type);
  // The padding in one of MPI's pairs, such as MPI_DOUBLE_INT, travels with it.
  require(description.contiguous || description.basic, Fault::type,
          "the datatype given for a halo has gaps: ", description.size,
          " bytes of data in an extent of ", description.extent,
          "; give a type without gaps, and the number of values per index");
  ValueShape shape;
  shape.value_bytes = description.extent;
  shape.values = values;
  return shape;
}

std::vector<int> partitions_by_entry(const int* counts, const char* name, const Ends& ends) {
  if (ends.entry_of.empty()) return {};
  check_entries(counts, name, "partitions", ends);
  return {counts, counts + ends.ranks.size()};
}

EdgeData given_block(Among among, const void* buffer, Index count, MPI_Datatype type,
                     const Graph& graph, const EdgeData& receive) {
  const bool among_all = among == Among::all_ranks;
  if (among_all && buffer == MPI_IN_PLACE) return own_block(receive, graph);
  EdgeData data = of_type(names_of("send").type,
                          [&] { return one_block(buffer, count, type, graph.destinations()); });
  if (among_all) check_apart(data, receive);
  return data;
}

std::int64_t idle_block_bytes(const Graph& graph, Index count, MPI_Datatype type) {
  const Neighborhood& neighborhood = graph.neighborhood();
  if (!neighborhood.takes_part() || neighborhood.has_edges()) return 0;
  require(count >= 0, Fault::count, "a count of ", count, " was given for each block");
  return count == 0 ? 0 : product(count, mpi::describe(type).size);
}

}  // namespace vicinal::c_api

// All ranks find the first rank that differs; then it and rank 0 broadcast their values.
#include "mpi/difference.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "mpi/collectives.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

/// Broadcasts `said` from rank `speaker`. Collective.
template <class Said>
Said told(MPI_Comm communicator, int speaker, const Said& said) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  Words words;
  if (rank == speaker) WordWriter(words).write(said);
  auto size = static_cast<std::int64_t>(words.size());
  broadcast(communicator, std::as_writable_bytes(std::span(&size, 1)), speaker);
  words.resize(static_cast<std::size_t>(size));
  broadcast(communicator, std::as_writable_bytes(std::span(words)), speaker);
  return WordReader(words, "what a rank has given", speaker).read<Said>();
}

}  // namespace

void throw_difference(MPI_Comm communicator, std::span<const Given> mine) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  const std::int64_t print = fingerprint(mine);
  const std::vector<std::int64_t> all = allgather(communicator, std::span(&print, 1));
  const auto differs =
      std::find_if(all.begin(), all.end(), [&](std::int64_t each) { return each != all.front(); });
  require(differs != all.end(), Fault::internal,
          "ranks were said to have given different settings, but all are the same");
  const auto other = static_cast<int>(differs - all.begin());
  const std::vector<Given> own(mine.begin(), mine.end());
  const std::vector<Given> one = told(communicator, 0, own),
                           another = told(communicator, other, own);
  const std::optional<Error> found = difference(one, 0, another, other);
  require(found.has_value(), Fault::internal, "ranks 0 and ", other,
          " have given different settings, but none of these differs");
  throw Error(*found);
}

void throw_told(MPI_Comm communicator, int speaker, const std::string& message) {
  throw Error(Fault::info, told(communicator, speaker, message));
}

}  // namespace vicinal::mpi

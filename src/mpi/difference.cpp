// All ranks look for the first one that differs, then it and rank 0 tell what they have.
#include "mpi/difference.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "mpi/collectives.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

/// The words of rank `speaker`. Collective.
Words told(MPI_Comm communicator, int speaker, Words words) {
  auto size = static_cast<std::int64_t>(words.size());
  broadcast(communicator, std::as_writable_bytes(std::span(&size, 1)), speaker);
  words.resize(static_cast<std::size_t>(size));
  broadcast(communicator, std::as_writable_bytes(std::span(words)), speaker);
  return words;
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
  std::array<std::vector<Given>, 2> given;
  for (const int speaker : {0, other}) {
    given[speaker == 0 ? 0 : 1] =
        to_given(told(communicator, speaker, rank == speaker ? to_words(mine) : Words{}));
  }
  throw Error(Fault::info, difference(given[0], 0, given[1], other));
}

void throw_told(MPI_Comm communicator, int speaker, const std::string& message) {
  throw Error(Fault::info, to_text(told(communicator, speaker, to_words(message))));
}

}  // namespace vicinal::mpi

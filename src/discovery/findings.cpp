// The vote of a rank with a fault is its rank, so the least vote names the rank that tells the
// others.
#include "discovery/findings.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "mpi/collectives.hpp"
#include "mpi/errors.hpp"

namespace vicinal {

std::int64_t vote(const mpi::Communicator& communicator, const std::optional<Error>& mine) {
  return mine ? communicator.rank() : communicator.size();
}

void settle(mpi::Communicator& communicator, std::int64_t least_vote,
            const std::optional<Error>& mine) {
  if (least_vote >= communicator.size()) return;
  const int speaker = static_cast<int>(least_vote);
  const bool speaks = speaker == communicator.rank();
  std::string text = speaks ? mine->what() : "";
  std::array<std::int64_t, 3> header{};
  if (speaks) {
    header = {static_cast<std::int64_t>(mine->fault()), mine->is_on_all_ranks() ? 1 : 0,
              static_cast<std::int64_t>(text.size())};
  }
  mpi::broadcast(communicator.handle(), std::as_writable_bytes(std::span(header)), speaker);
  text.resize(static_cast<std::size_t>(header[2]));
  mpi::broadcast(communicator.handle(), std::as_writable_bytes(std::span(text)), speaker);
  if (mine) throw Error(*mine);
  const auto fault = static_cast<Fault>(header[0]);
  if (header[1] != 0) throw Error(fault, text);
  fail(Fault::elsewhere, "rank ", speaker, " reports a fault (", name(fault), "): ", text);
}

void agree(mpi::Communicator& communicator, const std::optional<Error>& mine,
           std::span<std::int64_t> numbers, std::span<const Given> given) {
  const std::int64_t mark = fingerprint(given);
  std::array<std::int64_t, mpi::most_reduced> room{vote(communicator, mine), mark, -mark};
  const std::span<std::int64_t> least = std::span(room).first(3 + numbers.size());
  std::ranges::copy(numbers, least.begin() + 3);
  mpi::allreduce_min(communicator.handle(), least);
  settle(communicator, least[0], mine);
  if (least[1] != -least[2]) mpi::throw_difference(communicator.handle(), given);
  std::ranges::copy(least.subspan(3), numbers.begin());
}

}  // namespace vicinal

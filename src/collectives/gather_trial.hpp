// Blocking allgathers that have a plan, by it and by MPI in turn: what is faster there is what the later ones go by. A profile
// says what a plan takes, but not what the MPI beneath makes of its own call.
//
// By what a call goes follows from its number, and from the times of all ranks, which they exchange in the call after the last
// that is timed. Not for several threads at once.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "mpi/communicator.hpp"

namespace vicinal {

class GatherTrial {
 public:
  enum class Way : std::uint8_t { plan, mpi };

  /// So many calls in a row go one way, of which the first and the last do not count (as in a contest's heats), and each way has
  /// its turn so often.
  static constexpr std::size_t turn = 4;
  static constexpr std::size_t rounds = 4;
  static constexpr std::size_t timed_calls = 2 * rounds * turn;

  /// A call, and by what it goes.
  struct Call {
    Way way = Way::plan;
    std::optional<std::size_t> number;  ///< where its time is asked for
  };
  /// The next one. Collective where it is the one after the last that is timed.
  [[nodiscard]] Call next(mpi::Communicator& communicator);
  /// What a call has taken this rank; of one that failed, nothing.
  void note(std::size_t number, std::chrono::steady_clock::duration time);

  /// What was found, as a report says it; "" before.
  [[nodiscard]] std::string outcome() const;

 private:
  [[nodiscard]] static constexpr Way way_of(std::size_t number) {
    return number / turn % 2 == 0 ? Way::plan : Way::mpi;
  }
  void decide(mpi::Communicator& communicator);

  struct Verdict {
    Way way = Way::plan;
    std::array<std::int64_t, 2> nanoseconds{};  ///< by way; `untimed` where a rank has none
  };
  std::size_t entered_ = 0;
  std::array<std::int64_t, timed_calls> times_{};  ///< in nanoseconds, by number; 0 for none
  std::optional<Verdict> verdict_;
};

}  // namespace vicinal

// The measurements from which a profile is made (python/vicinal_command/fits.py), each a loop between two ranks or a
// few while all others of the communicator sleep: where hosts share processors, ranks that polled meanwhile would be
// what is measured. Those that measure wait as the library does, by polls that come to yield.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "locality/machine.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Two ranks; the first begins.
using RankPair = std::pair<int, int>;

/// How often something is measured, and for how long each time.
struct Effort {
  int repetitions = 9;
  double seconds = 1e-3;  ///< of each sample, about: as many turns as take so long
};

/// What ranks do that do not measure. While an exchange is executed they wait, so that each gets its turn of a shared core.
enum class Others : std::uint8_t { sleep, wait };

/// What ranks wait for: what is looked for at each turn of the core, or by as many polls of MPI as the library makes.
enum class Awaited : std::uint8_t { flag, message };

/// Where the messages lie that are measured: in the host's memory, or that of the first GPU, on all ranks.
enum class MessagesOf : std::uint8_t { host, gpu };

/// Seconds, by repetition and within it by what was asked for: sizes, counts. Empty on ranks that measured nothing.
using Samples = std::vector<double>;

/// Measures among the ranks of a communicator. Every function but rank() and machine() is collective, with the same
/// arguments on all ranks.
class Calibrator {
 public:
  /// Collective. Regions as for machine().
  Calibrator(MPI_Comm user, std::string_view regions);

  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] const Machine& machine() const { return *machine_; }

  /// One way of a message of each size, on the pair's first rank: half of a round trip. Receives are posted before.
  Samples one_way(RankPair pair, std::span<const std::int64_t> sizes, Effort effort,
                  MessagesOf memory, Others others = Others::sleep);

  /// The most bytes of which a send completes though its receive is not posted, up to `largest`; on the first rank,
  /// else -1. Found by halving, so it takes for granted that smaller ones do, too.
  std::int64_t eager_limit(RankPair pair, std::int64_t largest, MessagesOf memory);

  /// Processor time of the first rank for so many sends of so many bytes to the second, to their completion. Those that
  /// wait for it sleep meanwhile.
  Samples sends(RankPair pair, std::int64_t bytes, std::span<const int> counts, Effort effort,
                MessagesOf memory);

  /// Processor time of the second rank for as many receives: posting them, and taking in what has come.
  Samples receives(RankPair pair, std::int64_t bytes, std::span<const int> counts, Effort effort,
                   MessagesOf memory);

  /// One way of a message of so many bytes where the pairs send at once, on each first rank; what answers is empty.
  Samples together(std::span<const RankPair> pairs, std::int64_t bytes, Effort effort);

  /// An exchange in which each rank sends so many bytes to each of so many others at the level, and gets as much from as
  /// many; on all ranks. Empty where some rank has fewer such others.
  Samples all_at_once(Level level, int messages, std::int64_t bytes, Effort effort);

  /// A round trip of 8 bytes whose receive on the first rank stands behind so many others, which `third` will serve.
  Samples queued(RankPair pair, int third, std::span<const int> counts, Effort effort);

  /// One way of a flag through the arena of the pair's host, on the first rank.
  Samples handover(RankPair pair, Effort effort);

  /// A copy of so many bytes, out of the arena, where the first rank has just written them; on the second rank. A pair
  /// of one rank twice has what it has written itself.
  Samples copy(RankPair pair, std::int64_t bytes, Effort effort);

  /// Seconds for each byte of a copy of so many, where all ranks copy from one of some places in turn to another; on all ranks.
  /// As of paces(), the middle one of three times counts.
  Samples copies(std::int64_t bytes, Effort effort);

  /// What the first GPU of rank 0 takes, on that rank: for each size a copy to it, a gather of words of 8 bytes in its
  /// memory, and a copy to the host, each as two numbers: until it is on its way, and until it is known to be done.
  /// Sizes are multiples of 8 from 16 on. Empty where there is no GPU.
  Samples device(std::span<const std::int64_t> sizes, Effort effort);
  /// The same for a gather out of the memory of the first rank's GPU by the second rank, of the same host; on that rank.
  /// Empty where it cannot be opened there.
  Samples device_peer(RankPair pair, std::span<const std::int64_t> sizes, Effort effort);
  /// Local.
  struct Gpus {
    std::string name;  ///< "" where there is none
    int count = 0;     ///< of this rank's host, as its driver says
    bool has_kernels = false;
    bool mpi_takes_pointers = false;  ///< of its memory
  };
  [[nodiscard]] Gpus gpus() const;

  /// Seconds until a rank has its core again, where all leave theirs to others again and again, having looked in vain for
  /// what they wait for: a flag, or a message; on all ranks. As of paces(), the middle one of three times counts.
  Samples turns(Awaited awaited, Effort effort);

  /// Processor time of a fixed piece of work, on rank 0 while all others sleep; and behind these, what part of the
  /// last repetition it had a core.
  Samples unit(Effort effort);
  /// How many such pieces each rank does in a second where all compute at once; on all ranks. Of three times as long as
  /// is asked for, only the part in the middle is counted: it should be long enough for each to have had its turn.
  Samples paces(Effort effort);

 private:
  /// Runs what this rank has to do in a measurement, if anything, while the others sleep.
  template <class Part>
  void measure(Part part, Others others = Others::sleep) {
    meet(Others::sleep);
    part();
    meet(others);
  }
  /// Returns when all are here.
  void meet(Others until_then);
  Samples many(RankPair pair, std::int64_t bytes, std::span<const int> counts, Effort effort,
               bool of_sender, MessagesOf memory);
  [[nodiscard]] bool shares_memory(RankPair pair) const;

  std::shared_ptr<mpi::Communicator> communicator_;
  std::shared_ptr<const Machine> machine_;
};

}  // namespace vicinal

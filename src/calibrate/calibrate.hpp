// Measurements for a profile (python/vicinal_command/fits.py). Each is a loop between two or a few
// ranks, while all other ranks of the communicator sleep. On shared processors, ranks that poll
// would distort the result. Measuring ranks wait as the library does: they poll, and yield after a
// while.
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

/// Two ranks; the first one begins.
using RankPair = std::pair<int, int>;

/// Number and duration of the samples of a measurement.
struct Effort {
  int repetitions = 9;
  double seconds = 1e-3;  ///< of a sample, approximately; sets its number of iterations
};

/// Behavior of ranks that do not measure. During an exchange they wait, so that each gets its share
/// of a shared core.
enum class Others : std::uint8_t { sleep, wait };

/// The object that ranks wait for. Each time they have the core, they check a flag, or poll MPI as
/// often as the library does.
enum class Awaited : std::uint8_t { flag, message };

/// Where the measured messages lie on all ranks: in host memory, or in the memory of the first GPU.
enum class MessagesOf : std::uint8_t { host, gpu };

/// Seconds, by repetition, and within a repetition by size or count. Empty on ranks that measured
/// nothing.
using Samples = std::vector<double>;

/// Measures among the ranks of a communicator. Every function but rank(), machine() and gpus() is
/// collective, with the same arguments on all ranks.
class Calibrator {
 public:
  /// Collective. `regions`: as for Communicator::machine().
  Calibrator(MPI_Comm user, std::string_view regions);

  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] const Machine& machine() const { return *machine_; }

  /// Measures the one-way time of a message of each size: half of a round trip, on the pair's first
  /// rank. Receives are posted before.
  Samples one_way(RankPair pair, std::span<const std::int64_t> sizes, Effort effort,
                  MessagesOf memory, Others others = Others::sleep);

  /// Returns the largest size in bytes, up to `largest`, with which a send completes before its
  /// receive is posted. Returns -1 on ranks other than the first. Uses bisection, so it assumes
  /// that smaller sends complete, too.
  std::int64_t eager_limit(RankPair pair, std::int64_t largest, MessagesOf memory);

  /// Measures the processor time of the first rank for sends of `bytes` bytes to the second, until
  /// they are complete. The number of sends is each of `counts` in turn. The first rank sleeps
  /// between its polls.
  Samples sends(RankPair pair, std::int64_t bytes, std::span<const int> counts, Effort effort,
                MessagesOf memory);

  /// Measures the processor time of the second rank for as many receives: posting them, and
  /// completing messages that have arrived.
  Samples receives(RankPair pair, std::int64_t bytes, std::span<const int> counts, Effort effort,
                   MessagesOf memory);

  /// Measures the one-way time of a message while all pairs send at once, on each first rank.
  /// Answers are empty.
  Samples together(std::span<const RankPair> pairs, std::int64_t bytes, Effort effort);

  /// Measures an exchange on all ranks: each sends `bytes` bytes to each of `messages` other ranks
  /// at the level, and receives as much. Empty if some rank has fewer such others.
  Samples all_at_once(Level level, int messages, std::int64_t bytes, Effort effort);

  /// Measures a round trip of 8 bytes whose receive, on the first rank, is posted after other
  /// receives. Their number is each of `counts` in turn; `third` serves them later.
  Samples queued(RankPair pair, int third, std::span<const int> counts, Effort effort);

  /// Measures the one-way time of a flag through the arena of the pair's host, on the first rank.
  Samples handover(RankPair pair, Effort effort);

  /// Measures a copy out of the arena of bytes that the first rank has just written, on the second
  /// rank. If both ranks are the same, that rank has written them itself.
  Samples copy(RankPair pair, std::int64_t bytes, Effort effort);

  /// Measures, on all ranks, the seconds per byte of a copy of `bytes` bytes while all ranks copy,
  /// between several places in turn. As in paces(), only the middle third of the time counts.
  Samples copies(std::int64_t bytes, Effort effort);

  /// Measures the first GPU of rank 0, on that rank. For each size: a copy to the GPU, a gather of
  /// 8-byte words in its memory, and a copy to the host. Each gives two numbers: the time until it
  /// has begun, and until it is known to be done. Sizes are multiples of 8, at least 16. Empty if
  /// there is no GPU.
  Samples device(std::span<const std::int64_t> sizes, Effort effort);
  /// As device(), for a gather by the second rank out of the memory of the first rank's GPU, on the
  /// same host. On the second rank; empty if it cannot open that memory.
  Samples device_peer(RankPair pair, std::span<const std::int64_t> sizes, Effort effort);
  /// GPUs of this rank; local.
  struct Gpus {
    std::string name;  ///< "" if there is none
    int count = 0;     ///< of this rank's host, according to its driver
    bool has_kernels = false;
    bool mpi_takes_pointers = false;  ///< in the GPU's memory
  };
  [[nodiscard]] Gpus gpus() const;

  /// Measures, on all ranks, the seconds until a rank that yields has its core again. All ranks
  /// yield after each failed check for a flag or a message. As in paces(), only the middle third of
  /// the time counts.
  Samples turns(Awaited awaited, Effort effort);

  /// Measures the processor time of a fixed piece of work, on rank 0 while all others sleep. The
  /// last number is the fraction of the last repetition in which rank 0 had a core.
  Samples unit(Effort effort);
  /// Measures, on all ranks, the number of such pieces per second while all ranks compute. Runs for
  /// three times the duration and counts only the middle third, which should be long enough for
  /// each rank to have the core.
  Samples paces(Effort effort);

 private:
  /// Runs this rank's part of a measurement, if any, while the other ranks sleep.
  template <class Part>
  void measure(Part part, Others others = Others::sleep) {
    meet(Others::sleep);
    part();
    meet(others);
  }
  /// Returns when all ranks are here.
  void meet(Others until_then);
  Samples many(RankPair pair, std::int64_t bytes, std::span<const int> counts, Effort effort,
               bool of_sender, MessagesOf memory);
  [[nodiscard]] bool shares_memory(RankPair pair) const;

  std::shared_ptr<mpi::Communicator> communicator_;
  std::shared_ptr<const Machine> machine_;
};

}  // namespace vicinal

// Measurements without messages (flags, copies, cores), and the sleep of ranks that do not measure.
#include "calibrate/calibrate.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "calibrate/measuring.hpp"

namespace vicinal {

using namespace measuring;

namespace {

using SharedFlag = std::atomic_ref<std::uint64_t>;

/// Memory in the arena that two ranks of a host share during its lifetime; the pair's first rank
/// allocates it.
class Common {
 public:
  Common(mpi::Communicator& communicator, RankPair pair, std::size_t bytes)
      : arena_(*communicator.arena()), owns_(communicator.rank() == pair.first) {
    const Line line(communicator, owns_ ? pair.second : pair.first);
    if (owns_) offset_ = arena_.allocate(bytes, 4096);
    if (pair.first == pair.second) return;
    if (owns_) {
      line.tell(offset_);
    } else {
      offset_ = line.hear();
    }
  }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;
  ~Common() {
    if (owns_) arena_.release(offset_);
  }

  [[nodiscard]] std::byte* data() const { return arena_.at(offset_); }
  /// Returns a flag in a cache line of its own.
  [[nodiscard]] SharedFlag flag(std::size_t index) const {
    return SharedFlag(*reinterpret_cast<std::uint64_t*>(data() + index * flag_stride));
  }

  static constexpr std::size_t flag_stride = 256;  // no processor fetches these together

 private:
  Arena& arena_;
  bool owns_;
  std::int64_t offset_ = 0;
};

void await(const SharedFlag& flag, std::uint64_t value) {
  mpi::poll_until([&] { return flag.load(std::memory_order_acquire) == value; },
                  "the flag of another rank that measures with this one");
}

/// Takes some hundred nanoseconds that no compiler can move out of a loop.
std::uint64_t work(std::uint64_t seed) {
  for (int i = 0; i < 500; ++i) seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return seed;
}

/// Works until `end`; returns the number of pieces done.
double work_until(double end) {
  std::uint64_t seed = 1;
  double pieces = 0;
  while (now() < end) {
    for (int i = 0; i < 16; ++i) seed = work(seed);
    pieces += 16;
  }
  // The compiler cannot know that the seed is not 0.
  return seed == 0 ? 0 : pieces;
}

/// Runs `done_until` for three times `seconds`; returns what the middle third has done. Ranks that
/// share a core begin one after another; in the middle third all of them run.
template <class DoneUntil>
double done_in_the_middle(double seconds, DoneUntil done_until) {
  const double begin = now();
  static_cast<void>(done_until(begin + seconds));
  const double done = done_until(begin + 2 * seconds);
  static_cast<void>(done_until(begin + 3 * seconds));
  return done;
}

/// Seconds for which a waiting rank leaves its core to others.
constexpr double nap = 1e-3;

}  // namespace

Calibrator::Calibrator(MPI_Comm user, std::string_view regions)
    : communicator_(mpi::Communicator::of(user)), machine_(communicator_->machine(regions)) {}

void Calibrator::meet(Others until_then) {
  mpi::PendingOperation all_here = mpi::ibarrier(communicator_->handle());
  while (!all_here.test()) {
    if (until_then == Others::sleep) {
      measuring::sleep(nap);
    } else {
      std::this_thread::yield();
    }
  }
}

bool Calibrator::shares_memory(RankPair pair) const {
  return communicator_->arena() != nullptr && machine_->same_host(pair.first, pair.second);
}

Samples Calibrator::handover(RankPair pair, Effort effort) {
  constexpr double of_one = 1e-6;
  Samples samples;
  measure([&] {
    const bool begins = rank() == pair.first;
    if ((!begins && rank() != pair.second) || !shares_memory(pair)) return;
    const Keeping keeping(begins ? Keeping::On::first : Keeping::On::last);
    const Common common(*communicator_, pair, 4 * Common::flag_stride);
    const SharedFlag mine = common.flag(begins ? 1 : 2), theirs = common.flag(begins ? 2 : 1);
    std::vector<double> times(static_cast<std::size_t>(iterations_for(effort.seconds, of_one)));
    std::uint64_t round = 0;
    for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
      // Ranks that cannot be kept on separate cores hand the core to each other, too.
      measuring::sleep(nap);
      for (double& time : times) {
        const double begin = now();
        ++round;
        if (!begins) await(theirs, round);
        mine.store(round, std::memory_order_release);
        if (begins) await(theirs, round);
        time = now() - begin;
      }
      if (begins && repetition >= 0) samples.push_back(median(times) / 2);
    }
  });
  return samples;
}

Samples Calibrator::copy(RankPair pair, std::int64_t bytes, Effort effort) {
  Samples samples;
  measure([&] {
    const bool writes = rank() == pair.first, reads = rank() == pair.second;
    if ((!writes && !reads) || !shares_memory(pair)) return;
    const Keeping keeping(writes ? Keeping::On::first : Keeping::On::last);
    const auto length = static_cast<std::size_t>(bytes);
    const Common common(*communicator_, pair, length + 4 * Common::flag_stride);
    std::byte* const data = common.data() + 4 * Common::flag_stride;
    std::vector<std::byte> into(length);
    for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
      const auto round = static_cast<std::uint64_t>(repetition + 2);
      if (writes) {
        std::memset(data, repetition, length);
        common.flag(0).store(round, std::memory_order_release);
      }
      if (reads) {
        await(common.flag(0), round);
        const double begin = now();
        std::memcpy(into.data(), data, length);
        const double seconds = now() - begin;
        require(into.back() == static_cast<std::byte>(repetition), Fault::internal,
                "a copy out of the arena is not what was written");
        if (repetition >= 0) samples.push_back(seconds);
        common.flag(1).store(round, std::memory_order_release);
      }
      if (writes) await(common.flag(1), round);
    }
  });
  return samples;
}

Samples Calibrator::copies(std::int64_t bytes, Effort effort) {
  constexpr std::size_t places = 4;
  const auto length = static_cast<std::size_t>(bytes);
  Samples samples;
  measure([&] {
    std::vector<std::byte> from(places * length, std::byte{1}), to(places * length);
    const auto copy_until = [&](double end) {
      double copied = 0;
      for (std::size_t place = 0; now() < end; place = (place + 1) % places) {
        std::memcpy(to.data() + place * length, from.data() + place * length, length);
        copied += static_cast<double>(bytes);
      }
      return copied;
    };
    for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
      const double copied = done_in_the_middle(effort.seconds, copy_until);
      require(to.front() == std::byte{1}, Fault::internal, "a copy is not what was copied");
      samples.push_back(effort.seconds / std::max(copied, 1.0));
    }
  });
  return samples;
}

Samples Calibrator::turns(Awaited awaited, Effort effort) {
  Samples samples;
  measure([&] {
    const Line self(*communicator_, rank());
    std::byte sent{}, received{};
    std::vector<mpi::PendingOperation> message;
    if (awaited == Awaited::message) message.push_back(self.receive({&received, 1}, tag_data));
    const auto wait_until = [&](double end) {
      double turns = 0;
      for (; now() < end; ++turns) {
        for (int poll = 0; poll < mpi::polls_in_a_row && !message.empty(); ++poll) {
          require(!message.front().test(), Fault::internal, "a message came that nobody has sent");
        }
        std::this_thread::yield();
      }
      return turns;
    };
    for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
      samples.push_back(effort.seconds /
                        std::max(done_in_the_middle(effort.seconds, wait_until), 1.0));
    }
    if (awaited == Awaited::message) message.push_back(self.send({&sent, 1}, tag_data));
    finish(message);
  });
  return samples;
}

Samples Calibrator::unit(Effort effort) {
  Samples samples;
  measure([&] {
    if (rank() != 0) return;
    double part = 1;
    for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
      const double begin = processor_time();
      const double pieces = work_until(now() + effort.seconds);
      const double spent = processor_time() - begin;
      samples.push_back(spent / pieces);
      part = spent / effort.seconds;
    }
    samples.push_back(part);
  });
  return samples;
}

Samples Calibrator::paces(Effort effort) {
  Samples samples;
  for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
    measure([&] {
      samples.push_back(done_in_the_middle(effort.seconds, work_until) / effort.seconds);
    });
  }
  return samples;
}

}  // namespace vicinal

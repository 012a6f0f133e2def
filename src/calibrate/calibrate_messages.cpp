// Messages: one-way times, the eager limit, processor time at both ends, many messages at once, and
// the search through posted receives.
#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include "calibrate/calibrate.hpp"
#include "calibrate/measuring.hpp"
#include "memory/device/device_memory.hpp"

namespace vicinal {

using namespace measuring;

namespace {

/// The buffer of messages.
class Payload {
 public:
  Payload(std::int64_t bytes, MessagesOf memory)
      : block_(memory == MessagesOf::gpu ? first_gpu().memory : host_memory(),
               static_cast<std::size_t>(bytes)) {}
  [[nodiscard]] std::span<std::byte> all() const { return {block_.data(), block_.size()}; }
  [[nodiscard]] std::span<std::byte> first(std::int64_t bytes) const {
    return all().first(static_cast<std::size_t>(bytes));
  }

 private:
  static device::Gpu first_gpu() {
    auto gpu = device::first_gpu(device::drivers());
    require(gpu.has_value(), Fault::device, "there is no GPU to measure messages of");
    return *gpu;
  }
  MemoryBlock block_;
};

/// The side of a ping-pong that begins. Returns its start time and the end of each round trip.
std::vector<double> ping(const Line& line, std::span<std::byte> out, std::span<std::byte> in,
                         std::int64_t iterations) {
  std::vector<double> times(static_cast<std::size_t>(iterations + 1));
  times.front() = now();
  for (std::size_t iteration = 1; iteration < times.size(); ++iteration) {
    std::array both{line.receive(in, tag_answer), line.send(out, tag_data)};
    finish(both);
    times[iteration] = now();
  }
  return times;
}

/// The side that answers. It posts its next receive before it answers.
void pong(const Line& line, std::span<std::byte> in, std::span<std::byte> out,
          std::int64_t iterations) {
  if (iterations == 0) return;
  mpi::PendingOperation awaited = line.receive(in, tag_data);
  for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
    finish(awaited);
    if (iteration + 1 < iterations) awaited = line.receive(in, tag_data);
    mpi::PendingOperation answer = line.send(out, tag_answer);
    finish(answer);
  }
}

/// Returns the median time of a round trip in a sample. `of_one`: the previous such time, replaced
/// by the new one. Tells the other rank the number of round trips.
double timed_pings(const Line& line, std::span<std::byte> out, std::span<std::byte> in,
                   double seconds, double& of_one) {
  const std::int64_t iterations = iterations_for(seconds, of_one);
  line.tell(iterations);
  std::vector<double> times = ping(line, out, in, iterations);
  std::adjacent_difference(times.begin(), times.end(), times.begin());
  of_one = median(std::span(times).subspan(1));
  return of_one;
}

constexpr double first_guess = 20e-6;

}  // namespace

Samples Calibrator::one_way(RankPair pair, std::span<const std::int64_t> sizes, Effort effort,
                            MessagesOf memory, Others others) {
  Samples samples;
  measure(
      [&] {
        if (rank() != pair.first && rank() != pair.second) return;
        const bool begins = rank() == pair.first;
        const Line line(*communicator_, begins ? pair.second : pair.first);
        const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
        const Payload out(largest, memory), in(largest, memory);
        std::vector<double> of_one(sizes.size(), first_guess);
        // An extra repetition warms up and finds the number of iterations that fill a sample.
        for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
          for (std::size_t i = 0; i < sizes.size(); ++i) {
            const std::span mine = out.first(sizes[i]), theirs = in.first(sizes[i]);
            if (!begins) {
              pong(line, theirs, mine, line.hear());
              continue;
            }
            const double seconds = repetition < 0 ? effort.seconds / 4 : effort.seconds;
            const double round_trip = timed_pings(line, mine, theirs, seconds, of_one[i]);
            if (repetition >= 0) samples.push_back(round_trip / 2);
          }
        }
      },
      others);
  return samples;
}

std::int64_t Calibrator::eager_limit(RankPair pair, std::int64_t largest, MessagesOf memory) {
  constexpr double patience = 2e-3;
  constexpr int least_polls = 100;
  constexpr std::int64_t no_more = -1;
  std::int64_t limit = -1;
  measure([&] {
    if (rank() == pair.second) {
      const Line line(*communicator_, pair.first);
      const Payload in(largest, memory);
      for (std::int64_t size = line.hear(); size != no_more; size = line.hear()) {
        auto came = line.receive(in.first(size), tag_data);
        finish(came);
      }
    }
    if (rank() != pair.first) return;
    const Line line(*communicator_, pair.second);
    const Payload out(largest, memory);
    const auto is_eager = [&](std::int64_t size) {
      auto sent = line.send(out.first(size), tag_data);
      const double begin = now();
      bool done = sent.test();
      for (int poll = 0; !done && (poll < least_polls || now() - begin < patience); ++poll) {
        std::this_thread::yield();
        done = sent.test();
      }
      line.tell(size);  // posts the receive
      finish(sent);
      return done;
    };
    std::int64_t beyond = largest + 1;
    limit = 0;
    if (is_eager(largest)) limit = largest;
    while (limit + 1 < beyond && limit < largest) {
      const std::int64_t middle = limit + (beyond - limit) / 2;
      (is_eager(middle) ? limit : beyond) = middle;
    }
    line.tell(no_more);
  });
  return limit;
}

Samples Calibrator::sends(RankPair pair, std::int64_t bytes, std::span<const int> counts,
                          Effort effort, MessagesOf memory) {
  return many(pair, bytes, counts, effort, true, memory);
}

Samples Calibrator::receives(RankPair pair, std::int64_t bytes, std::span<const int> counts,
                             Effort effort, MessagesOf memory) {
  return many(pair, bytes, counts, effort, false, memory);
}

Samples Calibrator::many(RankPair pair, std::int64_t bytes, std::span<const int> counts,
                         Effort effort, bool of_sender, MessagesOf memory) {
  constexpr double until_all_have_come = 1e-3;
  Samples samples;
  const int most = *std::max_element(counts.begin(), counts.end());
  measure([&] {
    if (rank() != pair.first && rank() != pair.second) return;
    const bool sends = rank() == pair.first;
    const Line line(*communicator_, sends ? pair.second : pair.first);
    const Payload data(bytes * most, memory);
    std::vector<mpi::PendingOperation> operations;
    for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
      for (const int count : counts) {
        operations.clear();
        double spent = 0;
        if (sends) static_cast<void>(line.hear());  // all receives are posted
        const double begin = processor_time();
        for (int i = 0; i < count; ++i) {
          const auto part = data.all().subspan(static_cast<std::size_t>(i * bytes),
                                               static_cast<std::size_t>(bytes));
          operations.push_back(sends ? line.send(part, tag_data) : line.receive(part, tag_data));
        }
        if (!sends) {
          spent = processor_time() - begin;
          line.tell(count);
          // Messages arrive meanwhile. Completing them afterwards is part of the cost; waiting for
          // them is not.
          measuring::sleep(until_all_have_come);
        }
        const double resumed = sends ? begin : processor_time();
        if (sends == of_sender) {
          finish_asleep(operations);
        } else {
          finish(operations);
        }
        spent += processor_time() - resumed;
        if (sends == of_sender) samples.push_back(spent);
      }
    }
  });
  return samples;
}

Samples Calibrator::together(std::span<const RankPair> pairs, std::int64_t bytes, Effort effort) {
  Samples samples;
  measure([&] {
    const auto mine = std::find_if(pairs.begin(), pairs.end(), [&](const RankPair& pair) {
      return rank() == pair.first || rank() == pair.second;
    });
    if (mine == pairs.end()) return;
    const bool sends = rank() == mine->first;
    const Line line(*communicator_, sends ? mine->second : mine->first);
    const Payload buffer(bytes, MessagesOf::host);
    const std::span<std::byte> data = buffer.all(), nothing;
    std::vector<Line> others;  // from the rank that gives the signal to those that await it
    if (mine == pairs.begin() && sends) {
      for (const RankPair& pair : pairs.subspan(1)) others.emplace_back(*communicator_, pair.first);
    }
    double of_one = first_guess;
    for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
      if (!sends) {
        pong(line, data, nothing, line.hear());
        continue;
      }
      std::int64_t iterations = 0;
      if (mine == pairs.begin()) {
        iterations = iterations_for(effort.seconds, of_one);
        for (const Line& other : others) static_cast<void>(other.hear());
        for (const Line& other : others) other.tell(iterations);
      } else {
        const Line first(*communicator_, pairs.front().first);
        first.tell(0);
        iterations = first.hear();
      }
      line.tell(iterations);
      const std::vector<double> times = ping(line, data, nothing, iterations);
      of_one = (times.back() - times.front()) / static_cast<double>(iterations);
      if (repetition >= 0) samples.push_back(of_one);
    }
  });
  return samples;
}

/// Chooses ranks after and before this one alternately, so that most pairs exchange messages in
/// both directions. A connection used in one direction waits for acknowledgements.
Samples Calibrator::all_at_once(Level level, int messages, std::int64_t bytes, Effort effort) {
  const int size = communicator_->size();
  const auto targets_of = [&](int rank) {
    std::vector<int> targets;
    const auto take = [&](int other) {
      const bool is_new = std::find(targets.begin(), targets.end(), other) == targets.end();
      const bool is_wanted = is_new && other != rank && std::ssize(targets) < messages;
      if (is_wanted && machine_->level(rank, other) == level) targets.push_back(other);
    };
    for (int step = 1; step <= size / 2; ++step) {
      take((rank + step) % size);
      take((rank + size - step) % size);
    }
    return targets;
  };
  bool all_have_enough = true;
  std::vector<int> sources;
  for (int other = 0; other < size; ++other) {
    const std::vector<int> targets = targets_of(other);
    all_have_enough = all_have_enough && std::ssize(targets) == messages;
    if (std::find(targets.begin(), targets.end(), rank()) != targets.end()) {
      sources.push_back(other);
    }
  }
  Samples samples;
  if (!all_have_enough) return samples;
  measure([&] {
    const std::vector<int> targets = targets_of(rank());
    const Payload out(bytes * std::ssize(targets), MessagesOf::host);
    const Payload in(bytes * std::ssize(sources), MessagesOf::host);
    const auto part = [&](const Payload& whole, std::size_t i) {
      const auto length = static_cast<std::size_t>(bytes);
      return whole.all().subspan(i * length, length);
    };
    const auto exchange = [&] {
      std::vector<mpi::PendingOperation> operations;
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const Line source(*communicator_, sources[i]);
        operations.push_back(source.receive(part(in, i), tag_data));
      }
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const Line target(*communicator_, targets[i]);
        operations.push_back(target.send(part(out, i), tag_data));
      }
      finish(operations);
    };
    double of_one = first_guess * messages;
    for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
      std::int64_t iterations = iterations_for(effort.seconds, of_one);
      for (int other = 1; rank() == 0 && other < size; ++other) {
        Line(*communicator_, other).tell(iterations);
      }
      if (rank() != 0) iterations = Line(*communicator_, 0).hear();
      const double begin = now();
      for (std::int64_t iteration = 0; iteration < iterations; ++iteration) exchange();
      of_one = (now() - begin) / static_cast<double>(iterations);
      if (repetition >= 0) samples.push_back(of_one);
    }
  });
  return samples;
}

Samples Calibrator::queued(RankPair pair, int third, std::span<const int> counts, Effort effort) {
  constexpr std::int64_t message = 8;
  Samples samples;
  measure([&] {
    const std::size_t rounds = static_cast<std::size_t>(effort.repetitions) * counts.size();
    const bool serves = rank() == third;
    const Payload outgoing(message, MessagesOf::host), incoming(message, MessagesOf::host);
    const std::span<std::byte> out = outgoing.all(), in = incoming.all(), nothing;
    double of_one = first_guess;
    for (std::size_t round = 0; round < rounds; ++round) {
      const int count = counts[round % counts.size()];
      std::vector<mpi::PendingOperation> queue, served;
      if (rank() == pair.first) {
        const Line other(*communicator_, pair.second), server(*communicator_, third);
        for (int i = 0; i < count; ++i) queue.push_back(server.receive(nothing, tag_queue));
        samples.push_back(timed_pings(other, out, in, effort.seconds, of_one));
        if (!serves) server.tell(count);
      }
      if (rank() == pair.second) {
        const Line first(*communicator_, pair.first);
        pong(first, in, out, first.hear());
      }
      if (serves) {
        const Line first(*communicator_, pair.first);
        if (rank() != pair.first) static_cast<void>(first.hear());
        for (int i = 0; i < count; ++i) served.push_back(first.send(nothing, tag_queue));
      }
      finish(served);
      finish(queue);
    }
  });
  return samples;
}

}  // namespace vicinal

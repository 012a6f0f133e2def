// The built-in profile, and values derived from a profile.
#include "cost/profile.hpp"

#include <algorithm>

namespace vicinal {

const Protocol& LevelCost::protocol(std::int64_t bytes) const {
  const auto found = std::find_if(protocols.begin(), protocols.end() - 1,
                                  [&](const Protocol& it) { return bytes <= it.up_to; });
  return *found;
}

double LevelCost::seconds(std::int64_t bytes) const {
  const Protocol& its = protocol(bytes);
  return handling(bytes) + its.latency + static_cast<double>(bytes) * its.seconds_per_byte;
}

// Lassen (LLNL): two POWER9 of 20 ranks each and two EDR rails per node, Spectrum MPI. Bienz and
// others published the measurements in the repository bienz2/BenchPress, benchmarks/lassen. The
// fits are those of python/vicinal_command/fits.py, which `vicinal calibrate` uses. Times are one
// way, and sizes count floats (its src/ping_pong/ping_pong_timer.cpp). In short:
// - protocols: Piecewise lines of least relative error. On a node, the data are
//   ping_pong_cpu.2412201 (CPU 0 with five others of its socket, and five of the other socket:
//   medians). Between nodes, the data are maxrate.2412163 (one pair of two nodes). The lines change
//   at 256 B and 8 KiB, as in the repository's own model, which calls larger messages rendezvous.
// - overheads of the network: A rank that exchanges 4 B with 20 to 40 ranks takes 0.545 us for each
//   more of them (mult_pong.2414769). Both ends are assumed to have half of it.
// - overheads on a node: The time of 4 B between two cores that share a cache (0.395 us), all of it
//   processor time.
// - handover: The additional time of 4 B between cores of a socket: one cache line, there and back.
// - port: All 40 pairs at once, half of them in each direction (maxrate.2412163, 128 to 512 KiB):
//   22.4 GB/s.
// - search: 128 to 1024 messages in the opposite order of their receives, compared with the same
//   order (mult_ping_pong.843704). Half of the queue is searched for each.
// - copy: Large messages between ranks of a socket: a processor copies every byte once.
const Profile& default_profile() {
  static const Profile profile = [] {
    constexpr std::int64_t any_size = Protocol::any_size;
    Profile it;
    it.name = "Lassen, Spectrum MPI (default)";
    it.source =
        "fitted to the ping-pongs published by Bienz and others in github.com/bienz2/BenchPress, "
        "benchmarks/lassen: 04_08_21/ping_pong_cpu.2412201.out, 04_08_21/maxrate.2412163.out, "
        "spectrum/mult_pong.2414769.out, 02_04_20/mult_ping_pong.843704.out";
    it.date = "2021-04-08";
    it.levels[0] = {1.977e-7,
                    1.977e-7,
                    {{256, 1.235e-7, 5.101e-10, false, 0.005},
                     {8192, 2.846e-7, 1.106e-10, false, 0.018},
                     {any_size, 3.710e-6, 6.901e-11, true, 0.016}}};
    it.levels[1] = {1.977e-7,
                    1.977e-7,
                    {{512, 5.493e-7, 7.715e-10, false, 0.012},
                     {8192, 7.638e-7, 2.131e-10, false, 0.018},
                     {any_size, 5.777e-6, 1.528e-10, true, 0.029}}};
    it.levels[2] = {2.723e-7,
                    2.723e-7,
                    {{256, 6.950e-7, 2.671e-9, false, 0.015},
                     {8192, 1.371e-6, 3.923e-10, false, 0.011},
                     {any_size, 5.857e-6, 7.861e-11, true, 0.034}}};
    it.port_seconds_per_byte = 4.457e-11;
    it.search = 9.671e-9;
    it.handover = 1.229e-7;
    it.copy_seconds_per_byte = 6.901e-11;
    return it;
  }();
  return profile;
}

}  // namespace vicinal

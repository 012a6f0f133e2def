// The scatters by which Shafie Khorassani et al. (2024) judge neighborhood collectives of GPUs, between vectors in the memory
// of one GPU that all ranks use: from a parallel vector to another (each rank to the next), from one rank's vector to all
// ranks', and from all to one's; and, on 8 ranks, the two graphs of the paper's tables VI and VII. Vicinal's halos are held
// against an application that does by hand what the paper's baseline does, and against the bare copies.
//
// ranks: 4
// also on ranks: 8
// also on ranks: 16
#include <vicinal/vicinal.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_application.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace {

using namespace bench;

std::vector<Routine> routines(int size) {
  const auto ranks = static_cast<std::size_t>(size);
  Routine ring{"parallel to parallel", {}}, out{"sequential to parallel", {}},
      in{"parallel to sequential", {}};
  for (int rank = 0; rank < size; ++rank) {
    ring.targets.push_back({(rank + 1) % size});
    in.targets.push_back(rank == 0 ? std::vector<int>{} : std::vector<int>{0});
  }
  out.targets.resize(ranks);
  for (int rank = 1; rank < size; ++rank) out.targets[0].push_back(rank);
  std::vector<Routine> result{ring, out, in};
  if (size == 8) {
    result.push_back(
        {"the paper's table VI", {{}, {0}, {0, 1}, {0, 1}, {0, 1}, {1}, {1, 2}, {1, 2}}});
    result.push_back({"the paper's table VII",
                      {{},
                       {0, 2},
                       {0, 1, 3, 4, 5},
                       {0, 1, 2, 4, 5, 6, 7},
                       {0, 1, 2, 3, 5, 6, 7},
                       {0, 1, 2, 3, 4, 6, 7},
                       {0, 1, 2, 3, 4, 5, 7},
                       {0, 1, 2, 3, 4, 5, 6}}});
  }
  return result;
}

/// The scatter as vicinal's halo.
class Halo {
 public:
  Halo(const World& world, const Scatter& scatter, const Numbers<double>& from,
       const Numbers<double>& to, const char* way)
      : from_(from), to_(to) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "vicinal_device_way", way);
    const int error = vicinal_halo_create(
        world.handle(), scatter.first,
        scatter.first + static_cast<std::int64_t>(scatter.vector.size()),
        static_cast<std::int64_t>(scatter.needed.size()), scatter.needed.data(), info, &halo_);
    MPI_Info_free(&info);
    world.insist(error == MPI_SUCCESS, vicinal_error_message());
  }
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;
  ~Halo() { vicinal_halo_free(&halo_); }

  void begin() { vicinal_halo_start(halo_, from_.data(), to_.data(), 1, MPI_DOUBLE, &request_); }
  void end() { vicinal_wait(&request_); }

 private:
  const Numbers<double>& from_;
  const Numbers<double>& to_;
  vicinal_halo halo_ = VICINAL_HALO_NULL;
  vicinal_request request_ = VICINAL_REQUEST_NULL;
};

/// What begins and ends, and what its set-up has taken.
struct Party {
  std::string name;
  std::function<void()> begin, end;
  double set_up = 0;
};

template <class Make>
Party party(const World& world, std::string name, Make make) {
  world.barrier();
  const double start = now();
  const auto made = make();
  const double set_up = world.largest(now() - start);
  return {std::move(name), [made] { made->begin(); }, [made] { made->end(); }, set_up};
}

/// Mean seconds of beginning and of ending, and of the first set-up, in a table of their own, as the paper has them.
void print_split(const World& world, const std::vector<Party>& parties) {
  constexpr int rounds = 50;
  if (world.rank() == 0) {
    std::printf("  %-44s %11s %11s %11s\n", "", "begin us", "end us", "set-up us");
  }
  for (const Party& each : parties) {
    double begun = 0, ended = 0;
    for (int i = 0; i < rounds; ++i) {
      world.barrier();
      const double start = now();
      each.begin();
      const double middle = now();
      each.end();
      begun += middle - start;
      ended += now() - middle;
    }
    begun = world.largest(begun / rounds);
    ended = world.largest(ended / rounds);
    if (world.rank() != 0) continue;
    std::printf("  %-44s %11.2f %11.2f %11.0f\n", each.name.c_str(), begun * 1e6, ended * 1e6,
                each.set_up * 1e6);
  }
}

struct Case {
  const Routine& routine;
  std::size_t count;
};

void run(const World& world, Report& report, Gpu& gpu, const Case& task) {
  const Scatter scatter(world, task.routine, task.count);
  const Numbers<double> from(gpu, scatter.vector);
  const Numbers<double> to(gpu.memory, scatter.received());
  // On one rank the launches and copies that a small exchange cannot do without, and those that no copy of them can undercut.
  const Numbers<std::int32_t> places(gpu, scatter.places);
  const Numbers<double> packed(gpu.memory, scatter.sent()), again(gpu.memory, scatter.received()),
      here(gpu.memory.staging(), scatter.sent()), there(gpu.memory.staging(), scatter.received());

  const auto application = [&](const char* name, Application::Way way) {
    return party(world, name,
                 [&] { return std::make_shared<Application>(world, gpu, scatter, from, to, way); });
  };
  const auto halo = [&](const char* name, const char* way) {
    return party(world, name,
                 [&] { return std::make_shared<Halo>(world, scatter, from, to, way); });
  };
  const auto nothing = [] {};
  std::vector<Party> parties;
  parties.push_back(
      application("application, MPI_Ineighbor_alltoallv", Application::Way::collective));
  parties.push_back(application("the same again", Application::Way::collective));
  parties.push_back(application("application, point to point", Application::Way::point_to_point));
  parties.push_back(application("application, whole vectors", Application::Way::whole));
  parties.push_back(halo("vicinal, staged", "staged"));
  parties.push_back(halo("vicinal, shared", "shared"));
  parties.push_back(halo("vicinal, automatic", "automatic"));
  const std::size_t exchanges = parties.size();
  parties.push_back({"its launches and copies by staging alone",
                     [&] {
                       gpu.pack(from.data(), packed.data(), places.data(), packed.size());
                       gpu.copy(here.data(), packed.data(), packed.bytes());
                       gpu.wait();
                       gpu.copy(again.data(), there.data(), there.bytes());
                       gpu.wait();
                     },
                     nothing});
  parties.push_back({"what arrives, copied on the GPU",
                     [&] {
                       // As many bytes, wherever they lie.
                       gpu.copy(to.data(), again.data(), to.bytes());
                       gpu.wait();
                     },
                     nothing});
  for (std::size_t i = 0; i < exchanges; ++i) {
    to.write(gpu, std::vector<double>(scatter.received(), -1));
    world.barrier();
    parties[i].begin();
    parties[i].end();
    world.insist(to.read(gpu) == scatter.expected, parties[i].name + " gives wrong values");
  }
  std::vector<Contestant> contestants;
  for (const Party& each : parties) {
    contestants.push_back({each.name, [&each] {
                             each.begin();
                             each.end();
                           }});
  }
  const auto results = compete(world, contestants, {.repetitions = 7, .batch_seconds = 0.015});
  const std::string title =
      task.routine.name + ", " + std::to_string(task.count * sizeof(double)) + " B";
  report.table(title, results, 0);
  report.verdict("vicinal / application", ratio(results[6], results[0]), 0.7);
  if (task.count * sizeof(double) > 1 << 20) {
    report.verdict("vicinal, shared / copy on the GPU", ratio(results[5], results[8]), 1.3);
  }
  if (task.count * sizeof(double) <= 512) {
    report.verdict("vicinal, staged - launches and copies, us",
                   1e6 * difference(results[4], results[7]), 10);
  }
  parties.resize(exchanges);
  print_split(world, parties);
}

}  // namespace

int main(int argc, char** argv) {
  World world(&argc, &argv);
  const auto found = device::first_gpu(device::drivers());
  if (!found || !found->has_kernels) {
    if (world.rank() == 0)
      std::printf("gpu_scatter: not run: needs a GPU, its driver and run-time compiler\n");
    return 0;
  }
  Report report(world, "gpu_scatter", argc, argv);
  Gpu gpu(*found);
  report.heading(gpu.name + ", shared by " + std::to_string(world.size()) + " ranks");
  for (const Routine& routine : routines(world.size())) {
    for (const std::size_t count : {std::size_t{64}, std::size_t{8192}, std::size_t{262144}}) {
      run(world, report, gpu, {routine, count});
    }
  }
}

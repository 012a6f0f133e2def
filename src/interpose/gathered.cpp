// Sets a communicator up for its allgathers, or leaves it to MPI for good.
#include "interpose/gathered.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>

#include "discovery/findings.hpp"
#include "interpose/guarded_as.hpp"
#include "interpose/serving.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::interpose {
namespace {

constexpr const char* all_gathers = "allgathers over all ranks";
constexpr const char* named_direct =
    "VICINAL_ALLGATHER is 'direct', which MPI's own are better than";

constexpr std::int64_t first_look = 8;
/// About as long as set-up takes on machines whose hosts are connected by TCP.
constexpr std::int64_t nanoseconds_worth_it = 100'000'000;

}  // namespace

int Gathered::find(const void* ours, MPI_Comm user, Gathered*& found) noexcept {
  auto* known = static_cast<Gathered*>(mpi::attached(user, mpi::Attached::all_ranks));
  if (known == nullptr) {
    if (user == MPI_COMM_NULL || !mpi::is_alive()) return MPI_SUCCESS;
    const mpi::Inside inside;
    try {
      auto made = std::make_unique<Gathered>(user);
      known = made.get();
      mpi::attach(user, mpi::Attached::all_ranks, std::move(made));
    } catch (const std::exception& exception) {
      const Error error = as_error(exception);
      if (error.fault() == Fault::memory) return raise_for(ours, user, error);
      return MPI_SUCCESS;  // MPI reports the error in the communicator
    }
  }
  if (known->stage_.load(std::memory_order_relaxed) != Stage::left) found = known;
  return MPI_SUCCESS;
}

Gathered::Gathered(MPI_Comm user)
    : user_(user), next_look_(first_look), errors_(std::make_shared<ErrorHandling>(user)) {
  ranks_ = mpi::size_of_other_group(user);
  if (ranks_ == 1 || mpi::between_groups(user)) {
    stage_ = Stage::left;
  } else {
    call_profile_ = CallProfile::if_asked_for();
  }
}

Gathered::~Gathered() {
  forget_communicator();
  if (call_profile_) call_profile_->close();
}

GatherLoops* Gathered::enter(Form form) noexcept {
  const std::int64_t number = entered_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (stage_ == Stage::watched && form == Form::blocking && number >= next_look_) {
    next_look_ = 2 * number;
    look(false);
  }
  return stage_ == Stage::served ? loops_.get() : nullptr;
}

GatherLoops* Gathered::enter_at_once() noexcept {
  if (stage_ == Stage::watched) look(true);
  return stage_ == Stage::served ? loops_.get() : nullptr;
}

void Gathered::look(bool at_once) noexcept {
  bool later = false;
  or_leave_to_mpi(all_gathers, [&] {
    if (Served::on(user_) == nullptr && mpi::Communicator::known(user_) == nullptr) {
      const auto found = mpi::look_around(user_, has_regions_of_its_own(), spent_);
      if (found.one_host) return note_left(all_gathers, on_one_host);
      later = !at_once && found.most < nanoseconds_worth_it;
      if (later) return;
    }
    set_up();
  });
  if (!later && !loops_) stage_ = Stage::left;
}

/// Sets up, or leaves the communicator to MPI. All ranks learn of a fault, and have the same reason
/// to leave it to MPI.
void Gathered::set_up() {
  std::optional<Error> fault;
  Settings settings = settings_from(MPI_INFO_NULL, MPI_COMM_NULL, fault);
  const Served* const served = Served::on(user_);
  // With several threads, communicators that share a private one could be set up in any order, so
  // this one gets its own.
  const auto communicator = served != nullptr && !mpi::thread_multiple()
                                ? served->graph()->shared_communicator()
                                : mpi::Communicator::of(user_);
  if (communicator->machine()->regions() == 1) return note_left(all_gathers, on_one_host);
  std::array<std::int64_t, 1> least{settings.options.strict_progress ? 0 : 1};
  std::optional<Error> finding;
  std::shared_ptr<Graph> graph;
  std::shared_ptr<GatherLoops> loops;
  attempt(finding, [&] {
    graph = Graph::complete(communicator, std::move(settings), std::move(fault));
    loops = std::make_shared<GatherLoops>(graph);
  });
  agree(*communicator, finding, least);
  if (least.front() == 0) return note_left(all_gathers, nobody_progresses);
  if (graph->settings().allgather == "direct") return note_left(all_gathers, named_direct);
  loops_ = std::move(loops);
  stage_ = Stage::served;
  if (call_profile_) call_profile_->enter(*graph, all_gathers, loops_);
}

}  // namespace vicinal::interpose

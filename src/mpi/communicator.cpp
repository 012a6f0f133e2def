// Making the private communicator, and finding it again. It is kept as an attribute of
// the user's, and retires (retirement.hpp) when that and the last graph or request on it are gone. What
// still lives at the end of MPI is freed by an attribute of MPI_COMM_SELF, whose deletion is the first
// thing that MPI_Finalize does.
#include "mpi/communicator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <ostream>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "mpi/alone.hpp"
#include "mpi/backoff.hpp"
#include "mpi/chores.hpp"
#include "mpi/collectives.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"
#include "mpi/own_progress.hpp"
#include "mpi/retirement.hpp"
#include "mpi/window.hpp"

namespace vicinal::mpi {
namespace {

/// All communicators of this process, and the keys under which MPI knows them. It is never
/// destroyed: MPI may be finalized by the destructor of some other static object. And who asks first, which all ranks
/// do together, may have no memory left.
struct Registry {
  Mutex mutex;
  int user_key = MPI_KEYVAL_INVALID;
  std::vector<Communicator*> live VICINAL_GUARDED_BY(mutex);
  std::int64_t next_number VICINAL_GUARDED_BY(mutex) =
      0;  ///< higher than that of any communicator so far
};

Registry& registry() noexcept {
  static NoDestructor<Registry> instance;
  return *instance;
}

/// How many of the communicators that retire are looked after when one is freed.
constexpr std::size_t chores_per_free = 16;
/// How long MPI_Finalize waits for ranks that have not let go of a communicator of theirs yet. They come to
/// MPI_Finalize as well, so this is how much later they may come.
constexpr auto patience_at_end = std::chrono::seconds(2);

using Handle = std::shared_ptr<Communicator>;

int drop(MPI_Comm user, int, void* attribute, void*) {
  auto* const handle = static_cast<Handle*>(attribute);
  (*handle)->user_freed(user);
  delete handle;
  if (is_alive()) do_chores(chores_per_free);
  return MPI_SUCCESS;
}

/// Where some rank could not do its part: throws what this one has, or what it hears of the lowest of them.
void settle(std::int64_t lowest, int size, const std::optional<Error>& fault) {
  if (fault) throw Error(*fault);
  require(lowest >= size, Fault::elsewhere, "setting up a communicator failed on rank ", lowest,
          "; the message on that rank says more");
}

/// Before the ranks have one of ours: waits until all have come. Throws on all of them where one is at fault. Nobody
/// waits inside MPI, where active plans make no progress.
void meet(MPI_Comm user, const std::optional<Error>& fault) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(user, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(user, &size), "MPI_Comm_size");
  std::int64_t lowest = fault ? rank : size;
  PendingOperation all = iallreduce(user, std::span(&lowest, 1), Reduction::min);
  poll_until([&] { return all.test(); }, "all ranks of its communicator to set it up");
  settle(lowest, size, fault);
}

/// The same where they have.
void meet(const Communicator& made, const std::optional<Error>& fault) {
  std::int64_t lowest = fault ? made.rank() : made.size();
  allreduce_min(made.handle(), std::span(&lowest, 1));
  settle(lowest, made.size(), fault);
}

/// As long as it lives, errors of freeing end no program: MPI reports those of an object that is no more on one
/// of these two. MPICH takes it for an error that messages have come which nobody received.
class ErrorsReturn {
 public:
  ErrorsReturn() {
    for (Kept& kept : kept_) {
      MPI_Comm_get_errhandler(kept.communicator, &kept.handler);
      MPI_Comm_set_errhandler(kept.communicator, errors_return());
    }
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  ~ErrorsReturn() {
    for (Kept& kept : kept_) {
      MPI_Comm_set_errhandler(kept.communicator, kept.handler);
      MPI_Errhandler_free(&kept.handler);
    }
  }

 private:
  struct Kept {
    MPI_Comm communicator;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  };
  std::array<Kept, 2> kept_ = {{{MPI_COMM_WORLD}, {MPI_COMM_SELF}}};
};

int close_all(MPI_Comm, int, void*, void*) {
  stop_threads_hook();
  if (!is_alive()) return MPI_SUCCESS;
  const ErrorsReturn forgiving;
  finish_chores(patience_at_end);
  drop_chores();
  end_hook();
  std::vector<Communicator*> live;
  {
    const Lock lock(registry().mutex);
    live.swap(registry().live);
  }
  Window::free_all();
  for (Communicator* communicator : live) communicator->close();
  return MPI_SUCCESS;
}

int user_key() {
  Registry& all = registry();
  const Lock lock(all.mutex);
  if (all.user_key != MPI_KEYVAL_INVALID) return all.user_key;
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_all, &key, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr on MPI_COMM_SELF");
  check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &all.user_key, nullptr),
        "MPI_Comm_create_keyval");
  return all.user_key;
}

}  // namespace

std::shared_ptr<Communicator> Communicator::of(MPI_Comm user) {
  require(!is_forked(), Fault::communicator,
          "this process was forked from a rank of MPI, which only the rank itself may use; start "
          "processes that use MPI by MPI_Comm_spawn or the launcher");
  require(is_alive(), Fault::communicator,
          "MPI is not running; call MPI_Init before and MPI_Finalize after all use of vicinal");
  require_fitting_abi();
  require(user != MPI_COMM_NULL, Fault::communicator, "the communicator is MPI_COMM_NULL");
  if (auto made = known(user)) return made;

  int between_groups = 0;
  check(MPI_Comm_test_inter(user, &between_groups), "MPI_Comm_test_inter");
  require(between_groups == 0, Fault::communicator,
          "the communicator is an inter-communicator; neighborhoods need an intra-communicator, "
          "which MPI_Intercomm_merge makes of it");
  claim_process();
  do_chores(chores_left());
  // A rank without memory has the others know: they may not be left alone, now or in the first use of what they have.
  std::optional<Error> fault;
  std::unique_ptr<Handle> kept;
  std::vector<std::int64_t> gathered;
  attempt(fault, [&] {
    int size = 0;
    check(MPI_Comm_size(user, &size), "MPI_Comm_size");
    gathered.resize(words_gathered * static_cast<std::size_t>(size));
    kept = std::make_unique<Handle>(Handle(new Communicator, retire));
  });
  meet(user, fault);
  const Handle made = *kept;
  made->make(user, gathered, fault);
  attempt(fault, [&] {
    announce_if_alone();
    check(MPI_Comm_set_attr(user, user_key(), kept.get()), "MPI_Comm_set_attr");
    static_cast<void>(kept.release());
  });
  try {
    meet(*made, fault);
  } catch (const std::exception&) {
    if (!kept) MPI_Comm_delete_attr(user, user_key());
    throw;
  }
  return made;
}

std::shared_ptr<Communicator> Communicator::known(MPI_Comm user) {
  void* attribute = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(user, user_key(), static_cast<void*>(&attribute), &found),
        "MPI_Comm_get_attr");
  return found != 0 ? *static_cast<Handle*>(attribute) : nullptr;
}

Communicator::Communicator() {
  const Lock lock(registry().mutex);
  registry().live.push_back(this);
}

Communicator::~Communicator() {
  const Lock lock(registry().mutex);
  std::erase(registry().live, this);
}

void Communicator::retire(Communicator* unused) noexcept {
  try {
    std::shared_ptr<Communicator> last(unused);
    if (last->handle_ == MPI_COMM_NULL || !last->mailbox_ || !is_alive()) return;
    leave_chore([last, retirement = std::shared_ptr<Retirement>()]() mutable {
      if (last) retirement = last->begin_retirement();
      last = nullptr;
      return !retirement || retirement->poll();
    });
  } catch (const std::exception&) {
    // Without memory to remember it, the private communicator stays.
  }
}

std::shared_ptr<Retirement> Communicator::begin_retirement() {
  // The end of MPI may have come in between.
  if (handle_ == MPI_COMM_NULL) return nullptr;
  return std::make_shared<Retirement>(handle_, mailbox_, troubled_);
}

void Communicator::close() noexcept {
  if (mailbox_) mailbox_->close();
  if (handle_ != MPI_COMM_NULL && is_alive()) {
    try {
      // MPICH ends the program when messages that have arrived were never received.
      UnreadMessages().take(handle_);
    } catch (const std::exception&) {
      // The communicator is being freed; there is nobody to tell.
    }
    MPI_Comm_free(&handle_);
  }
  handle_ = MPI_COMM_NULL;
  error_communicator_ = MPI_COMM_NULL;
}

void Communicator::user_freed(MPI_Comm user) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (is_alive() && MPI_Comm_get_errhandler(user, &handler) != MPI_SUCCESS) return;
  error_communicator_ = handler == errors_return() ? handle_ : MPI_COMM_NULL;
  if (handler != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&handler);
  until_freed_.clear();
}

void Communicator::make(MPI_Comm user, std::span<std::int64_t> gathered,
                        std::optional<Error>& fault) {
  error_communicator_ = user;
  // Not a duplicate: that would run the copy callbacks of other libraries' attributes, and inherit
  // hints such as a promise not to receive from any source.
  check(MPI_Comm_rank(user, &rank_), "MPI_Comm_rank");
  int topology = MPI_UNDEFINED;
  check(MPI_Topo_test(user, &topology), "MPI_Topo_test");
  if (topology == MPI_UNDEFINED) {
    MPI_Group group = MPI_GROUP_NULL;
    check(MPI_Comm_group(user, &group), "MPI_Comm_group");
    const int made = [&] {
      const Outside outside;
      return MPI_Comm_create(user, group, &handle_);
    }();
    MPI_Group_free(&group);
    check(made, "MPI_Comm_create");
  } else {
    // By the group of a Cartesian communicator with fewer ranks than the one it was made from,
    // MPICH 5.0.2 hangs later. Elsewhere, splitting costs Open MPI connections of no other use.
    const Outside outside;
    check(MPI_Comm_split(user, 0, rank_, &handle_), "MPI_Comm_split");
  }
  check(MPI_Comm_set_errhandler(handle_, errors_return()), "MPI_Comm_set_errhandler");
  check(MPI_Comm_size(handle_, &size_), "MPI_Comm_size");
  attempt(fault, [&] { mailbox_ = std::make_unique<Mailbox>(handle_, tag_mailbox); });

  int* largest_tag = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest_tag), &found),
        "MPI_Comm_get_attr");
  const std::int64_t tags = (found != 0 ? std::int64_t{*largest_tag} : 32767) + 1;
  // Those of plans come first, then those of what has no plan.
  constexpr std::int64_t tags_of_plan = std::int64_t{channels_per_plan} * 2;
  planless_blocks_ = std::min<std::int64_t>(1 << 16, (tags - reserved_tags) / 2 / planless_block);
  {
    const Lock lock(mutex_);
    plan_tags_ =
        NumberPool((tags - reserved_tags - planless_blocks_ * planless_block) / tags_of_plan);
  }

  {
    const Lock lock(registry().mutex);
    number_ = registry().next_number;
  }
  std::optional<Error> unlearned;
  attempt(unlearned, [&] { number_ = learn_places(number_, gathered); });
  if (!fault) fault = std::move(unlearned);
  meet(*this, fault);
  {
    const Lock lock(registry().mutex);
    registry().next_number = std::max(registry().next_number, number_ + 1);
  }
  join_host(gathered, fault);
  attempt(fault, [&] {
    machine();
    joined_ = true;
    log_places();
  });
}

std::shared_ptr<const Machine> Communicator::machine(std::string_view regions) {
  const Lock lock(mutex_);
  return machine_of(regions.empty() ? std::string_view(default_regions_) : regions);
}

void Communicator::set_regions(std::string_view text) {
  const Lock lock(mutex_);
  machine_of(text);
  if (!regions_forced_) default_regions_ = text;
}

std::string Communicator::default_regions() {
  const Lock lock(mutex_);
  return default_regions_;
}

std::shared_ptr<const Machine> Communicator::machine_of(std::string_view regions) {
  const auto known = machines_.find(regions);
  if (known != machines_.end()) return known->second;
  auto machine =
      std::make_shared<const Machine>(read_regions(regions, places_), host_of_,
                                      read_inner_regions(regions, places_), places_.core_share_of);
  return machines_.emplace(regions, std::move(machine)).first->second;
}

std::int64_t Communicator::acquire_tag() {
  const Lock lock(mutex_);
  const std::optional<std::int64_t> tag = plan_tags_.take();
  require(tag.has_value(), Fault::memory, "all ", plan_tags_.limit(),
          " message numbers of this communicator are in use; free plans that are not "
          "needed, or use several communicators");
  return *tag;
}

void Communicator::release_tag(std::int64_t tag) {
  const Lock lock(mutex_);
  require(plan_tags_.give_back(tag), Fault::internal, "message number ", tag,
          " was released, but is not in use");
}

void Communicator::note_lack_of_room() noexcept {
  try {
    const Lock lock(mutex_);
    if (out_of_room_) return;
    room_fault_ =
        arena_fault_ + (arena_fault_.empty() ? "" : "; ") +
        "the memory that they share has been full: some of what they hand over found no room";
    out_of_room_.store(true, std::memory_order_release);
  } catch (const std::exception&) {
    // It is for people only.
  }
}

void describe_communicators(std::ostream& out) {
  const Lock lock(registry().mutex);
  for (const Communicator* communicator : registry().live) {
    if (!communicator->joined_ || communicator->arena_fault().empty()) continue;
    out << "vicinal: rank " << communicator->rank_ << " of a communicator of "
        << communicator->size_
        << ": ranks of this node exchange messages where they could share memory: "
        << communicator->arena_fault() << '\n';
  }
}

}  // namespace vicinal::mpi

// Making the private communicator, and letting go of it. It is freed with the user's communicator,
// in whose freeing all ranks take part, or with the last graph or request that outlives it. The
// latter is a local event; MPI says that freeing a communicator is "normally implemented to be
// local", and it is in the MPIs in use. What still lives at the end of MPI is freed by an attribute
// of MPI_COMM_SELF, whose deletion is the first thing MPI_Finalize does.
#include "mpi/communicator.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

/// All communicators of this process, and the keys under which MPI knows them. It is never
/// destroyed: MPI may be finalized by the destructor of some other static object.
struct Registry {
  std::mutex mutex;
  int user_key = MPI_KEYVAL_INVALID;
  std::vector<Communicator*> live;
  std::int64_t next_number = 0;  ///< higher than that of any communicator so far
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

/// How far apart the first graphs of two communicators are numbered.
constexpr std::int64_t graphs_per_communicator = std::int64_t{1} << 32U;

using Handle = std::shared_ptr<Communicator>;

int drop(MPI_Comm user, int, void* attribute, void*) {
  auto* const handle = static_cast<Handle*>(attribute);
  (*handle)->user_freed(user);
  delete handle;
  return MPI_SUCCESS;
}

int close_all(MPI_Comm, int, void*, void*) {
  std::vector<Communicator*> live;
  {
    const std::lock_guard lock(registry().mutex);
    live = registry().live;
  }
  for (Communicator* communicator : live) communicator->close();
  return MPI_SUCCESS;
}

int user_key() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
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

/// Takes what has arrived and was never received, as after an error on one rank only: MPICH ends
/// the program when a communicator is freed before that, whatever its error handler. A message that
/// its sender does not push through is not waited for; its memory stays, since MPI may still write
/// there.
void discard_messages(MPI_Comm communicator) noexcept {
  static auto* const unfinished = new std::vector<std::vector<std::byte>>;
  try {
    while (auto arrival = improbe(communicator, MPI_ANY_TAG)) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(arrival->bytes));
      if (ireceive(*arrival, bytes).test()) continue;
      const std::lock_guard lock(registry().mutex);
      unfinished->push_back(std::move(bytes));
    }
  } catch (const std::exception&) {
    // The communicator is being freed; there is nobody to tell.
  }
}

}  // namespace

std::shared_ptr<Communicator> Communicator::of(MPI_Comm user) {
  require(!is_forked(), Fault::communicator,
          "this process was forked from a rank of MPI, which only the rank itself may use; start "
          "processes that use MPI by MPI_Comm_spawn or the launcher");
  require(is_alive(), Fault::communicator,
          "MPI is not running; call MPI_Init before and MPI_Finalize after all use of vicinal");
  require(user != MPI_COMM_NULL, Fault::communicator, "the communicator is MPI_COMM_NULL");
  const int key = user_key();
  void* attribute = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(user, key, static_cast<void*>(&attribute), &found), "MPI_Comm_get_attr");
  if (found != 0) return *static_cast<Handle*>(attribute);

  int between_groups = 0;
  check(MPI_Comm_test_inter(user, &between_groups), "MPI_Comm_test_inter");
  require(between_groups == 0, Fault::communicator,
          "the communicator is an inter-communicator; neighborhoods need an intra-communicator, "
          "which MPI_Intercomm_merge makes of it");
  claim_process();
  Handle made(new Communicator);
  made->make(user);
  auto kept = std::make_unique<Handle>(made);
  check(MPI_Comm_set_attr(user, key, kept.get()), "MPI_Comm_set_attr");
  static_cast<void>(kept.release());
  return made;
}

Communicator::Communicator() {
  const std::lock_guard lock(registry().mutex);
  registry().live.push_back(this);
}

Communicator::~Communicator() {
  close();
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().live, this);
}

void Communicator::close() noexcept {
  if (mailbox_) mailbox_->close();
  if (handle_ != MPI_COMM_NULL && is_alive() && !kept_for_good_) {
    discard_messages(handle_);
    MPI_Comm_free(&handle_);
  }
  handle_ = MPI_COMM_NULL;
  judge_ = MPI_COMM_NULL;
}

void Communicator::user_freed(MPI_Comm user) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (is_alive() && MPI_Comm_get_errhandler(user, &handler) != MPI_SUCCESS) return;
  judge_ = handler == MPI_ERRORS_RETURN ? handle_ : MPI_COMM_NULL;
  if (handler != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&handler);
  receive_last_letters();
  kept_until_freed_.clear();
}

/// Freeing the user's communicator, all ranks meet once more: a notice of a fault that nobody waited
/// for may be on its way, and Open MPI would deliver it in a communicator that is made later. Notices
/// count as sent when they are received, so none is left once all have met. Who does not come, for
/// lack of care after an error, is not waited for long; the duplicate is then never freed.
void Communicator::receive_last_letters() noexcept {
  if (handle_ == MPI_COMM_NULL || !is_alive()) return;
  constexpr auto patience = std::chrono::seconds(2);
  const auto begin = std::chrono::steady_clock::now();
  try {
    std::optional<Request> meeting;
    poll_until([&] {
      mailbox_->collect();
      if (!meeting && mailbox_->unsent() == 0) meeting = ibarrier(handle_);
      if (meeting && meeting->test()) return true;
      if (std::chrono::steady_clock::now() - begin < patience) return false;
      kept_for_good_ = true;
      if (meeting) new Request(std::move(*meeting));  // MPI may not be asked to forget it
      return true;
    });
    mailbox_->collect();
  } catch (const std::exception&) {
    kept_for_good_ = true;
  }
}

void Communicator::make(MPI_Comm user) {
  judge_ = user;
  // Making a communicator blocks inside MPI, where active plans make no progress. Wait outside,
  // until every rank has come.
  barrier(user);
  // Not a duplicate: that would run the copy callbacks of other libraries' attributes, and inherit
  // hints such as a promise not to receive from any source.
  check(MPI_Comm_rank(user, &rank_), "MPI_Comm_rank");
  int topology = MPI_UNDEFINED;
  check(MPI_Topo_test(user, &topology), "MPI_Topo_test");
  if (topology == MPI_UNDEFINED) {
    MPI_Group group = MPI_GROUP_NULL;
    check(MPI_Comm_group(user, &group), "MPI_Comm_group");
    const int made = MPI_Comm_create(user, group, &handle_);
    MPI_Group_free(&group);
    check(made, "MPI_Comm_create");
  } else {
    // By the group of a Cartesian communicator with fewer ranks than the one it was made from,
    // MPICH 5.0.2 hangs later. Elsewhere, splitting costs Open MPI connections of no other use.
    check(MPI_Comm_split(user, 0, rank_, &handle_), "MPI_Comm_split");
  }
  check(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_size(handle_, &size_), "MPI_Comm_size");
  mailbox_ = std::make_unique<Mailbox>(handle_, tag_mailbox);

  int* largest_tag = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest_tag), &found),
        "MPI_Comm_get_attr");
  const std::int64_t tags = (found != 0 ? std::int64_t{*largest_tag} : 32767) + 1;
  tag_limit_ = (tags - reserved_tags) / (std::int64_t{channels_per_plan} * 2);

  std::int64_t number = 0;
  {
    const std::lock_guard lock(registry().mutex);
    number = registry().next_number;
  }
  number = learn_places(number);
  {
    const std::lock_guard lock(registry().mutex);
    registry().next_number = std::max(registry().next_number, number + 1);
  }
  graphs_ = number * graphs_per_communicator;
  join_host();
}

std::shared_ptr<const Machine> Communicator::machine(std::string_view regions) {
  const std::lock_guard lock(mutex_);
  return machine_of(regions.empty() ? std::string_view(default_regions_) : regions);
}

void Communicator::set_regions(std::string_view text) {
  const std::lock_guard lock(mutex_);
  machine_of(text);
  if (!regions_forced_) default_regions_ = text;
}

std::shared_ptr<const Machine> Communicator::machine_of(std::string_view regions) {
  const auto known = machines_.find(regions);
  if (known != machines_.end()) return known->second;
  auto machine = std::make_shared<const Machine>(read_regions(regions, places_), host_of_,
                                                 read_inner_regions(regions, places_));
  return machines_.emplace(regions, std::move(machine)).first->second;
}

std::int64_t Communicator::acquire_tag() {
  const std::lock_guard lock(mutex_);
  require(static_cast<std::int64_t>(live_tags_.size()) < tag_limit_, Fault::memory, "all ",
          tag_limit_,
          " message numbers of this communicator are in use; free plans that are not "
          "needed, or use several communicators");
  while (true) {
    const std::int64_t tag = next_tag_;
    next_tag_ = next_tag_ + 1 < tag_limit_ ? next_tag_ + 1 : 0;
    if (live_tags_.insert(tag).second) return tag;
  }
}

void Communicator::release_tag(std::int64_t tag) {
  const std::lock_guard lock(mutex_);
  require(live_tags_.erase(tag) == 1, Fault::internal, "message number ", tag,
          " was released, but is not in use");
}

std::int64_t Communicator::next_graph_id() {
  const std::lock_guard lock(mutex_);
  return graphs_++;
}

int Communicator::next_discovery_turn() {
  const std::lock_guard lock(mutex_);
  discovery_odd_ = !discovery_odd_;
  return discovery_odd_ ? 1 : 0;
}

}  // namespace vicinal::mpi

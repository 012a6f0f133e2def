// Makes the private communicator, and finds it again. It is attached to the user's. It retires
// (retirement.hpp) when the user's and the last graph or request on it are gone. An attribute of
// MPI_COMM_SELF frees the communicators that still live at the end of MPI: MPI_Finalize deletes
// that attribute first. Of arrived messages, the key identifies a control message, the tag every
// other one.
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
#include "mpi/attachment.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"
#include "mpi/deferred.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"
#include "mpi/own_progress.hpp"
#include "mpi/retirement.hpp"
#include "mpi/window.hpp"

namespace vicinal::mpi {

namespace {

/// All communicators of this process. Never destroyed, since the destructor of another static
/// object may finalize MPI. Its first use, which is collective, allocates nothing.
struct Registry {
  Mutex mutex;
  bool ends_with_world VICINAL_GUARDED_BY(mutex) = false;  ///< MPI_Finalize calls close_all
  std::vector<Communicator*> live VICINAL_GUARDED_BY(mutex);
  std::int64_t next_number VICINAL_GUARDED_BY(mutex) = 0;  ///< above every number so far
};

Registry& registry() noexcept {
  static NoDestructor<Registry> instance;
  return *instance;
}

/// Time that MPI_Finalize waits for ranks that have not released one of their communicators yet.
/// They reach MPI_Finalize as well, so this bounds how much later they may come.
constexpr auto patience_at_end = std::chrono::seconds(2);

/// Attachment by which the user's communicator shares the ownership.
class OwnCommunicator final : public Attachment {
 public:
  explicit OwnCommunicator(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)) {}
  OwnCommunicator(const OwnCommunicator&) = delete;
  OwnCommunicator& operator=(const OwnCommunicator&) = delete;
  ~OwnCommunicator() override { communicator_->clear_until_freed(); }
  [[nodiscard]] const std::shared_ptr<Communicator>& get() const { return communicator_; }

 private:
  void forget_communicator() noexcept override { communicator_->user_freed(); }

  std::shared_ptr<Communicator> communicator_;
};

/// Waits until all ranks have arrived, before they have a private communicator. No rank waits
/// inside MPI, where active plans make no progress.
void await_all(MPI_Comm user) {
  std::int64_t nothing = 0;
  PendingOperation all = iallreduce(user, std::span(&nothing, 1), Reduction::min);
  poll_until([&] { return all.test(); }, "all ranks of its communicator to set it up");
}

std::vector<Communicator*> take_live() {
  std::vector<Communicator*> live;
  const Lock lock(registry().mutex);
  live.swap(registry().live);
  return live;
}

/// Called by MPI_Finalize before all else, while MPI functions may still be called.
int close_all(MPI_Comm, int, void*, void*) {
  stop_threads_hook();
  note_end();
  end_calls_from_progress();
  if (!is_alive()) return MPI_SUCCESS;
  const ErrorsReturn forgiving;
  finish_deferred(patience_at_end);
  drop_deferred();
  end_hook();
  Window::free_all();
  for (Communicator* communicator : take_live()) communicator->close();
  return MPI_SUCCESS;
}

void end_with_world() {
  Registry& all = registry();
  const Lock lock(all.mutex);
  if (all.ends_with_world) return;
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_all, &key, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr on MPI_COMM_SELF");
  all.ends_with_world = true;
  check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
}

}  // namespace

std::shared_ptr<Communicator> Communicator::of(MPI_Comm user) {
  if (is_forked() || !has_world()) {
    find_session(user);
    require_usable();
  }
  require_fitting_abi();
  require(user != MPI_COMM_NULL, Fault::communicator, "the communicator is MPI_COMM_NULL");
  if (auto made = known(user)) {
    made->note_error_handler(user);
    return made;
  }

  int between_groups = 0;
  check(MPI_Comm_test_inter(user, &between_groups), "MPI_Comm_test_inter");
  require(between_groups == 0, Fault::communicator,
          "the communicator is an inter-communicator; neighborhoods need an intra-communicator, "
          "which MPI_Intercomm_merge makes of it");
  claim_process();
  run_deferred(deferred_left());
  await_all(user);
  int size = 0;
  check(MPI_Comm_size(user, &size), "MPI_Comm_size");
  std::vector<std::int64_t> gathered(words_gathered * static_cast<std::size_t>(size));
  auto kept =
      std::make_unique<OwnCommunicator>(std::shared_ptr<Communicator>(new Communicator, retire));
  const std::shared_ptr<Communicator> made = kept->get();
  made->make(user, gathered);
  announce_if_alone();
  if (has_world()) end_with_world();
  attach(user, Attached::own_communicator, std::move(kept));
  return made;
}

std::shared_ptr<Communicator> Communicator::known(MPI_Comm user) noexcept {
  auto* const found = static_cast<OwnCommunicator*>(attached(user, Attached::own_communicator));
  return found != nullptr ? found->get() : nullptr;
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
    defer([last, retirement = std::shared_ptr<Retirement>()]() mutable {
      if (last) retirement = last->begin_retirement();
      last = nullptr;
      return !retirement || retirement->poll();
    });
  } catch (const std::exception&) {
    // Without memory for the deferred task, the private communicator stays.
  }
}

std::shared_ptr<Retirement> Communicator::begin_retirement() {
  // MPI may have ended in the meantime.
  if (handle_ == MPI_COMM_NULL) return nullptr;
  return std::make_shared<Retirement>(handle_, mailbox_, troubled_);
}

void Communicator::end_session() noexcept {
  static Mutex mutex;  // of two sessions that end at once, the second is the last
  const Lock lock(mutex);
  if (is_forked()) return;
  const Inside inside;
  const bool is_last = open_sessions() == 1 && !has_world();
  if (is_last) stop_threads_hook();
  const bool all_done = finish_deferred(patience_at_end);
  if (is_last) {
    if (!all_done) drop_deferred();
    for (Communicator* communicator : take_live()) communicator->close();
    forget_keys();
    note_end();
  }
  session_closed();
}

void Communicator::close() noexcept {
  if (mailbox_) mailbox_->close();
  if (handle_ != MPI_COMM_NULL && is_alive()) {
    try {
      // MPICH ends the program if messages have arrived but were never received.
      UnreadMessages().take(handle_);
    } catch (const std::exception&) {
      // The communicator is being freed; no caller can receive the error.
    }
    MPI_Comm_free(&handle_);
  }
  handle_ = MPI_COMM_NULL;
  error_communicator_ = MPI_COMM_NULL;
}

void Communicator::note_error_handler(MPI_Comm user) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (MPI_Comm_get_errhandler(user, &handler) != MPI_SUCCESS) return;
  errors_return_ = handler == errors_return();
  if (handler != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&handler);
}

void Communicator::user_freed() noexcept {
  error_communicator_ = errors_return_ ? handle_ : MPI_COMM_NULL;
}

void Communicator::make(MPI_Comm user, std::span<std::int64_t> gathered) {
  error_communicator_ = user;
  note_error_handler(user);
  // MPI_Comm_dup would run the copy callbacks of other libraries' attributes. It would also inherit
  // hints such as a promise not to receive from any source.
  check(MPI_Comm_rank(user, &rank_), "MPI_Comm_rank");
  note_rank(rank_);
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
    // With the group of a Cartesian communicator that has fewer ranks than its parent, MPICH 5.0.2
    // hangs later. Elsewhere, a split costs Open MPI connections of no other use.
    const Outside outside;
    check(MPI_Comm_split(user, 0, rank_, &handle_), "MPI_Comm_split");
  }
  check(MPI_Comm_set_errhandler(handle_, errors_return()), "MPI_Comm_set_errhandler");
  check(MPI_Comm_size(handle_, &size_), "MPI_Comm_size");
  mailbox_ = std::make_unique<Mailbox>(handle_, tag_mailbox);

  int* largest_tag = nullptr;
  int found = 0;
  // In Open MPI, not every communicator has this attribute.
  for (const MPI_Comm told_by : {user, handle_, MPI_COMM_WORLD}) {
    if (found != 0 || (told_by == MPI_COMM_WORLD && !has_world())) continue;
    check(MPI_Comm_get_attr(told_by, MPI_TAG_UB, static_cast<void*>(&largest_tag), &found),
          "MPI_Comm_get_attr");
  }
  const std::int64_t tags = (found != 0 ? std::int64_t{*largest_tag} : 32767) + 1;
  // Tags of plans come first, then tags of messages without a plan.
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
  number_ = learn_places(number_, gathered);
  {
    const Lock lock(registry().mutex);
    registry().next_number = std::max(registry().next_number, number_ + 1);
  }
  join_host(gathered);
  machine();
  joined_ = true;
  log_places();
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
  const std::vector<int> labels = read_regions(regions, places_);
  auto machine =
      std::make_shared<const Machine>(labels, sharing_under(regions, labels, host_of_),
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
    // The text is informative only.
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

void describe_arrivals(Communicator& communicator, const OwnTraffic& own, std::ostream& out) {
  Mailbox& mailbox = communicator.mailbox();
  mailbox.collect();
  for (const auto& [rank, key] : mailbox.senders_besides(own.key)) {
    out << "; rank " << rank << " has sent a control message for "
        << (key.sequence == 0 ? "the creation of a graph" : "the planning of an exchange");
  }
  if (!own.is_all) return;
  constexpr std::pair<int, const char*> others[] = {
      {tag_allgather, "the beginning of a halo or a sparse exchange, or of the end of a creation"},
      {tag_discovery_even, "a sparse exchange or the creation of a halo"},
      {tag_discovery_odd, "a sparse exchange or the creation of a halo"},
  };
  for (const auto& [tag, call] : others) {
    int found = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, tag, communicator.handle(), &found, &status), "MPI_Iprobe");
    if (found != 0) out << "; rank " << status.MPI_SOURCE << " has sent a message of " << call;
  }
}

}  // namespace vicinal::mpi

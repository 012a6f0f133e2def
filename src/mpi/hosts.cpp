// Finds where the ranks of a new communicator live, and which ranks of a host share memory. This is
// the part of its set-up in which each rank tells all others a few words. If not all ranks of a
// host can join the arena, the host tries the other backing. It keeps the arena that more ranks
// have joined.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/setting.hpp"
#include "locality/machine.hpp"
#include "mpi/backoff.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

/// Returns what is wrong with this rank's environment, if anything. Also opens the log.
std::optional<Error> fault_of_environment() {
  try {
    check_environment();
    open_log(world_rank());
  } catch (const std::exception& fault) {
    return as_error(fault);
  }
  return std::nullopt;
}

/// Number of words that hold an invitation when it is sent to the other ranks.
static_assert(std::is_trivially_copyable_v<Arena::Invitation>);
constexpr std::size_t invitation_words = (sizeof(Arena::Invitation) + 7) / 8;

/// Positions of the words that a rank tells about itself.
enum Word : std::size_t {
  host_word,
  numa_word,
  settings_word,
  wish_word,
  number_word,
  cpus_word,
  cpu_set_word,
  cores_word,
  words
};
/// A rank's wish for shared memory, or that its environment cannot be read (`unreadable`).
enum Wish : std::int64_t { unreadable, refuses, agrees };

/// A rank that has joined an arena tells the others the offset of its inbox for control messages,
/// or `no_inbox`.
constexpr std::int64_t no_inbox = 1;
std::int64_t inbox_in(Arena& arena) {
  if (arena.members() == 1) return no_inbox;
  try {
    return Mailbox::make_inbox(arena);
  } catch (const std::exception&) {
    return no_inbox;  // its control messages come by MPI
  }
}

}  // namespace

const std::size_t Communicator::words_gathered = std::max<std::size_t>(words, invitation_words);

std::int64_t Communicator::learn_places(std::int64_t number, std::span<std::int64_t> gathered) {
  std::array<std::int64_t, words> mine{};
  const std::optional<Error> unread = fault_of_environment();
  if (static std::atomic<bool> is_first = true; is_first.exchange(false) && rank_ == 0 && !unread) {
    warn_of_unknown_variables();
  }
  const std::optional<std::string> regions = environment_value("vicinal_regions");
  const std::vector<Given> given = given_by_process();
  const std::vector<bool> cpus = allowed_cpus();
  const std::optional<double> told = read_amount(process_value("vicinal_cores"));
  mine[host_word] = fingerprint(detect_host());
  mine[numa_word] = detect_numa_node();
  mine[settings_word] = fingerprint(given);
  mine[number_word] = number;
  mine[cpus_word] = std::count(cpus.begin(), cpus.end(), true);
  mine[cpu_set_word] = fingerprint(std::string(cpus.begin(), cpus.end()));
  mine[cores_word] = std::bit_cast<std::int64_t>(told.value_or(-1));
  mine[wish_word] = unread                                           ? unreadable
                    : is_yes(process_value("vicinal_shared_memory")) ? agrees
                                                                     : refuses;
  const std::span<std::int64_t> all = gathered.first(words * static_cast<std::size_t>(size_));
  allgather(handle_, mine, all);
  const auto word = [&](int rank, Word which) {
    return all[static_cast<std::size_t>(rank) * words + which];
  };
  for (int rank = 0; rank < size_; ++rank) {
    if (word(rank, settings_word) != all[settings_word]) throw_difference(handle_, given);
  }
  for (int rank = 0; rank < size_; ++rank) {
    if (word(rank, wish_word) != unreadable) continue;
    throw_told(
        handle_, rank,
        unread ? std::string(unread->what()) + " (on rank " + std::to_string(rank) + ")" : "");
  }

  std::map<std::int64_t, int> lowest_rank;  // of each host
  std::map<std::pair<std::int64_t, std::int64_t>, int> numa_labels;
  std::vector<CpuClaim> claims;
  for (int rank = 0; rank < size_; ++rank) {
    const auto theirs = std::span(all).subspan(static_cast<std::size_t>(rank) * words, words);
    number = std::max(number, theirs[number_word]);
    places_.node_of.push_back(lowest_rank.try_emplace(theirs[host_word], rank).first->second);
    const auto next_label = static_cast<int>(numa_labels.size());
    places_.numa_of.push_back(
        numa_labels.try_emplace({theirs[host_word], theirs[numa_word]}, next_label).first->second);
    claims.push_back(
        {theirs[cpus_word], theirs[cpu_set_word], std::bit_cast<double>(theirs[cores_word])});
  }
  places_.core_share_of = core_shares(places_.node_of, claims);
  // Back-off ignores the cores set by the user: a spinning rank delays the ranks it waits for.
  for (CpuClaim& claim : claims) claim.told = -1;
  const std::vector<CoreShare> bound = core_shares(places_.node_of, claims);
  if (bound[static_cast<std::size_t>(rank_)].is_crowded()) {
    Backoff::share_cores();
  } else {
    Backoff::have_cores();
  }
  for (int rank = 0; rank < size_; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (places_.node_of[i] != places_.node_of[static_cast<std::size_t>(rank_)]) continue;
    share_memory_ = share_memory_ && all[i * words + wish_word] == agrees;
  }
  if (regions) {
    const Lock lock(mutex_);
    default_regions_ = *regions;
    regions_forced_ = true;
  }
  host_of_.resize(static_cast<std::size_t>(size_));
  std::iota(host_of_.begin(), host_of_.end(), size_);
  if (!share_memory_) arena_fault_ = "switched off by VICINAL_SHARED_MEMORY=0";
  return number;
}

void Communicator::join_host(std::span<std::int64_t> gathered) {
  for (const Arena::Backing backing : {Arena::Backing::nameless, Arena::Backing::named}) {
    std::unique_ptr<Arena> arena = try_arena(backing, gathered);
    const std::int64_t mine = arena ? inbox_in(*arena) : 0;
    const std::span<std::int64_t> joined = gathered.first(static_cast<std::size_t>(size_));
    allgather(handle_, std::span(&mine, 1), joined);
    if (arena) arena->seal();
    note_joined(joined, std::move(arena));
    if (std::ranges::all_of(joined, [](std::int64_t has) { return has != 0; })) break;
  }
  if (arena_) arena_fault_ = missing();
  if (is_yes(environment_value("vicinal_shared_memory").value_or(""))) {
    warn_of_shared_memory("VICINAL_SHARED_MEMORY is '1'");
  }
}

void Communicator::note_joined(std::span<const std::int64_t> joined, std::unique_ptr<Arena> arena) {
  std::map<int, int> now, before;  // ranks of a node that share memory
  for (std::size_t rank = 0; rank < joined.size(); ++rank) {
    const int node = places_.node_of[rank];
    if (joined[rank] != 0) ++now[node];
    if (host_of_[rank] == node) ++before[node];
  }
  for (std::size_t rank = 0; rank < joined.size(); ++rank) {
    const int node = places_.node_of[rank];
    if (now[node] <= before[node]) continue;
    host_of_[rank] = joined[rank] != 0 ? node : size_ + static_cast<int>(rank);
  }
  const int own = places_.node_of[static_cast<std::size_t>(rank_)];
  if (now[own] <= before[own]) return;
  arena_ = std::move(arena);
  std::vector<std::int64_t> inboxes(joined.size());
  for (std::size_t rank = 0; rank < inboxes.size(); ++rank) {
    const bool has_inbox = places_.node_of[rank] == own && joined[rank] != no_inbox;
    if (arena_ != nullptr && has_inbox) inboxes[rank] = joined[rank];
  }
  mailbox_->share_memory(arena_, inboxes);
}

void Communicator::warn_of_shared_memory(const char* asked) const {
  if (rank_ != 0) return;
  std::vector<int> ranks_of(places_.node_of.size()), sharing(places_.node_of.size());  // by node
  for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
    const int node = places_.node_of[rank];
    ++ranks_of[static_cast<std::size_t>(node)];
    if (host_of_[rank] == node) ++sharing[static_cast<std::size_t>(node)];
  }
  int without = 0;
  bool own_node = false;
  for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
    const int node = places_.node_of[rank];
    const bool shares = host_of_[rank] == node && sharing[static_cast<std::size_t>(node)] > 1;
    if (shares || ranks_of[static_cast<std::size_t>(node)] == 1) continue;
    ++without;
    own_node = own_node || node == places_.node_of.front();
  }
  if (without == 0) return;
  warn_once(asked, ", but of ", size_, " ranks ", without,
            " share no memory with others of their node",
            own_node ? ": " + arena_fault_ : "; VICINAL_LOG=info has them say why");
}

void Communicator::log_places() const {
  log_line(LogLevel::info, [&](std::ostream& line) {
    const std::set<int> nodes(places_.node_of.begin(), places_.node_of.end());
    line << "communicator " << number_ << ": rank " << rank_ << " of " << size_ << ", on "
         << nodes.size() << (nodes.size() == 1 ? " node" : " nodes");
    const CoreShare& share = places_.core_share_of[static_cast<std::size_t>(rank_)];
    if (share.is_crowded()) {
      line << "; " << share.cores / share.ranks << " of a core for each rank of this one";
    }
    if (!arena_fault_.empty()) line << "; shared memory: " << arena_fault_;
  });
}

std::string Communicator::missing() const {
  const int own = places_.node_of[static_cast<std::size_t>(rank_)];
  std::string ranks;
  for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
    if (places_.node_of[rank] == own && host_of_[rank] != own) ranks += ' ' + std::to_string(rank);
  }
  return ranks.empty() ? ranks : "of this node's ranks, these could not join:" + ranks;
}

std::unique_ptr<Arena> Communicator::try_arena(Arena::Backing backing,
                                               std::span<std::int64_t> gathered) {
  const int creator = places_.node_of[static_cast<std::size_t>(rank_)];
  int members = 0;
  int index = 0;
  for (int rank = 0; rank < size_; ++rank) {
    if (places_.node_of[static_cast<std::size_t>(rank)] != creator) continue;
    if (rank == rank_) index = members;
    ++members;
  }
  std::unique_ptr<Arena> arena;
  std::array<std::int64_t, invitation_words> sent{};
  try {
    if (rank_ == creator && share_memory_) {
      arena = Arena::create(members, backing);
      const Arena::Invitation invitation = arena->invitation();
      std::memcpy(sent.data(), &invitation, sizeof(invitation));
    }
  } catch (const std::exception& error) {
    arena_fault_ = error.what();
  }
  const std::span<std::int64_t> all =
      gathered.first(invitation_words * static_cast<std::size_t>(size_));
  allgather(handle_, sent, all);
  if (rank_ == creator || !share_memory_) return arena;
  Arena::Invitation invitation;
  std::memcpy(static_cast<void*>(&invitation),
              &all[static_cast<std::size_t>(creator) * invitation_words], sizeof(invitation));
  try {
    if (invitation.size > 0) return Arena::attach(invitation, index, members);
    arena_fault_ = "the lowest rank of the node could not create it";
  } catch (const std::exception& error) {
    arena_fault_ = error.what();
  }
  return nullptr;
}

}  // namespace vicinal::mpi

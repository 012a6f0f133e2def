// What the library keeps for a communicator of the user's: a private duplicate, so that no message
// of ours can meet one of theirs; where its ranks live; an arena for each host; tags and mail. It
// is made once, when the first graph is, and then found as an attribute of the user's communicator.
// Graphs and requests share in it, so the user may free the communicator before them. When the last of
// them lets go, freeing the duplicate is left to later calls; nobody waits for the other ranks.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/number_pool.hpp"
#include "base/setting.hpp"
#include "locality/machine.hpp"
#include "memory/arena.hpp"
#include "mpi/mailbox.hpp"

namespace vicinal::mpi {

/// Tags that no plan uses.
enum ReservedTag : int {
  tag_mailbox = 0,
  tag_discovery_even = 1,  ///< discovery takes these two in turn
  tag_discovery_odd = 2,
  tag_check = 4,
  tag_allgather = 5,
  // Sparse exchanges (src/discovery).
  tag_counts = 16,     ///< sums of counts
  tag_consensus = 17,  ///< between the captains of regions
  tag_region = 18,     ///< four: inside a region, two stages of two exchanges in turn
  tag_straight = 22,   ///< payloads too large to be relayed
  tag_reply = 23,      ///< answers to those who asked
  reserved_tags = 32,
};

/// How many executions of one plan may be in flight, each with a tag of its own.
constexpr int channels_per_plan = most_in_flight;

/// How far apart the first graphs of two communicators are numbered.
constexpr std::int64_t graphs_per_communicator = std::int64_t{1} << 32U;

class Communicator;

/// Tags for the messages of calls that have no plan. They follow from the graph's number, so nobody has
/// to be told; no other live graph of this rank on the communicator has them.
class GraphTags {
 public:
  static constexpr int kinds = 4;  ///< of calls
  static constexpr int turns = 8;  ///< calls of a kind that are told apart

  /// A memory fault where a graph that is still alive has the same tags.
  GraphTags(std::shared_ptr<Communicator> communicator, std::int64_t graph);
  GraphTags(const GraphTags&) = delete;
  GraphTags& operator=(const GraphTags&) = delete;
  ~GraphTags();
  [[nodiscard]] int tag(int kind, int turn) const { return first_ + kind * turns + turn; }

 private:
  std::shared_ptr<Communicator> communicator_;
  std::int64_t number_ = 0;
  int first_ = 0;
};

class Communicator {
 public:
  /// Collective over `user` the first time, then local. Throws a communicator fault for
  /// MPI_COMM_NULL and inter-communicators.
  static std::shared_ptr<Communicator> of(MPI_Comm user);

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// Whose error handler hears of faults: the user's communicator; once it is freed, one that returns
  /// errors as it did, or MPI_COMM_NULL where it did otherwise.
  [[nodiscard]] MPI_Comm judge() const { return judge_.load(std::memory_order_relaxed); }
  /// The user's communicator is about to be freed. Called by MPI.
  void user_freed(MPI_Comm user) noexcept;

  /// The private duplicate: same group, own context, MPI_ERRORS_RETURN.
  [[nodiscard]] MPI_Comm handle() const { return handle_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  [[nodiscard]] const DetectedPlaces& places() const { return places_; }

  /// Regions as the text says (see read_regions). An empty text means the environment variable
  /// VICINAL_REGIONS as it was when the communicator was first used, else what set_regions was
  /// given, else "node". Local; all ranks must give the same text.
  std::shared_ptr<const Machine> machine(std::string_view regions = {});
  /// The default for machine(); checked at once. Local; all ranks must give the same text.
  void set_regions(std::string_view text);
  [[nodiscard]] std::string default_regions();

  /// Shared by the ranks of this host; null where there is none, and then no other rank is on this
  /// rank's host as machine() tells it.
  [[nodiscard]] Arena* arena() const { return arena_.get(); }
  [[nodiscard]] int arena_index() const { return arena_ ? arena_->index() : 0; }
  /// Why this rank, or another of its node, hands over by messages what could go through shared memory;
  /// "" where none is known to.
  [[nodiscard]] const std::string& arena_fault() const {
    return out_of_room_.load(std::memory_order_acquire) ? room_fault_ : arena_fault_;
  }
  /// Warns that somebody has asked for shared memory, in what words, where ranks of a node do without; the
  /// lowest rank does so.
  void warn_of_shared_memory(const char* asked) const;
  /// The arena had no room for something that now goes by messages.
  void note_lack_of_room() noexcept;

  [[nodiscard]] Mailbox& mailbox() { return *mailbox_; }

  /// A number that no live plan of this rank on this communicator uses, and that has been out of
  /// use for as long as possible. Throws a memory fault when all are in use.
  std::int64_t acquire_tag();
  void release_tag(std::int64_t tag);
  /// How many numbers there are.
  [[nodiscard]] std::int64_t tag_limit() const { return plan_tags_.limit(); }
  /// The MPI tag of a number, channel and direction.
  [[nodiscard]] static int data_tag(std::int64_t tag, int channel, bool reverse) {
    return static_cast<int>(reserved_tags + (tag * channels_per_plan + channel) * 2 +
                            (reverse ? 1 : 0));
  }

  /// The same on all ranks when graphs are created in the same order, as they must be; and used by no
  /// other communicator of this process, so that a letter that comes late meets nobody.
  std::int64_t next_graph_id();

  /// This rank has left exchanges that other ranks may still be in, so that messages may be under way to
  /// it that nobody will receive. The duplicate is freed the later for it.
  void keep_for_good() noexcept { troubled_ = true; }

  /// Which of two tags the next exchange of discovery takes, 0 or 1; the same on all ranks, since
  /// those are collective.
  int next_discovery_turn();

  /// What another layer keeps with the communicator under this name; empty at first. It is destroyed
  /// before the arena. Not for several threads at once.
  std::shared_ptr<void>& kept(const std::string& name) { return kept_[name]; }
  /// The same of what holds on to this communicator itself, until the user frees theirs.
  std::shared_ptr<void>& kept_until_freed(const std::string& name) {
    return kept_until_freed_[name];
  }

  /// Frees the duplicate at once, for the end of MPI. Everything else stays usable.
  void close() noexcept;

 private:
  friend class GraphTags;

  Communicator();
  void make(MPI_Comm user);
  /// Tells all ranks where each of them lives, and makes sure that they agree on what must be the
  /// same. Returns the highest of the numbers that the ranks give.
  std::int64_t learn_places(std::int64_t number);
  /// Makes the arena of the host, and tells all ranks who could join theirs.
  void join_host();
  /// An arena of this rank's host, made by the host's lowest rank; null where this rank cannot join.
  std::unique_ptr<Arena> try_arena(Arena::Backing backing);
  /// What the log says of the communicator once it is made.
  void log_places() const;
  /// Which ranks of this rank's node share no memory with it, in words; "" where all do.
  [[nodiscard]] std::string missing() const;
  friend void describe_communicators(std::ostream& out);
  /// What is done with a communicator when its last owner lets go.
  static void retire(Communicator* unused) noexcept;
  /// Hands the duplicate over to be freed when all ranks have let go of it.
  void begin_retirement();
  std::shared_ptr<const Machine> machine_of(std::string_view regions);

  MPI_Comm handle_ = MPI_COMM_NULL;
  bool share_memory_ = true;  ///< wanted by all ranks of the host
  std::atomic<MPI_Comm> judge_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
  DetectedPlaces places_;
  std::vector<int> host_of_;
  std::unique_ptr<Arena> arena_;
  std::string arena_fault_;
  std::string room_fault_;  ///< written once, before the next says so
  std::atomic<bool> out_of_room_ = false;
  std::atomic<bool> joined_ = false;  ///< the arena and what is known of it will not change
  std::unique_ptr<Mailbox> mailbox_;
  std::map<std::string, std::shared_ptr<void>> kept_;
  std::map<std::string, std::shared_ptr<void>> kept_until_freed_;

  std::mutex mutex_;
  std::string default_regions_ = "node";
  bool regions_forced_ = false;  ///< by the environment
  std::map<std::string, std::shared_ptr<const Machine>, std::less<>> machines_;
  NumberPool plan_tags_;
  std::int64_t graph_limit_ = 0;  ///< how many graphs have tags of their own
  std::unordered_set<std::int64_t> live_graphs_;
  std::int64_t graphs_ = 0;  ///< the next graph's number
  std::atomic<bool> troubled_ = false;
  bool discovery_odd_ = false;
};

/// Writes a line for each communicator on which ranks of this node do not share memory.
void describe_communicators(std::ostream& out);

}  // namespace vicinal::mpi

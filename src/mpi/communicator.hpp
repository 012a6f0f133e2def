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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/number_pool.hpp"
#include "base/setting.hpp"
#include "locality/machine.hpp"
#include "memory/arena.hpp"
#include "mpi/extensions.hpp"
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
  tag_consensus = 17,  ///< between region leaders
  tag_region = 18,     ///< four: inside a region, two stages of two exchanges in turn
  tag_straight = 22,   ///< payloads too large to be relayed
  tag_reply = 23,      ///< answers to those who asked

  tag_calibration = 24,  ///< four, of src/choose: what is timed, answers, orders, what queues up
  tag_trial = 28,        ///< of device_pointers.cpp, to oneself
  reserved_tags = 32,
};

/// How many executions of one plan may be in flight, each with a tag of its own.
constexpr int channels_per_plan = most_in_flight;

/// How far apart the first graphs of two communicators are numbered.
constexpr std::int64_t graphs_per_communicator = std::int64_t{1} << 32U;

/// How far apart the conversations about one plan are numbered: beyond are those of its candidates.
constexpr std::int64_t plans_per_graph = std::int64_t{1} << 32U;

/// How many MPI tags are given at a time to messages that have no plan.
constexpr int planless_block = 48;

class Retirement;

class Communicator {
 public:
  /// Collective over `user` the first time, then local. Throws a communicator fault for
  /// MPI_COMM_NULL and inter-communicators; where a rank cannot, for want of memory say, on all of them.
  static std::shared_ptr<Communicator> of(MPI_Comm user);
  /// What of() has made; null where nothing is made yet. Local.
  static std::shared_ptr<Communicator> known(MPI_Comm user) noexcept;

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// Whose error handler hears of faults: the user's communicator; once it is freed, one that returns
  /// errors where the last call of of() has found it to do so, else MPI_COMM_NULL.
  [[nodiscard]] MPI_Comm error_communicator() const {
    return error_communicator_.load(std::memory_order_relaxed);
  }
  /// The user's communicator is about to be freed. Called by MPI: it calls nothing of MPI's.
  void user_freed() noexcept;
  /// Destroys what extension_until_freed() has made.
  void clear_until_freed() { until_freed_.clear(); }

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
  [[nodiscard]] std::int64_t tags_in_use() const {
    const Lock lock(mutex_);
    return plan_tags_.in_use();
  }
  /// How many numbers there are.
  [[nodiscard]] std::int64_t tag_limit() const {
    const Lock lock(mutex_);
    return plan_tags_.limit();
  }
  /// The MPI tags behind those of plans are for messages that have no plan: how many blocks of
  /// `planless_block` there are, and the first tag of each.
  [[nodiscard]] std::int64_t planless_blocks() const { return planless_blocks_; }
  [[nodiscard]] int planless_tag(std::int64_t block) const {
    return data_tag(tag_limit(), 0, false) + static_cast<int>(block * planless_block);
  }
  /// The MPI tag of a number, channel and direction.
  [[nodiscard]] static int data_tag(std::int64_t tag, int channel, bool reverse) {
    return static_cast<int>(reserved_tags + (tag * channels_per_plan + channel) * 2 +
                            (reverse ? 1 : 0));
  }

  /// The same on all ranks, and higher than that of any communicator before it on any of them.
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// How many graphs there have been, by those who count each with this.
  std::int64_t count_graph() noexcept { return graphs_++; }

  /// This rank has left exchanges that other ranks may still be in, so that messages may be under way to
  /// it that nobody will receive. The duplicate is freed the later for it.
  void keep_for_good() noexcept { troubled_ = true; }

  /// What another layer keeps with the communicator. It is destroyed before the arena.
  template <class T>
  T& extension() {
    return extensions_.of<T>();
  }
  /// The same of what holds on to this communicator itself, until the user frees theirs.
  template <class T>
  T& extension_until_freed() {
    return until_freed_.of<T>();
  }

  /// A session of the program ends: what can be freed of communicators is. Where it is the last one and there is no MPI_COMM_WORLD,
  /// all ends, until there is another session.
  static void end_session() noexcept;
  /// Frees the duplicate at once, for the end of MPI. Everything else stays usable.
  void close() noexcept;

 private:
  Communicator();
  /// `gathered`: room for what ranks tell each other, `words_gathered` for each. A fault that befalls this rank alone is
  /// noted; who has one goes on taking part, or all throw.
  void make(MPI_Comm user, std::span<std::int64_t> gathered, std::optional<Error>& fault);
  static const std::size_t words_gathered;
  /// Tells all ranks where each of them lives, and makes sure that they agree on what must be the
  /// same. Returns the highest of the numbers that the ranks give.
  std::int64_t learn_places(std::int64_t number, std::span<std::int64_t> gathered);
  /// Makes the arena of the host, and tells all ranks who could join theirs.
  void join_host(std::span<std::int64_t> gathered, std::optional<Error>& fault);
  /// An arena of this rank's host, made by the host's lowest rank; null where this rank cannot join.
  std::unique_ptr<Arena> try_arena(Arena::Backing backing, std::span<std::int64_t> gathered);
  /// Takes note of who has joined this rank's arena, where it has one.
  void note_joined(std::span<const std::int64_t> joined, std::unique_ptr<Arena> arena);
  /// What the log says of the communicator once it is made.
  void log_places() const;
  /// Which ranks of this rank's node share no memory with it, in words; "" where all do.
  [[nodiscard]] std::string missing() const;
  friend void describe_communicators(std::ostream& out);
  /// Notes whether errors are returned on the user's communicator.
  void note_error_handler(MPI_Comm user) noexcept;
  /// What is done with a communicator when its last owner lets go.
  static void retire(Communicator* unused) noexcept;
  /// Hands the duplicate over to be freed when all ranks have let go of it; null where it is freed already.
  std::shared_ptr<Retirement> begin_retirement();
  std::shared_ptr<const Machine> machine_of(std::string_view regions) VICINAL_REQUIRES(mutex_);

  MPI_Comm handle_ = MPI_COMM_NULL;
  bool share_memory_ = true;  ///< wanted by all ranks of the host
  std::atomic<MPI_Comm> error_communicator_ = MPI_COMM_NULL;
  std::atomic<bool> errors_return_ = false;
  int rank_ = 0;
  int size_ = 0;
  DetectedPlaces places_;
  std::vector<int> host_of_;
  std::shared_ptr<Arena> arena_;
  std::string arena_fault_;
  std::string room_fault_;  ///< written once, before the next says so
  std::atomic<bool> out_of_room_ = false;
  std::atomic<bool> joined_ = false;  ///< the arena and what is known of it will not change
  std::unique_ptr<Mailbox> mailbox_;
  Extensions extensions_;
  Extensions until_freed_;

  mutable Mutex mutex_;
  std::string default_regions_ VICINAL_GUARDED_BY(mutex_) = "node";
  bool regions_forced_ VICINAL_GUARDED_BY(mutex_) = false;  ///< by the environment
  std::map<std::string, std::shared_ptr<const Machine>, std::less<>> machines_
      VICINAL_GUARDED_BY(mutex_);
  NumberPool plan_tags_ VICINAL_GUARDED_BY(mutex_);
  std::int64_t planless_blocks_ = 0;
  std::int64_t number_ = 0;
  std::atomic<std::int64_t> graphs_ = 0;
  std::atomic<bool> troubled_ = false;
};

/// Writes a line for each communicator on which ranks of this node do not share memory.
void describe_communicators(std::ostream& out);

}  // namespace vicinal::mpi

// The library's state for a user's communicator: where its ranks live, an arena for each host, tags
// and the mailbox. A private communicator ensures that its messages never match the user's. The
// state is made once, together with the first graph, and then found as an attribute of the user's
// communicator.
//
// Graphs and requests share its ownership, so the user may free the communicator before them. After
// the last owner releases it, later calls free the private communicator; no rank waits for others.
//
// A call that waits describes the messages that have arrived for another call. They tell in which
// call the other ranks are.
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
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/number_pool.hpp"
#include "base/setting.hpp"
#include "locality/machine.hpp"
#include "memory/arena.hpp"
#include "mpi/backoff.hpp"
#include "mpi/mailbox.hpp"

namespace vicinal::mpi {

/// Objects that other layers keep with a communicator: one object of each type, constructed on
/// first use. A layer uses a type that no other layer names, with a default constructor.
///
/// Thread-safe: any thread may ask at any time, and gets the same object. Access to that object is
/// not synchronized.
class Extensions {
 public:
  /// Returns the object of type T. Its address is stable until clear().
  template <class T>
  T& of() {
    const Lock lock(mutex_);
    std::shared_ptr<void>& place = kept_[typeid(T)];
    if (!place) place = std::make_shared<T>();
    return *static_cast<T*>(place.get());
  }
  /// Destroys all objects, without the lock held: their destructors may call of().
  void clear() {
    decltype(kept_) last;  // destroyed after the lock
    const Lock lock(mutex_);
    last.swap(kept_);
  }

 private:
  Mutex mutex_;
  std::map<std::type_index, std::shared_ptr<void>> kept_ VICINAL_GUARDED_BY(mutex_);
};

/// Tags that no plan uses.
enum ReservedTag : int {
  tag_mailbox = 0,
  tag_discovery_even = 1,  ///< discovery alternates between these two
  tag_discovery_odd = 2,
  tag_check = 4,
  tag_allgather = 5,
  // Sparse exchanges (src/discovery).
  tag_counts = 16,     ///< sums of counts
  tag_consensus = 17,  ///< between region leaders
  tag_region = 18,     ///< four: two stages inside a region, two alternating exchanges each
  tag_straight = 22,   ///< payloads too large to be relayed
  tag_reply = 23,      ///< answers to requests

  tag_calibration = 24,  ///< four, of src/choose: timed messages, answers, orders, queued messages
  tag_trial = 28,        ///< of device_pointers.cpp, to the own rank
  reserved_tags = 32,
};

/// Number of executions of one plan that may be in flight, each with its own tag.
constexpr int channels_per_plan = most_in_flight;

/// Distance between the first graph numbers of two communicators.
constexpr std::int64_t graphs_per_communicator = std::int64_t{1} << 32U;

/// Distance between the sequence numbers of a plan's own conversation and of its candidates'
/// conversations.
constexpr std::int64_t plans_per_graph = std::int64_t{1} << 32U;

/// Number of MPI tags allocated at a time to messages without a plan.
constexpr int planless_block = 48;

class Retirement;

class Communicator {
 public:
  /// Returns the library's communicator for `user`. Collective over `user` the first time, then
  /// local. Throws a communicator fault for MPI_COMM_NULL and inter-communicators. If environments
  /// differ, or one cannot be read, all ranks throw.
  static std::shared_ptr<Communicator> of(MPI_Comm user);
  /// Returns what of() has made; null if nothing is made yet. Local.
  static std::shared_ptr<Communicator> known(MPI_Comm user) noexcept;

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// Returns the communicator whose error handler receives faults. It is the user's until that is
  /// freed. Then it is the private one if the last of() found that the user's returns errors, else
  /// MPI_COMM_NULL.
  [[nodiscard]] MPI_Comm error_communicator() const {
    return error_communicator_.load(std::memory_order_relaxed);
  }
  /// Records that the user's communicator is about to be freed. Called by MPI, so it calls no MPI
  /// function.
  void user_freed() noexcept;
  /// Destroys the objects that extension_until_freed() has made.
  void clear_until_freed() { until_freed_.clear(); }

  /// The private communicator: same group, own context, MPI_ERRORS_RETURN.
  [[nodiscard]] MPI_Comm handle() const { return handle_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  [[nodiscard]] const DetectedPlaces& places() const { return places_; }

  /// Returns the machine with regions as the text says (see read_regions). An empty text means
  /// VICINAL_REGIONS as it was when the communicator was first used, else the text of
  /// set_regions(), else "node". Local; all ranks must give the same text.
  std::shared_ptr<const Machine> machine(std::string_view regions = {});
  /// Sets the default for machine() and checks it at once. Local; all ranks must give the same
  /// text.
  void set_regions(std::string_view text);
  [[nodiscard]] std::string default_regions();

  /// The arena shared by the ranks of this host; null if there is none. Then machine() places no
  /// other rank on this rank's host.
  [[nodiscard]] Arena* arena() const { return arena_.get(); }
  [[nodiscard]] int arena_index() const { return arena_ ? arena_->index() : 0; }
  /// Tells why this rank, or another of its node, uses messages where shared memory could serve.
  /// Returns "" if none is known to do so.
  [[nodiscard]] const std::string& arena_fault() const {
    return out_of_room_.load(std::memory_order_acquire) ? room_fault_ : arena_fault_;
  }
  /// Warns, on the lowest rank, if ranks of a node run without the shared memory that was
  /// requested. `asked` is the request in words.
  void warn_of_shared_memory(const char* asked) const;
  /// Records that something goes by messages because the arena had no room for it.
  void note_lack_of_room() noexcept;

  [[nodiscard]] Mailbox& mailbox() { return *mailbox_; }

  /// Returns a tag that no live plan of this rank on this communicator uses, the longest unused
  /// one. Throws a memory fault if all are in use.
  std::int64_t acquire_tag();
  void release_tag(std::int64_t tag);
  [[nodiscard]] std::int64_t tags_in_use() const {
    const Lock lock(mutex_);
    return plan_tags_.in_use();
  }
  /// Number of tags for plans.
  [[nodiscard]] std::int64_t tag_limit() const {
    const Lock lock(mutex_);
    return plan_tags_.limit();
  }
  /// The MPI tags above those of plans serve messages without a plan: the number of blocks of
  /// `planless_block` tags, and the first tag of each.
  [[nodiscard]] std::int64_t planless_blocks() const { return planless_blocks_; }
  [[nodiscard]] int planless_tag(std::int64_t block) const {
    return data_tag(tag_limit(), 0, false) + static_cast<int>(block * planless_block);
  }
  /// The MPI tag of a plan's tag, channel and direction.
  [[nodiscard]] static int data_tag(std::int64_t tag, int channel, bool reverse) {
    return static_cast<int>(reserved_tags + (tag * channels_per_plan + channel) * 2 +
                            (reverse ? 1 : 0));
  }

  /// Number of this communicator: identical on all ranks, and higher than that of any earlier
  /// communicator on any of them.
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Returns the number of graphs counted before, and counts one more.
  std::int64_t count_graph() noexcept { return graphs_++; }

  /// Records that this rank has left exchanges that other ranks may still be in. Messages to it may
  /// then never be received, so the private communicator is freed later.
  void keep_for_good() noexcept { troubled_ = true; }

  /// Object that another layer keeps with the communicator. It is destroyed before the arena.
  template <class T>
  T& extension() {
    return extensions_.of<T>();
  }
  /// As extension(), for an object that owns this communicator: it lasts until the user frees
  /// theirs.
  template <class T>
  T& extension_until_freed() {
    return until_freed_.of<T>();
  }

  /// Ends a session of the program: frees what can be freed of communicators. If it is the last
  /// session and there is no MPI_COMM_WORLD, closes everything until another session opens.
  static void end_session() noexcept;
  /// Frees the private communicator at once, for the end of MPI. Everything else stays usable.
  void close() noexcept;

 private:
  Communicator();
  /// `gathered` is a buffer of `words_gathered` words for each rank.
  void make(MPI_Comm user, std::span<std::int64_t> gathered);
  static const std::size_t words_gathered;
  /// Exchanges where each rank lives, and checks that the ranks agree on what must be identical.
  /// Returns the highest of the numbers that the ranks give.
  std::int64_t learn_places(std::int64_t number, std::span<std::int64_t> gathered);
  /// Makes the arena of the host, and exchanges which ranks could join theirs.
  void join_host(std::span<std::int64_t> gathered);
  /// Returns an arena of this rank's host, made by the host's lowest rank; null if this rank cannot
  /// join.
  std::unique_ptr<Arena> try_arena(Arena::Backing backing, std::span<std::int64_t> gathered);
  /// Records which ranks have joined the arena of their node.
  void note_joined(std::span<const std::int64_t> joined, std::unique_ptr<Arena> arena);
  /// Logs the communicator once it is made.
  void log_places() const;
  /// Lists the ranks of this rank's node that share no memory with it, in words; "" if all do.
  [[nodiscard]] std::string missing() const;
  friend void describe_communicators(std::ostream& out);
  /// Records whether errors are returned on the user's communicator.
  void note_error_handler(MPI_Comm user) noexcept;
  /// Deleter of the owning pointers: defers the freeing of a communicator without owners.
  static void retire(Communicator* unused) noexcept;
  /// Hands the private communicator over, to be freed when all ranks have released it; null if it
  /// is freed already.
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
  std::string room_fault_;  ///< written once, before out_of_room_ is set
  std::atomic<bool> out_of_room_ = false;
  std::atomic<bool> joined_ = false;  ///< the arena will not change any more
  std::unique_ptr<Mailbox> mailbox_;
  Extensions extensions_;
  Extensions until_freed_;

  mutable Mutex mutex_;
  std::string default_regions_ VICINAL_GUARDED_BY(mutex_) = "node";
  bool regions_forced_ VICINAL_GUARDED_BY(mutex_) = false;  ///< set by the environment
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

/// Describes the messages that a call of the program waits for.
struct OwnTraffic {
  /// Control messages of this graph and sequence are its own.
  ConversationKey key;
  bool is_all = false;  ///< it waits for control messages only
};

/// Continues a sentence: "; rank 3 has sent a control message for the creation of a graph", and so
/// on. Writes nothing if no message of another call has arrived. Receives control messages that
/// have arrived.
void describe_arrivals(Communicator& communicator, const OwnTraffic& own, std::ostream& out);

/// Registers a call of the program on a communicator, as long as the object lives: see Doing.
class NamedCall {
 public:
  NamedCall(Communicator& communicator, const char* what, OwnTraffic own = {})
      : describe_{&communicator, own}, doing_(what, describe_) {}

 private:
  struct Describe {
    Communicator* communicator;
    OwnTraffic own;
    void operator()(std::ostream& out) const { describe_arrivals(*communicator, own, out); }
  };
  const Describe describe_;
  const Doing doing_;
};

}  // namespace vicinal::mpi

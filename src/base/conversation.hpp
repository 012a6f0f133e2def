// Planners exchange control messages with other ranks while they build. A planner is a coroutine
// that yields an outbox and receives an inbox, so a negotiation over several supersteps reads as
// straight-line code. Two drivers can run it: MPI (one coroutine per process), and thousands of
// virtual ranks in one process (interleaved coroutines). A rank states in advance how many messages
// it expects; no superstep is a barrier. describe_wait() says which ranks a waiting rank waits for.
//
// Control messages are named records (records.hpp). The first word of a message is a hash of the
// record's name. Readers check it, so that no message is mistaken for another kind.
//
//   struct Offer { static constexpr std::string_view name = "offer"; ... };
//   outbox.push_back(message_to(peer, Offer{...}));
//   open<Offer, Expectation>(message, Either{[&](Offer offer) {...},
//                                            [&](Expectation expectation) {...}});
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/records.hpp"
#include "base/runs.hpp"

namespace vicinal {

struct ControlMessage {
  int peer = 0;  ///< the receiver (outbox) or the sender (inbox)
  Words words;
  int ahead = 0;  ///< in an outbox: read this many supersteps later
};

/// Describes the missing senders, given the control messages of the superstep that have arrived. It
/// may use local variables of the waiting coroutine, so it is called only while that coroutine is
/// suspended.
using Missing = std::function<std::string(std::span<const ControlMessage> arrived)>;

/// The control messages that a rank expects in a superstep. Each sender is named once per message.
/// Where the senders cannot be known, the rank gives a count and a function that describes the
/// missing ones. The first word of a control message tells its kind (kind_of).
class Expected {
 public:
  static constexpr std::int64_t any_kind = -1;

  Expected() = default;
  /// Expects messages from `senders`; described as "rank 1's and rank 5's summaries" while missing.
  Expected(std::vector<int> senders, std::string_view what) {
    add(any_kind, std::move(senders), what);
  }
  Expected(int sender, std::string_view what) : Expected(std::vector<int>(1, sender), what) {}
  void add(std::int64_t kind, std::vector<int> senders, std::string_view what);
  /// Expects `count` messages from unknown senders. `missing` receives the arrived messages of this
  /// kind.
  void add_unnamed(std::int64_t kind, std::size_t count, Missing missing);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Returns whether all senders are named and `is` holds for each.
  template <class Is>
  [[nodiscard]] bool comes_from_all(Is is) const {
    return senders_.size() == count_ && std::ranges::all_of(senders_, is);
  }
  [[nodiscard]] std::string missing(std::span<const ControlMessage> arrived) const;

 private:
  struct Group {
    std::int64_t kind;
    Missing missing;
  };
  std::vector<Group> groups_;
  std::vector<int> senders_;  ///< the named ones
  std::size_t count_ = 0;
};

/// Results that the ranks of one process compute identically. A result is kept while some rank uses
/// it.
class SharedFindings {
 public:
  using Key = std::tuple<std::type_index, int, std::int64_t>;

  /// Returns the kept result of this key, or computes it with `make`.
  template <class T, class Make>
  std::shared_ptr<const T> once(int superstep, std::int64_t group, Make make) {
    std::weak_ptr<const void>& kept = kept_[Key(typeid(T), superstep, group)];
    if (const auto known = kept.lock()) return std::static_pointer_cast<const T>(known);
    auto made = std::make_shared<const T>(make());
    kept = made;
    return made;
  }

 private:
  std::map<Key, std::weak_ptr<const void>> kept_;
};

/// A rank's interface to the driver that runs it.
class Conversation {
 public:
  struct Pending {
    std::vector<ControlMessage> outbox;
    Expected expected;
    std::vector<ControlMessage> inbox;  ///< filled by the driver, ordered by sender, then as sent
    std::string_view purpose;           ///< subject of the conversation: "planning aggregate"
  };

  class Superstep {
   public:
    Superstep(Conversation& conversation) : conversation_(conversation) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) { conversation_.waiting_ = handle; }
    std::vector<ControlMessage> await_resume() { return std::move(conversation_.pending_.inbox); }

   private:
    Conversation& conversation_;
  };

  /// Sends the outbox. The coroutine resumes when the expected control messages of this superstep
  /// have arrived.
  Superstep exchange(std::vector<ControlMessage> outbox, Expected expected = {}) {
    messages_sent_ += outbox.size();
    pending_ = {std::move(outbox), std::move(expected), {}, purpose_};
    ++superstep_;
    return Superstep(*this);
  }

  /// Skips supersteps in which this rank neither sends nor receives a control message.
  void skip(int supersteps) { superstep_ += supersteps; }

  /// Sets the subject that describe_wait() reports: "planning aggregate".
  void set_purpose(std::string purpose) { purpose_ = std::move(purpose); }

  /// Returns a value that all ranks of a group compute identically from the control messages of
  /// this superstep. Ranks in one process share one copy, computed by the first. Thousands of
  /// virtual ranks then need one copy per group.
  template <class T, class Make>
  std::shared_ptr<const T> alike(std::int64_t group, Make make) {
    if (shared_ == nullptr) return std::make_shared<const T>(make());
    return shared_->once<T>(superstep_, group, std::move(make));
  }

  /// Number of control messages that this rank has sent so far.
  [[nodiscard]] std::size_t messages_sent() const { return messages_sent_; }

  // The driver's interface.
  explicit Conversation(SharedFindings* shared = nullptr) : shared_(shared) {}
  [[nodiscard]] bool waiting() const { return static_cast<bool>(waiting_); }
  [[nodiscard]] int superstep() const { return superstep_; }
  [[nodiscard]] Pending& pending() { return pending_; }
  void resume() { std::exchange(waiting_, {}).resume(); }

 private:
  SharedFindings* shared_;
  Pending pending_;
  std::coroutine_handle<> waiting_;
  int superstep_ = -1;
  std::size_t messages_sent_ = 0;
  std::string purpose_;
};

/// Describes what a rank waits for, given the control messages of the superstep that have arrived.
/// Examples: "rank 1's and rank 5's summaries, planning aggregate", or "whoever carries the edges
/// from ranks 3 and 7, planning distance-halving".
std::string describe_wait(const Conversation::Pending& pending,
                          std::span<const ControlMessage> arrived);

/// Text for a Missing function where the carriers of the edges are unknown: "whoever carries the
/// edges from ranks 3 and 7".
std::string carriers_of(std::span<const int> sources);

/// A coroutine that starts immediately, runs to its first exchange, and finally returns a T.
/// Another Task can await it, so a negotiation can be split into functions.
template <class T>
class Task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::exception_ptr error;
    std::coroutine_handle<> continuation;

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
        const auto caller = handle.promise().continuation;
        return caller ? caller : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(T result) { value.emplace(std::move(result)); }
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const { return handle_.done(); }

  /// Returns the result, or rethrows the exception that ended the coroutine.
  T result() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return std::move(*handle_.promise().value);
  }

  // The awaiter interface.
  [[nodiscard]] bool await_ready() const { return handle_.done(); }
  void await_suspend(std::coroutine_handle<> caller) { handle_.promise().continuation = caller; }
  T await_resume() { return result(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Combines several one-argument functions into one overloaded function object.
template <class... Functions>
struct Either : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Either(Functions...) -> Either<Functions...>;

/// Returns the first word of a control message of this name (FNV-1a hash).
constexpr std::int64_t kind_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  return static_cast<std::int64_t>(hash >> 1U);
}

namespace detail {
/// Returns this thread's buffer for its next control message, emptied.
inline Words& empty_draft() {
  constexpr std::size_t usual = 4096;
  thread_local Words draft;
  if (draft.capacity() > usual) Words().swap(draft);
  draft.clear();
  return draft;
}
}  // namespace detail

template <class Contents>
Words words_of(const Contents& contents) {
  // Returns a copy without spare capacity: with many virtual ranks, control messages take most of
  // the memory.
  Words& draft = detail::empty_draft();
  draft.push_back(kind_of(Contents::name));
  WordWriter(draft).write(contents);
  return {draft.begin(), draft.end()};
}

template <class Contents>
ControlMessage message_to(int peer, const Contents& contents) {
  return {peer, words_of(contents)};
}

template <class Contents>
bool holds(const ControlMessage& message) {
  return !message.words.empty() && message.words.front() == kind_of(Contents::name);
}

/// Reads `Contents` from the words that rank `peer` sent. Throws an internal fault if they are
/// another record.
template <class Contents>
Contents contents_of(const Words& words, int peer) {
  require(!words.empty() && words.front() == kind_of(Contents::name), Fault::internal,
          "a control message from rank ", peer, " is no ", Contents::name);
  const std::span<const std::int64_t> all(words);
  WordReader reader(all.subspan(1), Contents::name, peer);
  auto contents = reader.read<Contents>();
  reader.finish();
  return contents;
}
template <class Contents>
Contents contents_of(const ControlMessage& message) {
  return contents_of<Contents>(message.words, message.peer);
}

/// Calls `visit` with the record in a control message. Throws an internal fault if it is none of
/// `Contents`.
template <class... Contents, class Visit>
void open(const ControlMessage& message, Visit&& visit) {
  const bool known =
      ((holds<Contents>(message) && (visit(contents_of<Contents>(message)), true)) || ...);
  require(known, Fault::internal, "a control message from rank ", message.peer,
          " is of no kind that was expected now");
}

}  // namespace vicinal

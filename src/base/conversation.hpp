// Planners ask the other ranks things while they build. They are coroutines that hand over an outbox
// and get back an inbox, so that a negotiation over several supersteps reads as straight-line code,
// and so that two drivers can run it: MPI (one coroutine per process), and thousands of virtual ranks
// in one process (all coroutines interleaved). A rank says beforehand how many messages it expects;
// no superstep is a barrier. Whoever waits can be asked for whom (describe_wait).
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

struct Letter {
  int peer = 0;  ///< whom to, in an outbox; whom from, in an inbox
  Words words;
  int ahead = 0;  ///< in an outbox: it is read so many supersteps later
};

/// Who has not written yet, in words, given the letters of the superstep that are there. It may look
/// at what the waiting coroutine holds, so it is asked only while that waits.
using Missing = std::function<std::string(std::span<const Letter> arrived)>;

/// Whose letters a rank expects in a superstep: of each sender as many as it is named, or, where nobody
/// can know who writes, a number and how to say what is missing. Letters of several kinds (letters.hpp) are
/// told apart by their first word.
class Expected {
 public:
  static constexpr std::int64_t any_kind = -1;

  Expected() = default;
  /// "rank 1's and rank 5's summaries" while those are missing.
  Expected(std::vector<int> senders, std::string_view what) {
    add(any_kind, std::move(senders), what);
  }
  Expected(int sender, std::string_view what) : Expected(std::vector<int>(1, sender), what) {}
  void add(std::int64_t kind, std::vector<int> senders, std::string_view what);
  /// `missing` is given the letters of that kind that are there.
  void add_unnamed(std::int64_t kind, std::size_t count, Missing missing);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Whether all who write are known and are as asked for.
  template <class Is>
  [[nodiscard]] bool comes_from_all(Is is) const {
    return senders_.size() == count_ && std::ranges::all_of(senders_, is);
  }
  [[nodiscard]] std::string missing(std::span<const Letter> arrived) const;

 private:
  struct Group {
    std::int64_t kind;
    Missing missing;
  };
  std::vector<Group> groups_;
  std::vector<int> senders_;  ///< those that are named
  std::size_t count_ = 0;
};

/// What ranks of one process have worked out alike, as long as one of them keeps it.
class SharedFindings {
 public:
  using Key = std::tuple<std::type_index, int, std::int64_t>;

  /// What is kept under the key, or else what `make` gives.
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

/// What a rank offers to the driver that runs it.
class Conversation {
 public:
  struct Pending {
    std::vector<Letter> outbox;
    Expected expected;
    std::vector<Letter> inbox;  ///< filled by the driver, ordered by sender, then as sent
    std::string_view purpose;   ///< what the conversation is about: "planning aggregate"
  };

  class Superstep {
   public:
    Superstep(Conversation& conversation) : conversation_(conversation) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) { conversation_.waiting_ = handle; }
    std::vector<Letter> await_resume() { return std::move(conversation_.pending_.inbox); }

   private:
    Conversation& conversation_;
  };

  /// Sends the outbox, and resumes when the letters of this superstep that are expected are there.
  Superstep exchange(std::vector<Letter> outbox, Expected expected = {}) {
    letters_sent_ += outbox.size();
    pending_ = {std::move(outbox), std::move(expected), {}, purpose_};
    ++superstep_;
    return Superstep(*this);
  }

  /// Passes over supersteps in which this rank neither sends nor gets a letter.
  void skip(int supersteps) { superstep_ += supersteps; }

  /// What it is about, for those who ask whom a rank waits for: "planning aggregate".
  void set_purpose(std::string purpose) { purpose_ = std::move(purpose); }

  /// What all ranks of a group work out alike from the letters of this superstep. Where they are in one process, the
  /// first of them does it for all: thousands of virtual ranks then have one copy for each group.
  template <class T, class Make>
  std::shared_ptr<const T> alike(std::int64_t group, Make make) {
    if (shared_ == nullptr) return std::make_shared<const T>(make());
    return shared_->once<T>(superstep_, group, std::move(make));
  }

  /// What talking has cost this rank so far.
  [[nodiscard]] std::size_t letters_sent() const { return letters_sent_; }

  // For drivers.
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
  std::size_t letters_sent_ = 0;
  std::string purpose_;
};

/// Whom a rank waits for, given the letters of the superstep that have come: "rank 1's and rank 5's
/// summaries, planning aggregate", or "whoever carries the edges from ranks 3 and 7, planning
/// distance-halving".
std::string describe_wait(const Conversation::Pending& pending, std::span<const Letter> arrived);

/// For a Missing where it is not known who carries what is sent along edges: "whoever carries the
/// edges from ranks 3 and 7".
std::string carriers_of(std::span<const int> sources);

/// A coroutine that runs at once up to its first exchange and delivers a T in the end. It may be
/// awaited by another Task, which is how a negotiation is split over functions.
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

  /// The result, or the exception that ended the coroutine.
  T result() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return std::move(*handle_.promise().value);
  }

  // Awaiting a task.
  [[nodiscard]] bool await_ready() const { return handle_.done(); }
  void await_suspend(std::coroutine_handle<> caller) { handle_.promise().continuation = caller; }
  T await_resume() { return result(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace vicinal

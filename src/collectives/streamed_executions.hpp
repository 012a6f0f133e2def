// The executions of a request that streams of a GPU begin, or wait for the end of, with neither the process nor the stream held up
// by the other: whatever progresses, the progress thread above all, looks at the request's gate (memory/kind.hpp), begins what
// the stream has asked for, and opens the gate when that is complete. A stream that is captured into a graph asks, and
// waits, each time that the graph is launched.
#pragma once

#include <atomic>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>

#include "execute/activity.hpp"
#include "memory/kind.hpp"

namespace vicinal {

/// Whose executions they are.
class StreamedOwner {
 public:
  StreamedOwner() = default;
  StreamedOwner(const StreamedOwner&) = delete;
  StreamedOwner& operator=(const StreamedOwner&) = delete;
  virtual ~StreamedOwner() = default;

  virtual void begin_execution() = 0;
  /// For the others' sake only; this rank's part is over then.
  virtual void begin_execution_at_fault() = 0;
  /// True once it is complete. Both throw what it has failed with, and nothing is in flight then.
  virtual bool advance_execution() = 0;
  virtual void name_awaited_by_execution(std::ostream& out) const = 0;
};

class StreamedExecutions final : public Activity {
 public:
  /// Of an owner with nothing in flight, or the execution that it has begun last.
  StreamedExecutions(StreamedOwner& owner, std::unique_ptr<StreamGate> gate);
  StreamedExecutions(const StreamedExecutions&) = delete;
  StreamedExecutions& operator=(const StreamedExecutions&) = delete;
  ~StreamedExecutions() override { leave_dump(); }

  // For the owner. Whoever has called one of the first three has it progressed (activate()).

  /// The stream begins the next execution once it gets there. Throws what the driver fails with; nothing has changed then.
  void begin_from(std::uintptr_t stream);
  /// The next execution begins at fault, for the others' sake, after those before it; the user has been told why.
  void begin_at_fault();
  /// Whether what is put on the stream from now on comes after the owner's execution, which goes on beside it. False where
  /// the driver cannot; nothing has changed then.
  bool take_over(std::uintptr_t stream);
  /// The same for the one that a stream begins.
  bool end_on(std::uintptr_t stream);
  /// Whether none that a stream begins or waits for is left, or under way in a graph. Throws the first fault since this was asked.
  bool test();
  /// Waits until that is so. Throws as test().
  void finish();
  /// The first fault since somebody was told of one.
  [[nodiscard]] std::exception_ptr take_fault();
  [[nodiscard]] bool has_fault() const { return has_fault_.load(std::memory_order_acquire); }
  /// The owner goes, after waiting for what is under way. Not in a process that was forked.
  void end() noexcept;

  /// As far as the owner's user is concerned: not one that a stream waits for.
  [[nodiscard]] bool in_flight() const { return in_flight_.load(std::memory_order_acquire); }
  /// Whether the owner has no say, now or for good.
  [[nodiscard]] bool is_busy() const { return busy_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_capturing(std::uintptr_t stream) const {
    return gate_->is_capturing(stream);
  }
  [[nodiscard]] bool is_captured() const { return captured_.load(std::memory_order_relaxed); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;
  void name_awaited(std::ostream& out);

 private:
  /// Whether one is under way, or may be begun.
  [[nodiscard]] bool goes_on() const { return running_ || captured_ || begun_ != due_; }
  void begin_next();
  void conclude();
  void note(const std::exception_ptr& fault) noexcept;
  void note_state();
  void report_long_wait();
  void write_awaited(std::ostream& out) const;

  /// Beginnings that streams have not come to: a stream takes about a thousand operations, and then has its caller wait.
  static constexpr std::size_t most_ahead = 64;

  StreamedOwner* owner_;  ///< null once it is gone
  std::unique_ptr<StreamGate> gate_;
  std::uint32_t due_ = 0;              ///< executions that were begun or left to streams to begin
  std::uint32_t begun_ = 0;            ///< of these, or more where a graph begins them
  std::uint32_t opened_ = 0;           ///< of the gate, for these
  std::bitset<most_ahead> not_asked_;  ///< by their numbers, those that no stream will ask for
  bool running_ = false;
  bool awaits_end_ = false;       ///< the user has left a beginning to a stream, and no end yet
  std::optional<Beside> beside_;  ///< while anything goes on, or may
  std::optional<Watch> watch_;    ///< while nothing but a stream's asking is awaited
  std::exception_ptr fault_;      ///< the first that nobody has been told of

  std::atomic<bool> in_flight_ = false;
  std::atomic<bool> busy_ = false;
  std::atomic<bool> captured_ = false;
  std::atomic<bool> has_fault_ = false;

  int polls_ = 0;  ///< of the execution under way
  bool reported_ = false;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace vicinal

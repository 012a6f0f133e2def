#include "memory/device/job.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "memory/device/device.hpp"
#include "memory/device/device_memory.hpp"
#include "memory/device/kernels.hpp"

namespace vicinal::device {

namespace {

bool is_the_processors(const Step& step) {
  return std::holds_alternative<HostCopy>(step) || std::holds_alternative<HostReduction>(step);
}

bool is_a_copy_by_a_kernel(const Step& step) {
  const auto* const transfer = std::get_if<Transfer>(&step);
  if (transfer == nullptr) {
    return std::holds_alternative<MoveWords>(step) || std::holds_alternative<MovePieces>(step);
  }
  return transfer->by_kernel && static_cast<std::int64_t>(transfer->bytes) <= most_by_kernel;
}

/// Returns the completion flags; null means that events signal.
std::shared_ptr<const Words> words_or_none(Device& device, DeviceMemory& memory) {
  try {
    return device.batches().words(memory);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

Job::Job(Device& device, DeviceMemory& memory, Script script)
    : device_(device),
      steps_(std::move(script.steps)),
      joins_batches_(steps_.size() == 1 && is_a_copy_by_a_kernel(steps_.front())),
      words_(joins_batches_ ? words_or_none(device, memory) : nullptr),
      pinned_(memory.staging(), script.pinned_bytes),
      scratch_(memory, script.scratch_bytes + script.tables.size()),
      tables_at_(script.scratch_bytes) {
  const Driver& driver = device.driver();
  event_ = device.new_event();
  try {
    if (!script.tables.empty()) fill_tables(script.tables);
  } catch (...) {
    driver.calls.destroy_event.function(event_);
    throw;
  }
}

Job::~Job() {
  drop();
  device_.give_back(device_.driver().calls.destroy_event, event_);
}

void Job::fill_tables(std::span<const std::byte> tables) {
  const Driver& driver = device_.driver();
  void* const stream = device_.set_up_stream();
  try {
    driver.copy(scratch_.data() + tables_at_, tables.data(), tables.size(), stream);
    driver.call(driver.calls.await_stream, stream);
  } catch (...) {
    device_.settle(stream);
    throw;
  }
}

bool Job::begin(const std::byte* from, std::byte* to) {
  from_ = from;
  to_ = to;
  next_ = 0;
  if (joins_batches_) return join_batch(only_move());
  return go_on();
}

bool Job::poll() { return in_batch_.batch != nullptr ? poll_batch() : go_on(); }

bool Job::have_stream_await(std::uintptr_t stream) {
  auto* const waiting = reinterpret_cast<void*>(stream);
  if (in_batch_.batch != nullptr) {
    device_.batches().have_stream_await(*in_batch_.batch, waiting);
    return true;
  }
  // The event follows all steps on the stream, unless the processor has a step to do.
  if (!event_is_set_ || next_ < steps_.size()) {
    return !in_progress_ && next_ == steps_.size();
  }
  const Device::Current current(device_);
  device_.driver().call(device_.driver().calls.have_stream_await, waiting, event_, 0U);
  return true;
}

bool Job::join_batch(const Move& move) {
  const std::size_t threads =
      move.form == Move::Form::pieces ? move.count * Batches::team : move.count << move.parts;
  in_batch_ = device_.batches().add(move, threads, event_);
  next_ = steps_.size();
  was_polled_ = false;
  return false;
}

bool Job::poll_batch() try {
  // The executor launches batches after others have joined. A second poll shows that nobody did, so
  // the job launches its batch itself.
  if (std::exchange(was_polled_, true)) device_.batches().launch();
  const Batches::Place place = std::exchange(in_batch_, {});
  const bool is_over = device_.batches().poll(*place.batch);
  if (!is_over) in_batch_ = place;
  return is_over;
} catch (...) {
  drop();
  throw;
}

void Job::leave_batch() noexcept {
  const Batches::Place place = std::exchange(in_batch_, {});
  if (place.batch != nullptr) device_.batches().leave(place);
}

Move Job::move_of(const MoveWords& step) const {
  Move move{at(step.from), at(step.to), list(step.sources), list(step.targets), step.count};
  const std::int64_t part = common_alignment(step.alignment, move.from, move.to);
  while ((part << move.parts) < step.word_bytes) ++move.parts;
  move.width = static_cast<std::uint8_t>(part);
  move.form = step.offset_bits == 32 ? Move::Form::words32 : Move::Form::words64;
  return move;
}

Move Job::move_of(const MovePieces& step) const {
  Move move{at(step.from), at(step.to), list(step.pieces), nullptr, step.count};
  move.width = static_cast<std::uint8_t>(common_alignment(step.alignment, move.from, move.to));
  move.form = Move::Form::pieces;
  return move;
}

Move Job::only_move() const {
  const Step& step = steps_.front();
  if (const auto* const words = std::get_if<MoveWords>(&step)) return move_of(*words);
  if (const auto* const pieces = std::get_if<MovePieces>(&step)) return move_of(*pieces);
  const auto& transfer = std::get<Transfer>(step);
  return plain_move(at(transfer.from), at(transfer.to), transfer.bytes);
}

bool Job::go_on() try {
  const Device::Current current(device_);
  if (event_is_set_ && !has_happened()) return false;
  for (;;) {
    if (next_ < steps_.size() && !(in_progress_ && is_the_processors(steps_[next_]))) {
      if (!in_progress_ && !is_the_processors(steps_[next_])) stream_ = device_.stream();
      issue(steps_[next_]);
      ++next_;
    } else if (in_progress_) {
      device_.driver().call(device_.driver().calls.record_event, event_, stream_);
      event_is_set_ = true;
      if (!has_happened()) return false;
    } else {
      return true;
    }
  }
} catch (...) {
  drop();
  throw;
}

bool Job::has_happened() {
  const Driver& driver = device_.driver();
  if (!driver.is_done(driver.calls.query_event, event_)) return false;
  in_progress_ = false;
  event_is_set_ = false;
  return true;
}

void Job::drop() noexcept {
  next_ = steps_.size();
  leave_batch();
  // The first failure may belong to another operation. If the device is lost, nothing can be
  // awaited.
  for (int tries = 0; in_progress_ && tries < 2; ++tries) {
    try {
      const Device::Current current(device_);
      if (!event_is_set_ || device_.driver().calls.await_event.function(event_) != success) {
        device_.settle(stream_);
      }
      in_progress_ = false;
    } catch (const std::exception&) {
    }
  }
  in_progress_ = false;
  event_is_set_ = false;
}

std::byte* Job::at(Spot spot) const {
  switch (spot.part) {
    // Nothing writes to the source side.
    case Part::from: return const_cast<std::byte*>(from_) + spot.offset;
    case Part::to: return to_ + spot.offset;
    case Part::scratch: return scratch_.data() + spot.offset;
    case Part::pinned: break;
  }
  return pinned_.data() + spot.offset;
}

const std::byte* Job::list(std::int64_t place) const {
  return place < 0 ? nullptr : scratch_.data() + tables_at_ + place;
}

void Job::issue(const Step& step) {
  if (!is_the_processors(step)) in_progress_ = true;
  std::visit([this](const auto& it) { put(it); }, step);
}

void Job::put(const Transfer& step) {
  device_.driver().copy(at(step.to), at(step.from), step.bytes, stream_);
}

void Job::put(const MoveWords& step) { device_.launch(move_of(step), stream_); }

void Job::put(const MovePieces& step) {
  Move move = move_of(step);
  unsigned team = Batches::team;
  std::array<void*, 5> arguments{&move.from, &move.to, &move.sources, &team, &move.count};
  void* const kernel = device_.kernel("copy_pieces_" + std::to_string(move.width));
  device_.launch(kernel, step.count * team, arguments.data(), stream_);
}

void Job::put(const ReduceValues& step) {
  const std::byte* from = at(step.from);
  std::byte* to = at(step.to);
  require(common_alignment(step.value_bytes, from, to) == step.value_bytes, Fault::argument,
          "a reduction in device memory begins at an address that is no multiple of the ",
          step.value_bytes, " bytes of a value; give buffers that are aligned for their type");
  const std::byte* targets = list(step.targets);
  const std::byte* starts = list(step.starts);
  const std::byte* sources = list(step.sources);
  unsigned long long count = step.count;
  std::array<void*, 6> arguments{&from, &to, &targets, &starts, &sources, &count};
  device_.launch(device_.kernel(step.kernel), step.count, arguments.data(), stream_);
}

void Job::put(const HostCopy& step) { run(step.runs, at(step.from), at(step.to)); }

void Job::put(const HostReduction& step) { run(step.runs, at(step.from), at(step.to)); }

Fence::Fence(Device& device) : device_(device), event_(device.new_event()) {}

Fence::~Fence() { device_.give_back(device_.driver().calls.destroy_event, event_); }

bool Fence::begin(const std::byte*, std::byte*) {
  count_ = device_.followed();
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  device_.driver().call(device_.driver().calls.record_event, event_, device_.first_stream());
  return false;
}

bool Fence::poll() {
  if (device_.has_done(count_)) return true;
  const Device::Current current(device_);
  if (!device_.driver().is_done(device_.driver().calls.query_event, event_)) return false;
  device_.note_done(count_);
  return true;
}

}  // namespace vicinal::device

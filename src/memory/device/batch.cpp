#include "memory/device/batch.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.hpp"
#include "memory/device/device.hpp"
#include "memory/device/kernels.hpp"

namespace vicinal::device {

std::shared_ptr<const Words> Batches::words(MemoryKind& memory) {
  const Lock lock(mutex_);
  std::shared_ptr<const Words> words = words_.lock();
  if (words != nullptr) return words;
  const Device::Current current(device_);
  if (device_.find_kernel(telling_kernel) == nullptr) return nullptr;
  words_ = words = std::make_shared<const Words>(memory);
  return words;
}

/// Reclaims the completion flags of kernels that have completed but were not polled since.
void Batches::reclaim_words() {
  for (const auto& batch : busy_) {
    if (batch->end.word == nullptr || !batch->end.is_told()) continue;
    batch->over = true;
    give_back_word(*batch);
  }
}

void Batches::give_back_word(Batch& batch) {
  if (batch.words != nullptr) free_words_ |= std::uint64_t{1} << batch.word;
  batch.words = nullptr;
  batch.end = {};
}

Batches::Batch& Batches::open_batch() {
  if (open_ != nullptr && open_->moves.count == most) launch_open();
  if (open_ != nullptr) return *open_;
  if (idle_.empty()) {
    auto made = std::make_unique<Batch>();
    // So neither launch_open() nor forget() allocates.
    idle_.reserve(busy_.size() + 1);
    busy_.reserve(busy_.size() + 1);
    busy_.push_back(std::move(made));
  } else {
    busy_.push_back(std::move(idle_.back()));
    idle_.pop_back();
  }
  open_ = busy_.back().get();
  return *open_;
}

Batches::Place Batches::add(Move move, std::size_t threads, void* event) {
  const Lock lock(mutex_);
  Batch& batch = open_batch();
  Moves<most>& moves = batch.moves;
  // Stores the number of blocks that this move can use; the launch assigns its first block.
  move.first_block = static_cast<unsigned>(std::min<std::size_t>(
      (threads + Device::threads_per_block - 1) / Device::threads_per_block, Device::most_blocks));
  const Place place{&batch, moves.count};
  moves.all[place.number] = move;
  batch.events[place.number] = event;
  ++moves.count;
  ++batch.users;
  return place;
}

void Batches::launch() noexcept {
  const Lock lock(mutex_);
  launch_open();
}

const Move& Batches::only(const Batch& batch) {
  return *std::find_if(batch.moves.all.begin(), batch.moves.all.end(),
                       [](const Move& move) { return move.count > 0; });
}

void Batches::launch_kernel(Batch& batch) {
  const unsigned count = batch.moves.count;
  const auto share = static_cast<unsigned>(Device::most_blocks / count);
  unsigned blocks = 0;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned own = std::clamp(batch.moves.all[i].first_block, 1U, share);
    batch.moves.all[i].first_block = blocks;
    blocks += own;
  }
  std::shared_ptr<const Words> words = words_.lock();
  const bool few_do = words != nullptr && count <= few;
  if (words != nullptr && blocks <= most_telling_blocks && free_words_ != 0) {
    batch.words = std::move(words);
    batch.word = std::countr_zero(free_words_);
    free_words_ &= free_words_ - 1;
    batch.end = batch.words->end(static_cast<std::size_t>(batch.word), ++told_);
  }
  const auto run = [&](const char* name, auto& moves) {
    std::array<void*, 2> arguments{&moves, &batch.end};
    device_.launch(device_.kernel(name), std::size_t{blocks} * Device::threads_per_block,
                   arguments.data(), batch.stream);
  };
  if (!few_do) return run("copy_batch", batch.moves);
  Moves<few> moves{count, {}};
  std::copy_n(batch.moves.all.begin(), count, moves.all.begin());
  run(telling_kernel, moves);
}

void Batches::put(Batch& batch) {
  const Driver& driver = device_.driver();
  try {
    if (batch.users == 1 && only(batch).is_plain()) {
      const Move& move = only(batch);
      driver.copy(move.to, move.from, move.count * move.width, batch.stream);
    } else {
      launch_kernel(batch);
    }
    if (batch.end.word == nullptr) {
      driver.call(driver.calls.record_event, batch.event, batch.stream);
    }
  } catch (...) {
    // Nothing already launched may still write when the caller learns of the failure.
    device_.settle(batch.stream);
    throw;
  }
}

void Batches::launch_open() noexcept {
  if (open_ == nullptr) return;
  Batch& batch = *std::exchange(open_, nullptr);
  if (batch.users == 0) return forget(batch);
  try {
    const Device::Current current(device_);
    if (free_words_ == 0) reclaim_words();
    batch.stream = device_.stream();
    batch.event = *std::find_if(batch.events.begin(), batch.events.end(),
                                [](const void* event) { return event != nullptr; });
    put(batch);
  } catch (...) {
    batch.fault = std::current_exception();
  }
  batch.launched = true;
}

bool Batches::ask_driver(Batch& batch) {
  const Driver& driver = device_.driver();
  const bool by_word = batch.end.word != nullptr;
  const auto& question = by_word ? driver.calls.query_stream : driver.calls.query_event;
  if (!driver.is_done(question, by_word ? batch.stream : batch.event)) return false;
  require(!by_word || batch.end.is_told(), Fault::device,
          "a kernel is over that has not said so: it has failed, and the driver, asked by ",
          question.name, ", does not say with what");
  return true;
}

bool Batches::look_at(Batch& batch, bool ask_at_once) noexcept {
  if (batch.end.word != nullptr) {
    batch.over = batch.end.is_told();
    if (batch.over) return true;
    if (++batch.looks % looks_per_question != 0 && !ask_at_once) return false;
  }
  try {
    const Device::Current current(device_);
    batch.over = ask_driver(batch);
  } catch (...) {
    batch.fault = std::current_exception();
    settle(batch);
  }
  return batch.over || batch.fault;
}

void Batches::settle(Batch& batch) noexcept {
  // The first failure may belong to an earlier operation, and is reported only once.
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      const Device::Current current(device_);
      return device_.settle(batch.stream);
    } catch (const std::exception&) {
    }
  }
}

bool Batches::poll(Batch& batch) {
  const Lock lock(mutex_);
  if (!batch.launched) return false;
  if (!batch.over && !batch.fault && !look_at(batch, false)) return false;
  const std::exception_ptr fault = batch.fault;
  if (--batch.users == 0) forget(batch);
  if (fault) std::rethrow_exception(fault);
  return true;
}

void Batches::have_stream_await(Batch& batch, void* stream) {
  const Lock lock(mutex_);
  if (!batch.launched) launch_open();
  if (batch.over || batch.fault) return;
  const Driver& driver = device_.driver();
  const Device::Current current(device_);
  if (batch.end.word != nullptr) {
    driver.call(driver.calls.record_event, batch.event, batch.stream);
    batch.end.word = nullptr;  // from now on the event signals
  }
  driver.call(driver.calls.have_stream_await, stream, batch.event, 0U);
}

void Batches::leave(Place place) noexcept {
  const Lock lock(mutex_);
  Batch& batch = *place.batch;
  if (!batch.launched) {
    batch.moves.all[place.number].count = 0;
    batch.events[place.number] = nullptr;
  } else if (!batch.over && !batch.fault) {
    settle(batch);
    // The leaving user may own the event, so nobody may query it later.
    if (!look_at(batch, true)) batch.over = true;
  }
  if (--batch.users == 0 && batch.launched) forget(batch);
}

void Batches::forget(Batch& batch) noexcept {
  batch.moves.count = 0;
  batch.events = {};
  batch.launched = batch.over = false;
  give_back_word(batch);
  batch.looks = 0;
  batch.fault = nullptr;
  const auto found = std::find_if(busy_.begin(), busy_.end(),
                                  [&](const auto& each) { return each.get() == &batch; });
  idle_.push_back(std::move(*found));
  busy_.erase(found);
}

}  // namespace vicinal::device

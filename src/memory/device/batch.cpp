#include "memory/device/batch.hpp"

#include <algorithm>
#include <utility>

#include "memory/device/device.hpp"

namespace vicinal::device {

Batches::Batch& Batches::open_batch() {
  if (open_ != nullptr && open_->moves.count == most) launch_open();
  if (open_ != nullptr) return *open_;
  if (idle_.empty()) {
    auto made = std::make_unique<Batch>();
    // So that no giving back needs memory.
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
  Moves& moves = batch.moves;
  // How many blocks each has is known only when all are.
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

void Batches::launch_kernel(Moves& moves, void* stream) {
  const auto share = static_cast<unsigned>(Device::most_blocks / moves.count);
  unsigned blocks = 0;
  for (unsigned i = 0; i < moves.count; ++i) {
    const unsigned own = std::clamp(moves.all[i].first_block, 1U, share);
    moves.all[i].first_block = blocks;
    blocks += own;
  }
  std::array<void*, 1> arguments{&moves};
  device_.launch(device_.kernel("copy_batch"), std::size_t{blocks} * Device::threads_per_block,
                 arguments.data(), stream);
}

void Batches::launch_open() noexcept {
  if (open_ == nullptr) return;
  Batch& batch = *std::exchange(open_, nullptr);
  if (batch.users == 0) return forget(batch);
  batch.launched = true;
  batch.event = *std::find_if(batch.events.begin(), batch.events.end(),
                              [](const void* event) { return event != nullptr; });
  batch.stream = device_.stream();
  try {
    const Driver& driver = device_.driver();
    if (batch.users == 1 && only(batch).is_plain()) {
      const Move& move = only(batch);
      driver.copy(move.to, move.from, move.count * move.width, batch.stream);
    } else {
      launch_kernel(batch.moves, batch.stream);
    }
    driver.call(driver.calls.record_event, batch.event, batch.stream);
  } catch (...) {
    batch.fault = std::current_exception();
    // What was launched all the same must not write any more when this is told.
    device_.settle(batch.stream);
  }
}

bool Batches::poll(Batch& batch) {
  const Lock lock(mutex_);
  if (!batch.launched) return false;
  if (!batch.over && !batch.fault) {
    const Driver& driver = device_.driver();
    const Status status = driver.calls.query_event.function(batch.event);
    if (status == not_ready) return false;
    batch.over = true;
    if (status != success) {
      try {
        driver.refuse(driver.calls.query_event.name, status);
      } catch (...) {
        batch.fault = std::current_exception();
      }
      device_.settle(batch.stream);
    }
  }
  const std::exception_ptr fault = batch.fault;
  if (--batch.users == 0) forget(batch);
  if (fault) std::rethrow_exception(fault);
  return true;
}

void Batches::have_stream_await(Batch& batch, void* stream) {
  const Lock lock(mutex_);
  if (!batch.launched) launch_open();
  if (batch.over || batch.fault) return;
  device_.driver().call(device_.driver().calls.have_stream_await, stream, batch.event, 0U);
}

void Batches::leave(Place place) noexcept {
  const Lock lock(mutex_);
  Batch& batch = *place.batch;
  if (!batch.launched) {
    batch.moves.all[place.number].count = 0;
    batch.events[place.number] = nullptr;
  } else if (!batch.over && !batch.fault) {
    // A wait that fails says nothing of it; one that fails again says that the device is lost.
    const auto& wait = device_.driver().calls.await_event;
    if (wait.function(batch.event) != success) wait.function(batch.event);
    batch.over = true;
  }
  if (--batch.users == 0 && batch.launched) forget(batch);
}

void Batches::forget(Batch& batch) noexcept {
  batch.moves.count = 0;
  batch.events = {};
  batch.launched = batch.over = false;
  batch.fault = nullptr;
  const auto found = std::find_if(busy_.begin(), busy_.end(),
                                  [&](const auto& each) { return each.get() == &batch; });
  idle_.push_back(std::move(*found));
  busy_.erase(found);
}

}  // namespace vicinal::device

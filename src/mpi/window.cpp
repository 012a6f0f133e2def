// Making windows, and keeping those that are laid by.
#include "mpi/window.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/datatype.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

struct Shelf {
  std::mutex mutex;
  std::int64_t next_number = 0;
  std::vector<std::unique_ptr<Window>> windows;
};

Shelf& shelf() {
  static auto* const instance = new Shelf;  // outlives whatever is destroyed at the end
  return *instance;
}

}  // namespace

Window::Window(MPI_Comm communicator, std::size_t bytes, std::int64_t number) : number_(number) {
  open(communicator, bytes);
  const std::lock_guard lock(shelf().mutex);
  shelf().next_number = std::max(shelf().next_number, number + 1);
}

void Window::open(MPI_Comm communicator, std::size_t bytes) {
  std::byte* base = nullptr;
  check(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, communicator,
                         static_cast<void*>(&base), &window_),
        "MPI_Win_allocate");
  check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  memory_ = {base, bytes};
  std::fill(memory_.begin(), memory_.end(), std::byte{0});
  check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  check(MPI_Win_sync(window_), "MPI_Win_sync");
  // Nobody may write before all have cleared theirs.
  barrier(communicator);
}

void Window::resize(MPI_Comm communicator, std::size_t bytes) {
  check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  barrier(communicator);
  check(MPI_Win_free(&window_), "MPI_Win_free");
  open(communicator, bytes);
}

std::int64_t Window::next_number() {
  const std::lock_guard lock(shelf().mutex);
  return shelf().next_number;
}

std::unique_ptr<Window> Window::find(MPI_Comm communicator) {
  const std::lock_guard lock(shelf().mutex);
  auto& windows = shelf().windows;
  auto best = windows.end();
  MPI_Group wanted = MPI_GROUP_NULL;
  check(MPI_Comm_group(communicator, &wanted), "MPI_Comm_group");
  for (auto it = windows.begin(); it != windows.end(); ++it) {
    if (best != windows.end() && (*best)->number_ > (*it)->number_) continue;
    MPI_Group group = MPI_GROUP_NULL;
    int same = MPI_UNEQUAL;
    check(MPI_Win_get_group((*it)->window_, &group), "MPI_Win_get_group");
    check(MPI_Group_compare(group, wanted, &same), "MPI_Group_compare");
    MPI_Group_free(&group);
    if (same == MPI_IDENT) best = it;
  }
  MPI_Group_free(&wanted);
  if (best == windows.end()) return nullptr;
  std::unique_ptr<Window> found = std::move(*best);
  windows.erase(best);
  return found;
}

void Window::lay_by(std::unique_ptr<Window> window) {
  const std::lock_guard lock(shelf().mutex);
  shelf().windows.push_back(std::move(window));
}

Request Window::fetch_add(const std::int64_t& added, std::int64_t& before, int peer,
                          std::size_t offset) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Rget_accumulate(&added, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, peer,
                            static_cast<MPI_Aint>(offset), 1, MPI_INT64_T, MPI_SUM, window_,
                            &request),
        "MPI_Rget_accumulate");
  return Request(request);
}

Request Window::put(std::span<const std::byte> bytes, int peer, std::size_t offset) {
  const ByteSpan span(static_cast<std::int64_t>(bytes.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Rput(bytes.data(), span.count(), span.type(), peer, static_cast<MPI_Aint>(offset),
                 span.count(), span.type(), window_, &request),
        "MPI_Rput");
  return Request(request);
}

void Window::flush() { check(MPI_Win_flush_all(window_), "MPI_Win_flush_all"); }

std::span<const std::byte> Window::read() {
  check(MPI_Win_sync(window_), "MPI_Win_sync");
  return memory_;
}

void Window::clear(std::size_t offset, std::size_t bytes) {
  std::ranges::fill(memory_.subspan(offset, bytes), std::byte{0});
  check(MPI_Win_sync(window_), "MPI_Win_sync");
}

}  // namespace vicinal::mpi

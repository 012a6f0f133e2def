// Creates windows, and keeps released ones for reuse.
#include "mpi/window.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

struct Shelf {
  Mutex mutex;
  std::int64_t drawn VICINAL_GUARDED_BY(mutex) = 0;  ///< number of numbers drawn
  std::vector<std::unique_ptr<Window>> windows VICINAL_GUARDED_BY(mutex);
};

Shelf& shelf() {
  static NoDestructor<Shelf> instance;
  return *instance;
}

/// Returns the ranks of a communicator as ranks of MPI_COMM_WORLD.
std::vector<int> ranks_of(MPI_Comm communicator) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int size = 0;
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> own(ranks.size());
  std::iota(own.begin(), own.end(), 0);
  check(MPI_Comm_group(communicator, &group), "MPI_Comm_group");
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  const int code = MPI_Group_translate_ranks(group, size, own.data(), world, ranks.data());
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  check(code, "MPI_Group_translate_ranks");
  return ranks;
}

}  // namespace

/// The ranks that share a window free it together. All ranks free them in the order of their
/// numbers, which prevents a deadlock.
void Window::free_all() {
  const Lock lock(shelf().mutex);
  std::vector<Window*> windows;
  for (const auto& window : shelf().windows) windows.push_back(window.get());
  std::sort(windows.begin(), windows.end(), [](const Window* a, const Window* b) {
    return std::tie(a->number_, a->ranks_) < std::tie(b->number_, b->ranks_);
  });
  for (Window* window : windows) {
    if (window->window_ == MPI_WIN_NULL) continue;
    MPI_Win_unlock_all(window->window_);
    MPI_Win_free(&window->window_);
  }
}

int test_exposure(MPI_Win window, bool& is_over) {
  int flag = 0;
  const int code = MPI_Win_test(window, &flag);
  is_over = flag != 0;
  return code;
}

Window& Window::make(MPI_Comm communicator, std::size_t bytes, std::int64_t number) {
  std::unique_ptr<Window> made(new Window(number));
  made->ranks_ = ranks_of(communicator);
  made->open(communicator, bytes);
  const Lock lock(shelf().mutex);
  return *shelf().windows.emplace_back(std::move(made));
}

void Window::open(MPI_Comm communicator, std::size_t bytes) {
  std::byte* base = nullptr;
  check(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, communicator,
                         static_cast<void*>(&base), &window_),
        "MPI_Win_allocate");
  check(MPI_Win_set_errhandler(window_, errors_return()), "MPI_Win_set_errhandler");
  memory_ = {base, bytes};
  std::fill(memory_.begin(), memory_.end(), std::byte{0});
  check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  check(MPI_Win_sync(window_), "MPI_Win_sync");
  // No rank may write before all have cleared their memory.
  barrier(communicator);
}

void Window::resize(MPI_Comm communicator, std::size_t bytes) {
  check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  barrier(communicator);
  check(MPI_Win_free(&window_), "MPI_Win_free");
  open(communicator, bytes);
}

std::int64_t Window::draw_number() {
  if (!has_world()) return 0;
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  const Lock lock(shelf().mutex);
  return shelf().drawn++ * size + rank;
}

std::size_t Window::made() {
  const Lock lock(shelf().mutex);
  return shelf().windows.size();
}

Window* Window::find(MPI_Comm communicator) {
  if (!has_world()) return nullptr;
  const std::vector<int> wanted = ranks_of(communicator);
  const Lock lock(shelf().mutex);
  Window* found = nullptr;
  for (const auto& window : shelf().windows) {
    if (window->in_use_ || window->ranks_ != wanted) continue;
    if (found == nullptr || found->number_ < window->number_) found = window.get();
  }
  // Ranks of other worlds have no numbers that distinguish them.
  if (std::find(wanted.begin(), wanted.end(), MPI_UNDEFINED) != wanted.end()) return nullptr;
  if (found != nullptr) found->in_use_ = true;
  return found;
}

void Window::lay_by() {
  const Lock lock(shelf().mutex);
  in_use_ = false;
}

PendingOperation Window::fetch_add(const std::int64_t& added, std::int64_t& before, int peer,
                                   std::size_t offset) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Rget_accumulate(&added, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, peer,
                            static_cast<MPI_Aint>(offset), 1, MPI_INT64_T, MPI_SUM, window_,
                            &request),
        "MPI_Rget_accumulate");
  return PendingOperation(request);
}

PendingOperation Window::put(std::span<const std::byte> bytes, int peer, std::size_t offset) {
  const ByteSpan span(static_cast<std::int64_t>(bytes.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Rput(bytes.data(), span.count(), span.type(), peer, static_cast<MPI_Aint>(offset),
                 span.count(), span.type(), window_, &request),
        "MPI_Rput");
  return PendingOperation(request);
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

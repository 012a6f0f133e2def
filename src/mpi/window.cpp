// Windows that are open to all, in one shared epoch, from their making to their end.
#include "mpi/window.hpp"

#include <algorithm>

#include "mpi/datatype.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {

Window::Window(MPI_Comm communicator, std::size_t bytes) : communicator_(communicator) {
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

void Window::free() {
  check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  barrier(communicator_);
  check(MPI_Win_free(&window_), "MPI_Win_free");
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

}  // namespace vicinal::mpi

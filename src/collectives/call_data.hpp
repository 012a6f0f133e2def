// The data that a call moves by messages, at addresses that MPI reaches. Where MPI does not reach a
// side's memory, a bounce buffer in host memory takes its place. The call fetches data to send into
// it before it begins, and brings received data back before it is over. Both copies are polled and
// never block.
#pragma once

#include <exception>
#include <memory>

#include "collectives/edge_data.hpp"
#include "memory/bounce_buffer.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Returns a copy, as bytes, of checked data to send. Waits for the GPU if the data lie on one.
EdgeData copied(EdgeData data, mpi::Communicator& communicator);

class CallData {
 public:
  /// Begins to fetch. Throws if that is impossible: an unsupported fault for datatypes with gaps in
  /// memory that MPI does not reach, and for memory of two devices.
  CallData(EdgeData&& sent, EdgeData&& received, mpi::Communicator& communicator);

  EdgeData send;
  EdgeData receive;

  /// Returns whether data to send are ready. Throws the error of the fetch, at each call.
  [[nodiscard]] bool is_there() { return !fetched_ || fetch(); }
  [[nodiscard]] bool is_fetching() noexcept;
  /// Returns whether data to send must be fetched, or have been.
  [[nodiscard]] bool is_fetched() const { return fetched_ != nullptr; }
  /// Returns whether received data are in the user's buffer. Called once all have arrived. Throws
  /// the error of the copy.
  [[nodiscard]] bool is_back() { return !brought_back_ || bring_back(); }

 private:
  bool fetch();
  bool bring_back();

  std::unique_ptr<BounceBuffer> fetched_;
  std::exception_ptr fault_;
  std::unique_ptr<BounceBuffer> brought_back_;
  bool is_in_progress_ = false;  ///< the copy back has begun
};

}  // namespace vicinal

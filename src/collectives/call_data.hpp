// What a call moves by messages, and where MPI reaches it. Of a side in memory that it does not reach a stand-in in the host's is
// sent, or receives: what is sent is fetched there before the call begins, what has come is brought back before it is over.
// Nobody waits for that.
#pragma once

#include <exception>
#include <memory>

#include "collectives/edge_data.hpp"
#include "memory/stand_in.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// A copy of what is sent now, as bytes. Of data that have been checked. Waits for the GPU where they lie on one.
EdgeData copied(EdgeData data, mpi::Communicator& communicator);

class CallData {
 public:
  /// Begins to fetch. Throws where that cannot be done, an unsupported fault for datatypes with gaps
  /// where MPI does not reach them, and for memory of two devices.
  CallData(EdgeData&& sent, EdgeData&& received, mpi::Communicator& communicator);

  EdgeData send;
  EdgeData receive;

  /// Whether what is sent is where it is sent from. Throws what fetching it has failed with, each time.
  [[nodiscard]] bool is_there() { return !fetched_ || fetch(); }
  [[nodiscard]] bool is_fetching() noexcept;
  /// Whether it has to be, or had.
  [[nodiscard]] bool is_fetched() const { return fetched_ != nullptr; }
  /// Whether what has come is where the user wants it; once all has. Throws what that has failed with.
  [[nodiscard]] bool is_back() { return !brought_back_ || bring_back(); }

 private:
  bool fetch();
  bool bring_back();

  std::unique_ptr<StandIn> fetched_;
  std::exception_ptr fault_;
  std::unique_ptr<StandIn> brought_back_;
  bool is_under_way_ = false;  ///< the way back
};

}  // namespace vicinal

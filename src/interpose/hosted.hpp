// A call that MPI itself carries out, for comparison, where its buffers lie in memory that it does not reach: it is given as much of
// the host's, in which all lies as in the program's buffers. The other ranks are in the call by MPI, too, so this rank takes part
// whatever fails here, and tells of it afterwards.
#pragma once

#include <exception>
#include <type_traits>
#include <vector>

#include "collectives/edge_data.hpp"
#include "mpi/communicator.hpp"

namespace vicinal::interpose {

class Hosted {
 public:
  /// Whether an argument is a buffer that the processor does not reach.
  template <class Argument>
  static bool concerns(Argument argument) {
    if constexpr (std::is_void_v<std::remove_pointer_t<Argument>>) {
      return kind_out_of_reach(argument) != nullptr;
    } else {
      return false;
    }
  }
  /// Of a call with such arguments. Copies what is sent. Throws where the host has no memory, and nothing else.
  Hosted(const NeighborArguments& arguments, mpi::Communicator& communicator);

  /// What MPI is given in the place of an argument of its function.
  template <class Argument>
  Argument of(Argument argument) const {
    if constexpr (std::is_same_v<Argument, const void*>) {
      return moved(argument, send_);
    } else if constexpr (std::is_same_v<Argument, void*>) {
      return const_cast<void*>(moved(argument, receive_));
    } else {
      return argument;
    }
  }
  /// Copies what has come. Throws what has failed so far; an unsupported fault for datatypes with gaps.
  void bring_back();

 private:
  struct HostedSide {
    EdgeData data;
    MemoryKind* kind = nullptr;  ///< null where MPI reaches it
    std::byte* lowest = nullptr;
    std::vector<std::byte> bytes;
  };
  /// Keeps the fault of a device, to tell of it afterwards.
  template <class Step>
  void try_device(Step step);
  HostedSide side_of(const EdgeData& data);
  /// Not where that cannot be found out.
  bool mpi_takes(MemoryKind& kind);
  /// From the program's memory, as it lies there.
  void fetch(HostedSide& side);
  static const void* moved(const void* given, const HostedSide& side);

  mpi::Communicator& communicator_;
  std::exception_ptr fault_;
  HostedSide send_;
  HostedSide receive_;
};

}  // namespace vicinal::interpose

// Reads hints from an MPI_Info object, and changes hints in a copy.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace vicinal::mpi {

/// Returns the value of a key; nothing if `info` is MPI_INFO_NULL or has no such key.
[[nodiscard]] std::optional<std::string> info_value(MPI_Info info, const char* key);

/// Returns all keys on rank 0 of `comm`, which acts for all ranks; none on other ranks. None for
/// MPI_INFO_NULL or MPI_COMM_NULL.
[[nodiscard]] std::vector<std::string> info_keys(MPI_Info info, MPI_Comm comm);
/// A copy of hints with another value of one key, freed with this object.
class ChangedInfo {
 public:
  ChangedInfo(MPI_Info info, const char* key, const char* value);
  ChangedInfo(const ChangedInfo&) = delete;
  ChangedInfo& operator=(const ChangedInfo&) = delete;
  ~ChangedInfo();
  [[nodiscard]] MPI_Info handle() const { return handle_; }

 private:
  MPI_Info handle_ = MPI_INFO_NULL;
};

}  // namespace vicinal::mpi

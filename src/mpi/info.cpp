// Reading hints from an MPI_Info object.
#include "mpi/info.hpp"

#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {

std::optional<std::string> info_value(MPI_Info info, const char* key) {
  require_fitting_abi();
  if (info == MPI_INFO_NULL) return std::nullopt;
  int length = 0, found = 0;
  check(MPI_Info_get_valuelen(info, key, &length, &found), "MPI_Info_get_valuelen");
  if (found == 0) return std::nullopt;
  std::string value(static_cast<std::size_t>(length) + 1, '\0');
  check(MPI_Info_get(info, key, length, value.data(), &found), "MPI_Info_get");
  value.resize(static_cast<std::size_t>(length));
  return value;
}

ChangedInfo::ChangedInfo(MPI_Info info, const char* key, const char* value) {
  if (info == MPI_INFO_NULL) {
    MPI_Info_create(&handle_);
  } else {
    MPI_Info_dup(info, &handle_);
  }
  MPI_Info_set(handle_, key, value);
}

ChangedInfo::~ChangedInfo() { MPI_Info_free(&handle_); }

}  // namespace vicinal::mpi

// Reads and changes hints of an MPI_Info object.
#include "mpi/info.hpp"

#include <array>

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

std::vector<std::string> info_keys(MPI_Info info, MPI_Comm comm) {
  require_fitting_abi();
  if (info == MPI_INFO_NULL || comm == MPI_COMM_NULL) return {};
  int rank = 0, count = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  if (rank != 0) return {};
  check(MPI_Info_get_nkeys(info, &count), "MPI_Info_get_nkeys");
  std::vector<std::string> found;
  for (int i = 0; i < count; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    check(MPI_Info_get_nthkey(info, i, key.data()), "MPI_Info_get_nthkey");
    found.emplace_back(key.data());
  }
  return found;
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

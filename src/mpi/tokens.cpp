// Both kinds, and the communicator of the process alone on which persistent ones are received.
#include "mpi/tokens.hpp"

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "base/number_pool.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

using Code = std::shared_ptr<int>;

int query(void* state, MPI_Status* status) {
  const int code = **static_cast<Code*>(state);
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return code;
}

int release(void* state) {
  delete static_cast<Code*>(state);
  return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

/// Where the receives of persistent tokens are: never freed, since a program may end MPI with some of them left.
struct Self {
  Mutex mutex;
  MPI_Comm communicator VICINAL_GUARDED_BY(mutex) = MPI_COMM_NULL;
  NumberPool tags VICINAL_GUARDED_BY(mutex){32768};
};

Self& self() {
  static NoDestructor<Self> it;
  return *it;
}

MPI_Comm self_communicator() {
  const Lock lock(self().mutex);
  MPI_Comm& it = self().communicator;
  if (it == MPI_COMM_NULL) {
    check(MPI_Comm_dup(MPI_COMM_SELF, &it), "MPI_Comm_dup of MPI_COMM_SELF");
    check(MPI_Comm_set_errhandler(it, errors_return()), "MPI_Comm_set_errhandler");
  }
  return it;
}

int take_tag() {
  const Lock lock(self().mutex);
  const auto tag = self().tags.take();
  require(tag.has_value(), Fault::memory,
          "32768 persistent neighborhood collectives are in use; free those that are not needed");
  return static_cast<int>(*tag);
}

void give_tag_back(int tag) {
  const Lock lock(self().mutex);
  self().tags.give_back(tag);
}

}  // namespace

SingleToken::SingleToken() : code_(std::make_shared<int>(MPI_SUCCESS)) {
  auto of_mpi = std::make_unique<Code>(code_);
  check(MPI_Grequest_start(query, release, cancel, of_mpi.get(), &handle_), "MPI_Grequest_start");
  static_cast<void>(of_mpi.release());
}

void SingleToken::complete(int code) noexcept {
  *code_ = code;
  if (is_alive()) MPI_Grequest_complete(handle_);
}

PersistentToken::PersistentToken() : tag_(take_tag()) {
  const int code = MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, self_communicator(), &handle_);
  if (code != MPI_SUCCESS) give_tag_back(tag_);
  check(code, "MPI_Recv_init");
}

PersistentToken::~PersistentToken() { give_tag_back(tag_); }

void PersistentToken::complete(bool failed) noexcept {
  if (!is_alive()) return;
  // It is received already, or will be when somebody looks: nobody is waited for.
  constexpr char nothing = 0;
  MPI_Request sent = MPI_REQUEST_NULL;
  if (MPI_Isend(&nothing, failed ? 1 : 0, MPI_BYTE, 0, tag_, self_communicator(), &sent) ==
      MPI_SUCCESS) {
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
}

}  // namespace vicinal::mpi

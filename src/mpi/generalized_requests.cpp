// Both kinds of request, and the communicator of one process that receives the persistent ones. Of
// the callbacks that MPI calls here, only `query` calls MPI, to fill a status as the standard
// requires.
#include "mpi/generalized_requests.hpp"

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "base/number_pool.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
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

}  // namespace

/// State of the receives of persistent requests.
struct Self {
  Self() = default;
  Self(const Self&) = delete;
  Self& operator=(const Self&) = delete;
  ~Self() {
    if (communicator != MPI_COMM_NULL && is_alive()) MPI_Comm_free(&communicator);
  }
  /// Returns a communicator of this process alone, made from `near` if there is no MPI_COMM_SELF.
  MPI_Comm made(const Communicator& near);
  int take_tag();
  void give_tag_back(int tag);

  Mutex mutex;
  MPI_Comm communicator VICINAL_GUARDED_BY(mutex) = MPI_COMM_NULL;
  NumberPool tags VICINAL_GUARDED_BY(mutex){32768};
};

namespace {

/// Returns the process's one Self, never freed, since a program may end MPI with requests left. In
/// a session each communicator has its own, since nothing of a session may remain when it ends.
Self& self_of(Communicator& near) {
  static NoDestructor<Self> of_world;
  return has_world() ? *of_world : near.extension<Self>();
}

void take_out_self(const Communicator& near, MPI_Comm& made) {
  MPI_Group all = MPI_GROUP_NULL, alone = MPI_GROUP_NULL;
  const int rank = near.rank();
  check(MPI_Comm_group(near.handle(), &all), "MPI_Comm_group");
  int code = MPI_Group_incl(all, 1, &rank, &alone);
  if (code == MPI_SUCCESS) code = MPI_Comm_create_group(near.handle(), alone, 0, &made);
  for (MPI_Group* const group : {&all, &alone}) {
    if (*group != MPI_GROUP_NULL) MPI_Group_free(group);
  }
  check(code, "MPI_Comm_create_group of one process");
}

}  // namespace

MPI_Comm Self::made(const Communicator& near) {
  const Lock lock(mutex);
  if (communicator == MPI_COMM_NULL) {
    if (has_world()) {
      check(MPI_Comm_dup(MPI_COMM_SELF, &communicator), "MPI_Comm_dup of MPI_COMM_SELF");
    } else {
      take_out_self(near, communicator);
    }
    check(MPI_Comm_set_errhandler(communicator, errors_return()), "MPI_Comm_set_errhandler");
  }
  return communicator;
}

int Self::take_tag() {
  const Lock lock(mutex);
  const auto tag = tags.take();
  require(tag.has_value(), Fault::memory,
          "32768 persistent neighborhood collectives are in use; free those that are not needed");
  return static_cast<int>(*tag);
}

void Self::give_tag_back(int tag) {
  const Lock lock(mutex);
  tags.give_back(tag);
}

SingleUseRequest::SingleUseRequest() : code_(std::make_shared<int>(MPI_SUCCESS)) {
  auto of_mpi = std::make_unique<Code>(code_);
  check(MPI_Grequest_start(query, release, cancel, of_mpi.get(), &handle_), "MPI_Grequest_start");
  static_cast<void>(of_mpi.release());
}

void SingleUseRequest::complete(int code) noexcept {
  *code_ = code;
  if (is_alive()) MPI_Grequest_complete(handle_);
}

RestartableRequest::RestartableRequest(Communicator& near)
    : self_(self_of(near)), communicator_(self_.made(near)), tag_(self_.take_tag()) {
  const int code = MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, communicator_, &handle_);
  if (code != MPI_SUCCESS) self_.give_tag_back(tag_);
  check(code, "MPI_Recv_init");
}

RestartableRequest::~RestartableRequest() { self_.give_tag_back(tag_); }

void RestartableRequest::complete(bool failed) noexcept {
  if (!is_alive()) return;
  // Does not block: the receive is complete already, or will be once the program tests it.
  constexpr char nothing = 0;
  MPI_Request sent = MPI_REQUEST_NULL;
  if (MPI_Isend(&nothing, failed ? 1 : 0, MPI_BYTE, 0, tag_, communicator_, &sent) == MPI_SUCCESS) {
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
}

void progress() {
  if (has_world()) return progress(MPI_COMM_SELF);
  SingleUseRequest generalized;
  MPI_Request request = generalized.handle();
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  generalized.complete(MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace vicinal::mpi

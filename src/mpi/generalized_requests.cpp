// Both kinds, and the communicator of the process alone on which persistent ones are received. Of the functions that MPI calls here, `query`
// fills a status, as the standard has it, and none calls more of MPI's.
#include "mpi/tokens.hpp"

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

/// Where the receives of persistent tokens are.
struct Self {
  Self() = default;
  Self(const Self&) = delete;
  Self& operator=(const Self&) = delete;
  ~Self() {
    if (communicator != MPI_COMM_NULL && is_alive()) MPI_Comm_free(&communicator);
  }
  /// A communicator of the process alone, taken out of `near` where there is no MPI_COMM_SELF.
  MPI_Comm made(const Communicator& near);
  int take_tag();
  void give_tag_back(int tag);

  Mutex mutex;
  MPI_Comm communicator VICINAL_GUARDED_BY(mutex) = MPI_COMM_NULL;
  NumberPool tags VICINAL_GUARDED_BY(mutex){32768};
};

namespace {

/// One for the process, never freed, since a program may end MPI with some tokens left. A session has one for each communicator,
/// since nothing of a session may be left when it ends.
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

SingleToken::SingleToken() : code_(std::make_shared<int>(MPI_SUCCESS)) {
  auto of_mpi = std::make_unique<Code>(code_);
  check(MPI_Grequest_start(query, release, cancel, of_mpi.get(), &handle_), "MPI_Grequest_start");
  static_cast<void>(of_mpi.release());
}

void SingleToken::complete(int code) noexcept {
  *code_ = code;
  if (is_alive()) MPI_Grequest_complete(handle_);
}

PersistentToken::PersistentToken(Communicator& near)
    : self_(self_of(near)), communicator_(self_.made(near)), tag_(self_.take_tag()) {
  const int code = MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, communicator_, &handle_);
  if (code != MPI_SUCCESS) self_.give_tag_back(tag_);
  check(code, "MPI_Recv_init");
}

PersistentToken::~PersistentToken() { self_.give_tag_back(tag_); }

void PersistentToken::complete(bool failed) noexcept {
  if (!is_alive()) return;
  // It is received already, or will be when somebody looks: nobody is waited for.
  constexpr char nothing = 0;
  MPI_Request sent = MPI_REQUEST_NULL;
  if (MPI_Isend(&nothing, failed ? 1 : 0, MPI_BYTE, 0, tag_, communicator_, &sent) == MPI_SUCCESS) {
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
}

void progress() {
  if (has_world()) return progress(MPI_COMM_SELF);
  SingleToken token;
  MPI_Request request = token.handle();
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  token.complete(MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace vicinal::mpi

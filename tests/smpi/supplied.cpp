// Functions that SMPI lacks, supplied by MPI's profiling interface: MPI_X defined here replaces
// SMPI's, which is PMPI_X. SimGrid 3.32 declares all of MPI 3, but some functions print "Not yet
// implemented" and return.
//
//   MPI_Improbe, MPI_Imrecv   by MPI_Iprobe and MPI_Irecv. The probe leaves the message in the
//                             queue, so its receive must precede the next probe.
//   MPI_Topo_test             supports Cartesian communicators; SMPI makes no others.
//   MPI_Comm_test_inter       SMPI has no intercommunicators.
//   MPI_Get_elements_x        for MPI_BYTE, the only type that the library uses.
//   MPI_Testall               SMPI's loses the status of requests that completed before the last.
//   MPI_Test                  for a null request, which is complete: SMPI's does not set the flag.
//                             SMPI's MPI_Rget_accumulate completes at once and returns no
//                             request, so a caller that tests for completion would never end.
//
// While all ranks poll, simulated time must advance. SMPI would charge each test of each request
// (smpi/test, smpi/iprobe). Polling a hundred requests would take a hundred times as long, also in
// real time. Here polls are free. A poll that finds nothing, for any number of requests, takes the
// time that the program sets (looks.hpp).
//
// SMPI's nonblocking collectives send a message from each rank to each other rank. Those of MPICH
// and Open MPI take log2(ranks) rounds, which dominate the time of a consensus. So MPI_Ibarrier,
// and MPI_Iallreduce with idempotent operators, are disseminations here: in round k each rank sends
// its data to the rank 2^k further on. Their requests are generalized requests that progress in
// MPI_Test, with which the library waits.
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "looks.hpp"

namespace {

std::chrono::nanoseconds look = setup_look;

/// Sleeps in simulated time.
void look_in_vain() { std::this_thread::sleep_for(look); }

/// Larger than MPI_TAG_UB, so no program uses it.
constexpr int rounds_tag = std::numeric_limits<int>::max();

struct Found {
  int source;
  int tag;
  MPI_Comm communicator;
};

/// A nonblocking collective of this rank. Its operator may combine the same value twice.
class Dissemination {
 public:
  Dissemination(MPI_Comm communicator, void* values, int count, MPI_Datatype type, MPI_Op op)
      : communicator_(communicator), values_(values), count_(count), type_(type), op_(op) {
    PMPI_Comm_rank(communicator, &rank_);
    PMPI_Comm_size(communicator, &size_);
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    arriving_.resize(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(count));
    leaving_.resize(arriving_.size());
  }

  /// Begins the next round if the last one is complete; returns whether all rounds are.
  bool advance() {
    while (true) {
      if (step_ > 0) {
        int done = 0;
        PMPI_Testall(2, messages_, &done, MPI_STATUSES_IGNORE);
        if (done == 0) return false;
        if (count_ > 0) PMPI_Reduce_local(arriving_.data(), values_, count_, type_, op_);
      }
      step_ = step_ == 0 ? 1 : 2 * step_;
      if (step_ >= size_) return true;
      if (count_ > 0) std::memcpy(leaving_.data(), values_, leaving_.size());
      PMPI_Irecv(arriving_.data(), count_, type_, (rank_ - step_ + size_) % size_, rounds_tag,
                 communicator_, &messages_[0]);
      PMPI_Isend(leaving_.data(), count_, type_, (rank_ + step_) % size_, rounds_tag, communicator_,
                 &messages_[1]);
    }
  }

 private:
  MPI_Comm communicator_;
  void* values_;
  int count_;
  MPI_Datatype type_;
  MPI_Op op_;
  int rank_ = 0, size_ = 0;
  int step_ = 0;  ///< distance of this round's messages
  std::vector<std::byte> arriving_, leaving_;
  MPI_Request messages_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

std::map<MPI_Request, Dissemination>& in_progress() {
  static std::map<MPI_Request, Dissemination> all;
  return all;
}

/// Statuses of requests that MPI_Testall found complete before others of the call, by position in
/// the caller's array. Unless persistent, such a request is MPI_REQUEST_NULL meanwhile.
std::map<const MPI_Request*, MPI_Status>& early() {
  static std::map<const MPI_Request*, MPI_Status> all;
  return all;
}

int ignore(void* /*state*/) { return MPI_SUCCESS; }
int ignore_cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }
int tell(void* /*state*/, MPI_Status* /*status*/) { return MPI_SUCCESS; }

int begin(Dissemination dissemination, MPI_Request* request) {
  const int code = PMPI_Grequest_start(tell, ignore, ignore_cancel, nullptr, request);
  if (code != MPI_SUCCESS) return code;
  Dissemination& begun = in_progress().emplace(*request, std::move(dissemination)).first->second;
  begun.advance();
  return MPI_SUCCESS;
}

}  // namespace

void let_looks_take(std::chrono::nanoseconds duration) { look = duration; }

extern "C" {

int MPI_Iprobe(int source, int tag, MPI_Comm communicator, int* flag, MPI_Status* status) {
  const int code = PMPI_Iprobe(source, tag, communicator, flag, status);
  if (*flag == 0) look_in_vain();
  return code;
}

int MPI_Improbe(int source, int tag, MPI_Comm communicator, int* flag, MPI_Message* message,
                MPI_Status* status) {
  const int code = MPI_Iprobe(source, tag, communicator, flag, status);
  if (code != MPI_SUCCESS || *flag == 0) return code;
  *message = new Found{status->MPI_SOURCE, status->MPI_TAG, communicator};
  return MPI_SUCCESS;
}

int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  const auto* const found = static_cast<Found*>(*message);
  const int code =
      PMPI_Irecv(buffer, count, type, found->source, found->tag, found->communicator, request);
  delete found;
  *message = MPI_MESSAGE_NULL;
  return code;
}

int MPI_Topo_test(MPI_Comm communicator, int* kind) {
  int dimensions = 0;
  const bool cartesian = PMPI_Cartdim_get(communicator, &dimensions) == MPI_SUCCESS;
  *kind = cartesian ? static_cast<int>(MPI_CART) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm /*communicator*/, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int MPI_Get_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count* elements) {
  int count = 0;
  const int code = PMPI_Get_count(status, type, &count);
  *elements = count;
  return code;
}

int MPI_Ibarrier(MPI_Comm communicator, MPI_Request* request) {
  return begin(Dissemination(communicator, nullptr, 0, MPI_BYTE, MPI_MAX), request);
}

int MPI_Iallreduce(const void* given, void* values, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm communicator, MPI_Request* request) {
  if (op != MPI_MIN && op != MPI_MAX) {
    return PMPI_Iallreduce(given, values, count, type, op, communicator, request);
  }
  if (given != MPI_IN_PLACE) {
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    std::memcpy(values, given, static_cast<std::size_t>(bytes) * static_cast<std::size_t>(count));
  }
  return begin(Dissemination(communicator, values, count, type, op), request);
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  *flag = 1;
  bool news = false;
  for (MPI_Request* place = requests; place != requests + count; ++place) {
    if (early().contains(place) || *place == MPI_REQUEST_NULL) continue;
    int done = 0;
    MPI_Status status;
    const int code = PMPI_Test(place, &done, &status);
    if (code != MPI_SUCCESS) return code;
    if (done != 0) early().emplace(place, status);
    news = news || done != 0;
    *flag = *flag != 0 && done != 0 ? 1 : 0;
  }
  if (*flag == 0) {
    if (!news) look_in_vain();
    return MPI_SUCCESS;
  }
  for (int i = 0; i < count; ++i) {
    const auto known = early().find(requests + i);
    if (known == early().end()) continue;
    if (statuses != MPI_STATUSES_IGNORE) statuses[i] = known->second;
    early().erase(known);
  }
  return MPI_SUCCESS;
}

int MPI_Testsome(int count, MPI_Request requests[], int* complete, int* which,
                 MPI_Status statuses[]) {
  const int code = PMPI_Testsome(count, requests, complete, which, statuses);
  if (*complete == 0) look_in_vain();
  return code;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (*request == MPI_REQUEST_NULL) *flag = 1;
  const auto mine = in_progress().find(*request);
  if (mine != in_progress().end()) {
    if (!mine->second.advance()) {
      *flag = 0;
      look_in_vain();
      return MPI_SUCCESS;
    }
    in_progress().erase(mine);
    PMPI_Grequest_complete(*request);
  }
  const int code = PMPI_Test(request, flag, status);
  if (*flag == 0) look_in_vain();
  return code;
}
}

#include "foreign.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "mpi_completion.hpp"
#include "wiring.hpp"

namespace fuzz {
namespace {

using Integers = std::vector<int>;

/// Context of one foreign call, with numbers that all ranks know.
struct Place {
  Trial& trial;
  MPI_Comm comm;
  int number;
  bool busy;
  std::vector<Errand>& pending;
  int rank = 0, size = 0, count = 0;
  int next = 0, before = 0;  ///< neighbors in a ring of random step

  [[nodiscard]] int value(int from, int i = 0) const { return number * 1000 + from * 37 + i; }
  [[nodiscard]] Integers values(int from) const {
    Integers list(at(count));
    for (int i = 0; i < count; ++i) list[at(i)] = value(from, i);
    return list;
  }
  void check(bool right, const char* what) const {
    if (!right) trial.fail("foreign call ", number, ": ", what);
  }
  void check_status(const MPI_Status& status, int from, const char* what) const {
    int received = -1;
    MPI_Get_count(&status, MPI_INT, &received);
    const bool right = status.MPI_SOURCE == from && status.MPI_TAG == number && received == count;
    if (!right) {
      trial.fail("foreign call ", number, ": ", what, " has the status of ", received,
                 " integers from rank ", status.MPI_SOURCE, " with tag ", status.MPI_TAG);
    }
  }
};

void broadcast(Place& it) {
  const int root = it.trial.common().below(it.size);
  Integers data = it.rank == root ? it.values(root) : Integers(at(it.count));
  MPI_Bcast(data.data(), it.count, MPI_INT, root, it.comm);
  it.check(data == it.values(root), "MPI_Bcast");
}

/// Returns the sum of all ranks' values.
Integers sums(const Place& it, int ranks) {
  Integers sum(at(it.count));
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < it.count; ++i) sum[at(i)] += it.value(from, i);
  }
  return sum;
}

void reductions(Place& it) {
  const Integers own = it.values(it.rank);
  Integers result(own.size());
  const int root = it.trial.common().below(it.size);
  switch (it.trial.common().below(3)) {
    case 0:
      MPI_Allreduce(own.data(), result.data(), it.count, MPI_INT, MPI_SUM, it.comm);
      return it.check(result == sums(it, it.size), "MPI_Allreduce");
    case 1:
      MPI_Reduce(own.data(), result.data(), it.count, MPI_INT, MPI_SUM, root, it.comm);
      return it.check(it.rank != root || result == sums(it, it.size), "MPI_Reduce");
    default:
      MPI_Scan(own.data(), result.data(), it.count, MPI_INT, MPI_SUM, it.comm);
      return it.check(result == sums(it, it.rank + 1), "MPI_Scan");
  }
}

void gathers_and_scatters(Place& it) {
  const int root = it.trial.common().below(it.size);
  const Integers own = it.values(it.rank);
  Integers all;
  for (int from = 0; from < it.size; ++from) {
    const Integers theirs = it.values(from);
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  Integers result(all.size());
  switch (it.trial.common().below(3)) {
    case 0:
      MPI_Gather(own.data(), it.count, MPI_INT, result.data(), it.count, MPI_INT, root, it.comm);
      return it.check(it.rank != root || result == all, "MPI_Gather");
    case 1:
      result.resize(own.size());
      MPI_Scatter(all.data(), it.count, MPI_INT, result.data(), it.count, MPI_INT, root, it.comm);
      return it.check(result == own, "MPI_Scatter");
    default: {
      Integers sent(at(it.size)), expected(at(it.size));
      for (int other = 0; other < it.size; ++other) {
        sent[at(other)] = it.value(it.rank, other);
        expected[at(other)] = it.value(other, it.rank);
      }
      result.resize(sent.size());
      MPI_Alltoall(sent.data(), 1, MPI_INT, result.data(), 1, MPI_INT, it.comm);
      return it.check(result == expected, "MPI_Alltoall");
    }
  }
}

void ring(Place& it) {
  const Integers own = it.values(it.rank);
  Integers result(own.size());
  MPI_Status status;
  MPI_Sendrecv(own.data(), it.count, MPI_INT, it.next, it.number, result.data(), it.count, MPI_INT,
               it.before, it.number, it.comm, &status);
  it.check(result == it.values(it.before), "MPI_Sendrecv");
  it.check_status(status, it.before, "MPI_Sendrecv");
}

/// Each rank sends without blocking and receives what a probe finds.
void probes(Place& it) {
  const Integers own = it.values(it.rank);
  Integers result(own.size());
  MPI_Request request = MPI_REQUEST_NULL;
  const bool synchronous = it.trial.common().chance(50);
  (synchronous ? MPI_Issend : MPI_Isend)(own.data(), it.count, MPI_INT, it.next, it.number, it.comm,
                                         &request);
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
  const int from = it.trial.own().chance(50) ? it.before : MPI_ANY_SOURCE;
  int flag = 0;
  switch (it.trial.own().below(4)) {
    case 0: MPI_Probe(from, it.number, it.comm, &status); break;
    case 1: MPI_Mprobe(from, it.number, it.comm, &message, &status); break;
    case 2:
      while (flag == 0) MPI_Iprobe(from, it.number, it.comm, &flag, &status);
      break;
    default:
      while (flag == 0) MPI_Improbe(from, it.number, it.comm, &flag, &message, &status);
      break;
  }
  it.check_status(status, it.before, "a probe");
  if (message != MPI_MESSAGE_NULL) {
    MPI_Mrecv(result.data(), it.count, MPI_INT, &message, &status);
  } else {
    MPI_Recv(result.data(), it.count, MPI_INT, from, it.number, it.comm, &status);
  }
  it.check(result == it.values(it.before), "a receive after a probe");
  it.check_status(status, it.before, "a receive after a probe");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// Sends blocking messages along a chain of ranks.
void chain(Place& it) {
  Integers data(at(it.count));
  if (it.rank > 0) {
    MPI_Recv(data.data(), it.count, MPI_INT, it.rank - 1, it.number, it.comm, MPI_STATUS_IGNORE);
    it.check(data == it.values(it.rank - 1), "MPI_Recv");
  }
  if (it.rank + 1 == it.size) return;
  data = it.values(it.rank);
  const bool synchronous = it.trial.common().chance(50);
  (synchronous ? MPI_Ssend : MPI_Send)(data.data(), it.count, MPI_INT, it.rank + 1, it.number,
                                       it.comm);
}

void persistent_messages(Place& it) {
  Integers own(at(it.count)), result(at(it.count));
  std::array<MPI_Request, 2> requests{};
  MPI_Send_init(own.data(), it.count, MPI_INT, it.next, it.number, it.comm, requests.data());
  MPI_Recv_init(result.data(), it.count, MPI_INT, it.before, it.number, it.comm, &requests[1]);
  for (int iteration = 0; iteration < 2; ++iteration) {
    const Integers sent = it.values(it.rank + iteration);
    std::copy(sent.begin(), sent.end(), own.begin());
    MPI_Startall(2, requests.data());
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    it.check(result == it.values(it.before + iteration), "a persistent receive");
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

void cancelled(Place& it) {
  int unused = 0, flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Irecv(&unused, 1, MPI_INT, it.before, it.number, it.comm, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  it.check(flag != 0, "MPI_Cancel");
}

/// Checks a new communicator by a reduction and frees it.
void try_out(Place& it, MPI_Comm comm, const char* what) {
  if (comm == MPI_COMM_NULL) return;
  int size = 0, sum = 0;
  const int one = 1;
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  it.check(sum == size, what);
  MPI_Comm_free(&comm);
}

void communicators(Place& it) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  int function = it.trial.common().below(5);
#ifdef MPICH_VERSION
  // MPICH 5.0.2 itself may hang in MPI_Comm_create_group() while collectives are pending.
  if (function == 3 && it.busy) function = 4;
#endif
  switch (function) {
    case 0:
      MPI_Comm_split(it.comm, it.rank % 2, -it.rank, &made);
      return try_out(it, made, "MPI_Comm_split");
    case 1:
      MPI_Comm_split_type(it.comm, MPI_COMM_TYPE_SHARED, it.rank, MPI_INFO_NULL, &made);
      return try_out(it, made, "MPI_Comm_split_type");
    case 2: MPI_Comm_dup(it.comm, &made); return try_out(it, made, "MPI_Comm_dup");
    case 3:
      MPI_Comm_group(it.comm, &group);
      MPI_Comm_create_group(it.comm, group, it.number, &made);
      MPI_Group_free(&group);
      return try_out(it, made, "MPI_Comm_create_group");
    default:
      MPI_Comm_group(it.comm, &group);
      MPI_Comm_create(it.comm, group, &made);
      MPI_Group_free(&group);
      return try_out(it, made, "MPI_Comm_create");
  }
}

/// Makes an intercommunicator between the even and odd ranks.
void between_groups(Place& it) {
  if (it.size < 2) return;
  MPI_Comm part = MPI_COMM_NULL, between = MPI_COMM_NULL, merged = MPI_COMM_NULL;
  MPI_Comm_split(it.comm, it.rank % 2, it.rank, &part);
  MPI_Intercomm_create(part, 0, it.comm, it.rank % 2 == 0 ? 1 : 0, it.number, &between);
  MPI_Barrier(between);
  MPI_Intercomm_merge(between, it.rank % 2, &merged);
  MPI_Comm_free(&between);
  MPI_Comm_free(&part);
  try_out(it, merged, "MPI_Intercomm_merge");
}

void windows(Place& it) {
  int* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, it.comm, &memory, &window);
  const int own = it.value(it.rank);
#ifdef MPICH_VERSION
  // MPICH calls no progress function while it waits for a lock: see docs/preload.md.
  const bool locks = !it.busy || !is_preloaded();
#else
  const bool locks = true;
#endif
  if (it.trial.common().chance(50) && locks) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, it.next, 0, window);
    MPI_Put(&own, 1, MPI_INT, it.next, 0, 1, MPI_INT, window);
    MPI_Win_unlock(it.next, window);
    MPI_Barrier(it.comm);
    MPI_Win_lock(MPI_LOCK_SHARED, it.rank, 0, window);
    it.check(*memory == it.value(it.before), "MPI_Put under a lock");
    MPI_Win_unlock(it.rank, window);
  } else {
    MPI_Win_fence(0, window);
    MPI_Put(&own, 1, MPI_INT, it.next, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    it.check(*memory == it.value(it.before), "MPI_Put between fences");
  }
  MPI_Win_free(&window);
}

void questions(Place& it) {
  int found = 0;
  MPI_Comm copy = MPI_COMM_NULL;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  int mark = it.number;
  MPI_Comm_set_attr(it.comm, key, &mark);
  MPI_Comm_dup(it.comm, &copy);
  int* there = nullptr;
  MPI_Comm_get_attr(copy, key, static_cast<void*>(&there), &found);
  it.check(found != 0 && there == &mark, "an attribute of a duplicate");
  int same = MPI_UNEQUAL;
  MPI_Comm_compare(it.comm, copy, &same);
  it.check(same == MPI_CONGRUENT, "MPI_Comm_compare");
#ifndef OPEN_MPI
  // In Open MPI 5.0.11, a communicator also has its parent's topology; its duplicate has only one.
  int topology = 0, its_topology = 0;
  MPI_Topo_test(it.comm, &topology);
  MPI_Topo_test(copy, &its_topology);
  it.check(topology == its_topology, "MPI_Topo_test of a duplicate");
#endif
  MPI_Comm_free(&copy);
  MPI_Comm_delete_attr(it.comm, key);
  MPI_Comm_free_keyval(&key);
}

/// Leaves a message in flight in both directions of the ring.
void pending_messages(Place& it) {
  const auto own = std::make_shared<Integers>(it.values(it.rank));
  const auto result = std::make_shared<Integers>(at(it.count));
  MPI_Request request = MPI_REQUEST_NULL;
  const auto receive = [&] {
    MPI_Irecv(result->data(), it.count, MPI_INT, it.before, it.number, it.comm, &request);
    it.pending.push_back({request, [it, result](const MPI_Status* status) {
                            it.check(*result == it.values(it.before), "MPI_Irecv");
                            if (status != nullptr) it.check_status(*status, it.before, "MPI_Irecv");
                          }});
  };
  const auto send = [&] {
    MPI_Isend(own->data(), it.count, MPI_INT, it.next, it.number, it.comm, &request);
    it.pending.push_back({request, [it, own](const MPI_Status*) {
                            it.check(*own == it.values(it.rank), "MPI_Isend");
                          }});
  };
  const bool sends_first = it.trial.own().chance(50);
  if (sends_first) send();
  receive();
  if (!sends_first) send();
}

void pending_collectives(Place& it) {
  Errand errand;
  errand.is_collective = true;
  const auto own = std::make_shared<Integers>(it.values(it.rank));
  const auto result = std::make_shared<Integers>(at(it.count));
  if (it.trial.common().chance(30)) {
    MPI_Ibarrier(it.comm, &errand.request);
    errand.check = [](const MPI_Status*) {};
  } else {
    MPI_Iallreduce(own->data(), result->data(), it.count, MPI_INT, MPI_SUM, it.comm,
                   &errand.request);
    errand.check = [it, own, result](const MPI_Status*) {
      it.check(*result == sums(it, it.size), "MPI_Iallreduce");
    };
  }
  it.pending.push_back(std::move(errand));
}

/// Makes a generalized request that is complete from the start.
void generalized(Place& it) {
  Errand errand;
  MPI_Grequest_start(
      [](void*, MPI_Status* status) {
        status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
        MPI_Status_set_cancelled(status, 0);
        return MPI_Status_set_elements(status, MPI_BYTE, 0);
      },
      [](void*) { return MPI_SUCCESS; }, [](void*, int) { return MPI_SUCCESS; }, nullptr,
      &errand.request);
  MPI_Grequest_complete(errand.request);
  errand.check = [](const MPI_Status*) {};
  it.pending.push_back(std::move(errand));
}

struct Kind {
  const char* name;
  void (*call)(Place&);
  bool makes_comms = false;
};
constexpr Kind kinds[] = {
    {"a barrier", [](Place& it) { MPI_Barrier(it.comm); }},
    {"a broadcast", broadcast},
    {"a reduction", reductions},
    {"a gather or scatter", gathers_and_scatters},
    {"a ring", ring},
    {"probes", probes},
    {"a chain", chain},
    {"persistent messages", persistent_messages},
    {"a cancelled receive", cancelled},
    {"another communicator", communicators, true},
    {"an inter-communicator", between_groups, true},
    {"a window", windows, true},
    {"attributes", questions, true},
    {"pending messages", pending_messages},
    {"pending messages", pending_messages},
    {"a pending collective", pending_collectives},
    {"a generalized request", generalized},
};

}  // namespace

void call_foreign(Trial& trial, MPI_Comm comm, const Surroundings& around,
                  std::vector<Errand>& pending) {
  Random& common = trial.common();
  Kind kind = common.pick(kinds);
  if (kind.makes_comms && !around.may_make_comms) kind = {"a ring", ring};
  Place it{trial, comm, around.number, around.busy, pending};
  MPI_Comm_rank(comm, &it.rank);
  MPI_Comm_size(comm, &it.size);
  it.count = common.pick(std::vector<int>{1, 1, 50, 500, 30000});
  const int step = common.below(it.size);
  it.next = (it.rank + step) % it.size;
  it.before = (it.rank + it.size - step) % it.size;
  trial.note("foreign call ", around.number, ": ", kind.name, ", ", it.count, " integers");
  kind.call(it);
}

}  // namespace fuzz

// A rank that has no memory left, for a moment. To remember an allgather by: its call fails, and the others wait until it calls
// again, whoever carries the call out. For what serves a communicator that is made: all have MPI serve it.
#include <unistd.h>

#include <new>

#include "device.h"

namespace {

/// Which of the objects that are made next cannot be made; 0: none.
thread_local int failing = 0;
/// How many in a row.
int in_a_row = 1;
/// Which of the attributes that are set next cannot be; 0: none.
int failing_attributes = 0;
/// Whether this rank is late once MPI has made a communicator with neighbours.
bool is_late = false;

enum { often = 24, most = 13 };

int source[most], target[64 * most];

int value(int of, int i, int turn) { return of * 10000 + i * 100 + turn; }

int gather(MPI_Comm comm, int count, int failing_object) {
  failing = failing_object;
  const int code = MPI_Allgather(source, count, MPI_INT, target, count, MPI_INT, comm);
  failing = 0;
  return code;
}

/// This rank fails in those turns of which it is the one.
void gather_again(MPI_Comm comm, int count, int turn, int failing_object) {
  for (int i = 0; i < count; ++i) source[i] = value(rank, i, turn);
  for (int i = 0; i < ranks * count; ++i) target[i] = -1;
  int code = gather(comm, count, rank == turn % ranks ? failing_object : 0);
  if (code != MPI_SUCCESS) {
    int kind = 0;
    MPI_Error_class(code, &kind);
    CHECK(kind == MPI_ERR_NO_MEM);
    CHECK(rank == turn % ranks);
    code = gather(comm, count, 0);
  }
  CHECK(code == MPI_SUCCESS);
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < count; ++i) CHECK(target[from * count + i] == value(from, i, turn));
  }
}

void exchange_on(MPI_Comm comm, int turns) {
  Exchange it = make_exchange();
  for (int turn = 0; turn < turns; ++turn) {
    fill(&it, turn);
    MPI_Neighbor_alltoallv(SENT(it), GOT(it), comm);
    check_exchange(&it, turn);
  }
  free_exchange(&it);
}

/// With the neighbours of a grid of two dimensions.
void exchange_in_grid(MPI_Comm comm, int turns) {
  int from[4];
  for (int i = 0; i < 2; ++i) MPI_Cart_shift(comm, i, 1, &from[2 * i], &from[2 * i + 1]);
  for (int turn = 0; turn < turns; ++turn) {
    int sent[4], got[4];
    for (int i = 0; i < 4; ++i) sent[i] = value(rank, i, turn);
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
    for (int i = 0; i < 4; ++i) CHECK(got[i] == value(from[i], i ^ 1, turn));
  }
}

/// Makes a communicator of a given one.
using Make = MPI_Comm (*)(MPI_Comm of);
/// Exchanges on it so often.
using Use = void (*)(MPI_Comm comm, int turns);

/// One in which, with 4 ranks, both sides of a dimension are one rank: Open MPI mixes these up.
MPI_Comm grid(MPI_Comm of) {
  int sizes[] = {0, 0};
  const int periodic[] = {1, 1};
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Dims_create(ranks, 2, sizes);
  MPI_Cart_create(of, 2, sizes, periodic, 0, &made);
  return made;
}

MPI_Comm all_of_grid(MPI_Comm of) {
  const int remain[] = {1, 1};
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Cart_sub(of, remain, &made);
  return made;
}

MPI_Comm duplicate(MPI_Comm of) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(of, &copy);
  return copy;
}

MPI_Comm duplicate_later(MPI_Comm of) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(of, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return copy;
}

/// Makes one while the MPI of one rank, each in turn, has no memory for what is attached to it.
void make_without_attributes(MPI_Comm of, Make make, int attributes) {
  for (int attribute = 1; attribute <= attributes; ++attribute) {
    for (int turn = -1; turn < ranks; ++turn) {
      failing_attributes = rank == turn ? attribute : 0;
      MPI_Comm made = make(of);
      failing_attributes = 0;
      exchange_on(made, 12);
      MPI_Comm_free(&made);
    }
  }
}

/// Makes one again and again while a rank, each in turn, has no memory for one of the objects that it takes; until it has
/// for all of them. `make_parent`: of what, for each anew.
void make_without_objects(Make make_parent, Make make, Use use = exchange_on) {
  const int step = ranks > 4 ? 3 : 1;  // many ranks on a few cores take their time
  for (int object = 1, spared = 0; spared < ranks; object += step) {
    const int poor = object % ranks;
    MPI_Comm parent = make_parent(MPI_COMM_WORLD);
    // The others come late to what is set up first, so that this one waits long enough to sleep.
    if (rank != poor && object <= 60) usleep(30000);
    failing = rank == poor ? object : 0;
    MPI_Comm made = make(parent);
    int was_wanted = failing == 0;
    failing = 0;
    MPI_Bcast(&was_wanted, 1, MPI_INT, poor, MPI_COMM_WORLD);
    spared = was_wanted ? 0 : spared + 1;
    // What a later duplicate needs is kept on all ranks, or on none.
    MPI_Comm copy = duplicate_later(made);
    use(made, 2);
    use(copy, 2);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&made);
    MPI_Comm_free(&parent);
  }
}

/// Makes the first one of the process, in which all but one rank wait for that one, and each has no memory for another of the
/// objects that come first.
void make_first_without_objects(int object) {
  is_late = rank == ranks - 1;
  failing = is_late ? 0 : object + rank;
  MPI_Comm made = all_with_all_of(MPI_COMM_WORLD);
  failing = 0;
  is_late = false;
  exchange_on(made, 2);
  MPI_Comm_free(&made);
}

enum Form { counts, counts_later, blocks, blocks_later, persistent, forms };

/// Of calls that go on at once, each of as much.
enum { most_at_once = 2 };

/// Exchanges from their beginnings to their ends: one, or, of those that may, some at once. What the first has failed with.
int exchange_by(Form form, Exchange* them, MPI_Comm comm) {
  const bool later = form == counts_later || form == blocks_later;
  MPI_Request requests[most_at_once];
  int codes[most_at_once];
  for (int i = 0; i < (later ? most_at_once : 1); ++i) {
    Exchange& it = them[i];
    MPI_Request& request = requests[i] = MPI_REQUEST_NULL;
    int& code = codes[i];
    switch (form) {
      case counts: return MPI_Neighbor_alltoallv(SENT(it), GOT(it), comm);
      case blocks: return MPI_Neighbor_alltoall(it.source, 7, MPI_INT, it.target, 7, MPI_INT, comm);
      case counts_later: code = MPI_Ineighbor_alltoallv(SENT(it), GOT(it), comm, &request); break;
      case blocks_later:
        code = MPI_Ineighbor_alltoall(it.source, 7, MPI_INT, it.target, 7, MPI_INT, comm, &request);
        break;
      default:
        code = MPI_Neighbor_alltoallv_init(SENT(it), GOT(it), comm, MPI_INFO_NULL, &request);
        if (code == MPI_SUCCESS) code = MPI_Start(&request);
    }
  }
  int first = MPI_SUCCESS;
  for (int i = 0; i < (later ? most_at_once : 1); ++i) {
    if (codes[i] == MPI_SUCCESS) codes[i] = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
    if (first == MPI_SUCCESS) first = codes[i];
  }
  return first;
}

/// Exchanges again and again while a rank, each in turn, has no memory for one of the objects that it takes; until it has for all
/// of them. All come to its end, well or not, and to that of the next, of which some fail, too, where a plan was lost.
void exchange_without_objects(Form form) {
  Exchange them[most_at_once] = {make_exchange(), make_exchange()};
  Exchange& it = them[0];
  for (int object = 1, spared = 0; spared < ranks; ++object) {
    const int poor = object % ranks;
    MPI_Comm comm = all_with_all();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    exchange_on(comm, 9);
    for (Exchange& each : them) fill(&each, object);
    failing = rank == poor ? object : 0;
    const int code = exchange_by(form, them, comm);
    int was_wanted = failing == 0;
    failing = 0;
    if (code != MPI_SUCCESS) {
      int kind = 0;
      MPI_Error_class(code, &kind);
      // An execution of a persistent request that has failed is a message that is too long, to MPI.
      const bool has_failed_later = form == persistent && kind == MPI_ERR_TRUNCATE;
      CHECK(has_failed_later || kind == (rank == poor ? MPI_ERR_NO_MEM : MPI_ERR_OTHER));
    } else if (form == blocks || form == blocks_later) {
      for (int k = 0; k < 7 * it.degree; ++k) {
        CHECK(it.target[k] == value_of((rank + k / 7 + 1) % ranks, rank, k % 7, object));
      }
    } else {
      check_exchange(&it, object);
    }
    MPI_Bcast(&was_wanted, 1, MPI_INT, poor, MPI_COMM_WORLD);
    spared = was_wanted ? 0 : spared + 1;
    fill(&it, object + 1);
    if (exchange_by(counts, &it, comm) == MPI_SUCCESS) check_exchange(&it, object + 1);
    MPI_Comm_free(&comm);
  }
  for (Exchange& each : them) free_exchange(&each);
}

/// Exchanges what lies in a GPU's memory by MPI itself, for comparison, while a rank, each in turn, has no memory for one of the
/// objects that this takes: it takes part all the same, and has its fault.
void exchange_by_mpi_without_objects() {
  begin_device();
  Exchange it = make_exchange();
  const int all = 7 * ranks;
  int* const source = device_array(all);
  int* const target = device_array(all);
  MPI_Comm comm = all_with_all();
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int object = 1, spared = 0; spared < ranks; ++object) {
    const int poor = object % ranks;
    fill(&it, object);
    copy(source, it.source, all);
    copy(target, it.target, all);
    failing = rank == poor ? object : 0;
    const int code = MPI_Neighbor_alltoallv(source, it.counts, it.places, MPI_INT, target,
                                            it.got_counts, it.got_places, MPI_INT, comm);
    int was_wanted = failing == 0;
    failing = 0;
    if (code != MPI_SUCCESS) {
      int kind = 0;
      MPI_Error_class(code, &kind);
      CHECK(rank == poor && kind == MPI_ERR_NO_MEM);
    }
    if (code == MPI_SUCCESS) {
      copy(it.target, target, all);
      check_exchange(&it, object);
    }
    MPI_Bcast(&was_wanted, 1, MPI_INT, poor, MPI_COMM_WORLD);
    spared = was_wanted ? 0 : spared + 1;
  }
  MPI_Comm_free(&comm);
  free_exchange(&it);
}

}  // namespace

void* operator new(std::size_t bytes) {
  thread_local int row = 0;
  if (row > 0 || (failing > 0 && --failing == 0)) {
    row = (row + 1) % in_a_row;
    throw std::bad_alloc();
  }
  void* const made = malloc(bytes);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
void operator delete(void* made) noexcept { free(made); }
void operator delete(void* made, std::size_t /*bytes*/) noexcept { free(made); }

/// What the library calls, before MPI's own.
extern "C" int PMPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  if (failing_attributes > 0 && --failing_attributes == 0) return MPI_ERR_NO_MEM;
  using Function = int (*)(MPI_Comm, int, void*);
  static const auto mpis = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "PMPI_Comm_set_attr"));
  return mpis(comm, key, value);
}

extern "C" int PMPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int* sources,
                                               const int* sourceweights, int outdegree,
                                               const int* destinations, const int* destweights,
                                               MPI_Info info, int reorder, MPI_Comm* made) {
  using Function = int (*)(MPI_Comm, int, const int*, const int*, int, const int*, const int*,
                           MPI_Info, int, MPI_Comm*);
  static const auto mpis =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "PMPI_Dist_graph_create_adjacent"));
  const int code = mpis(comm, indegree, sources, sourceweights, outdegree, destinations,
                        destweights, info, reorder, made);
  if (is_late) usleep(50000);
  return code;
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  if (const char* const object = getenv("FIRST_OBJECT")) {
    make_first_without_objects(atoi(object));
    return end_program();
  }
  if (const char* const row = getenv("IN_CALLS")) {
    in_a_row = atoi(row);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // of requests
    for (int form = 0; form < forms; ++form) exchange_without_objects(Form(form));
    return end_program();
  }
  if (getenv("BY_MPI") != nullptr) {
    exchange_by_mpi_without_objects();
    return end_program();
  }
  if (const char* const object = getenv("REPORTED")) {
    make_without_objects(duplicate, all_with_all_of);
    make_without_objects(grid, all_of_grid, exchange_in_grid);
    failing = rank == ranks - 1 ? atoi(object) : 0;  // at the end
    return end_program();
  }
  // A communicator that is set up early, since there is a graph.
  MPI_Comm comm, graph;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Dist_graph_create_adjacent(comm, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Comm_free(&graph);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int turn = 0; turn < often; ++turn) gather_again(comm, 1, turn, 0);
  for (int object = 1; object <= 3; ++object) {
    for (int turn = 0; turn < often; ++turn) {
      // The eighth call finds out whether a plan pays, which takes more memory.
      gather_again(comm, 10 + object, turn, turn < ranks ? object : turn == 7 ? 2 : 1);
    }
  }
  MPI_Comm_free(&comm);
  // With threads, a duplicate has another communicator of the library's own, which is an attribute as well.
  MPI_Comm original = all_with_all();
  make_without_attributes(MPI_COMM_WORLD, all_with_all_of, 1);
  make_without_attributes(original, duplicate, getenv("THREADS") != nullptr ? 2 : 1);
  MPI_Comm_free(&original);
  make_without_objects(duplicate, all_with_all_of);
  make_without_objects(all_with_all_of, duplicate);
  make_without_objects(all_with_all_of, duplicate_later);
  return end_program();
}

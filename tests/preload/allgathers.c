/* Repeated allgathers over all ranks of a communicator, with frequent and other sizes. Blocking,
 * nonblocking and persistent ones are in flight at once. Some have datatypes with gaps, blocks
 * out of order, or empty blocks. Types and communicators are freed while in use. Some calls must
 * remain MPI's. */
#include "programs.h"

enum { often = 24, largest = 40 };

static int source[4 * largest], target[64 * 4 * largest], counts[64], places[64];

static int value(int of, int i, int turn) { return of * 10000 + i * 100 + turn % 100; }

static void fill_blocks(int count, int turn) {
  for (int i = 0; i < count; ++i) source[i] = value(rank, i, turn);
  for (int i = 0; i < ranks * 4 * largest; ++i) target[i] = -1;
}
static void check_blocks(int count, int turn) {
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < count; ++i) CHECK(target[from * count + i] == value(from, i, turn));
  }
  CHECK(target[ranks * count] == -1);
}

/* Makes a communicator with a graph, which is set up early. */
static MPI_Comm with_graph(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(copy, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Comm_free(&graph);
  return copy;
}

static void one_size(MPI_Comm comm, int count) {
  for (int turn = 0; turn < often; ++turn) {
    fill_blocks(count, turn);
    MPI_Allgather(source, count, MPI_INT, target, count, MPI_INT, comm);
    check_blocks(count, turn);
  }
}

static void in_place(MPI_Comm comm) {
  for (int turn = 0; turn < often; ++turn) {
    fill_blocks(3, turn);
    for (int i = 0; i < 3; ++i) target[3 * rank + i] = source[i];
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, target, 3, MPI_INT, comm);
    check_blocks(3, turn);
  }
}

/* Alternates three sizes; some ranks give the same bytes by other types. */
static void sizes_in_turn(MPI_Comm comm) {
  for (int turn = 0; turn < 3 * often; ++turn) {
    const int count = 2 << turn % 3;
    fill_blocks(count, turn);
    MPI_Datatype half;
    MPI_Type_contiguous(count / 2, MPI_INT, &half);
    MPI_Type_commit(&half);
    if (rank % 2 == turn % 2) {
      MPI_Allgather(source, 2, half, target, count, MPI_INT, comm);
    } else {
      MPI_Allgather(source, count, MPI_INT, target, 2, half, comm);
    }
    MPI_Type_free(&half);
    check_blocks(count, turn);
  }
}

/* Uses more sizes than the library remembers, so that some are forgotten and recur. */
static void many_sizes(MPI_Comm comm) {
  for (int round = 0; round < 2; ++round) {
    for (int count = 1; count <= 20; ++count) {
      for (int turn = 0; turn < 10; ++turn) {
        fill_blocks(count, turn);
        MPI_Allgather(source, count, MPI_INT, target, count, MPI_INT, comm);
        check_blocks(count, turn);
      }
    }
  }
}

/* Each rank has another count, some 0; blocks are in reverse order, with gaps between them. */
static void of_counts(MPI_Comm comm, int gap) {
  for (int turn = 0; turn < often; ++turn) {
    int all = 0;
    for (int from = ranks - 1; from >= 0; --from) {
      counts[from] = from % 3 == 1 ? 0 : 1 + from % 4;
      places[from] = all;
      all += counts[from] + gap;
    }
    fill_blocks(counts[rank], turn);
    if (turn % 3 == 2) {
      for (int i = 0; i < counts[rank]; ++i) target[places[rank] + i] = source[i];
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, target, counts, places, MPI_INT, comm);
    } else {
      MPI_Allgatherv(source, counts[rank], MPI_INT, target, counts, places, MPI_INT, comm);
    }
    for (int from = 0; from < ranks; ++from) {
      for (int i = 0; i < counts[from]; ++i) {
        CHECK(target[places[from] + i] == value(from, i, turn));
      }
      if (gap > 0) CHECK(target[places[from] + counts[from]] == -1);
    }
  }
}

/* Blocks in rank order without gaps. The counts alternate between two sets; displacements change
 * in every call. */
static void counts_in_turn(MPI_Comm comm) {
  for (int turn = 0; turn < 2 * often; ++turn) {
    int all = rank == turn % ranks ? 5 : 0; /* only this rank begins at 5 */
    const int begin = all;
    for (int from = 0; from < ranks; ++from) {
      counts[from] = turn % 2 == 0 ? 2 + from : 3;
      places[from] = all;
      all += counts[from];
    }
    fill_blocks(counts[rank], turn);
    MPI_Allgatherv(source, counts[rank], MPI_INT, target, counts, places, MPI_INT, comm);
    for (int from = 0; from < ranks; ++from) {
      for (int i = 0; i < counts[from]; ++i) {
        CHECK(target[places[from] + i] == value(from, i, turn));
      }
    }
    if (begin > 0) CHECK(target[begin - 1] == -1);
  }
}

static void nothing(MPI_Comm comm) {
  for (int from = 0; from < ranks; ++from) counts[from] = places[from] = 0;
  for (int turn = 0; turn < often; ++turn) {
    fill_blocks(1, turn);
    MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm);
    MPI_Allgatherv(NULL, 0, MPI_INT, target, counts, places, MPI_INT, comm);
    CHECK(target[0] == -1);
  }
}

/* Every second integer. */
static MPI_Datatype with_gaps(void) {
  MPI_Datatype two, wide;
  MPI_Type_vector(2, 1, 2, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 4 * sizeof(int), &wide);
  MPI_Type_commit(&wide);
  MPI_Type_free(&two);
  return wide;
}

static void gaps(MPI_Comm comm) {
  for (int turn = 0; turn < often; ++turn) {
    MPI_Datatype wide = with_gaps();
    MPI_Request request;
    fill_blocks(4, turn);
    if (turn % 2 == 0) {
      MPI_Allgather(source, 1, wide, target, 1, wide, comm);
      MPI_Type_free(&wide);
    } else {
      MPI_Iallgather(source, 1, wide, target, 1, wide, comm, &request);
      MPI_Type_free(&wide);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int from = 0; from < ranks; ++from) {
      CHECK(target[4 * from] == value(from, 0, turn) && target[4 * from + 1] == -1);
      CHECK(target[4 * from + 2] == value(from, 2, turn) && target[4 * from + 3] == -1);
    }
  }
}

/* Twelve allgathers in flight, of three sizes and both functions, with blocking calls and a
 * barrier between them. The last one is waited for first. */
static void in_flight(MPI_Comm comm) {
  enum { flights = 12 };
  static int own[flights][8], got[flights][64 * 8];
  for (int round = 0; round < often / 2; ++round) {
    MPI_Request all[flights];
    for (int i = 0; i < flights; ++i) {
      const int count = 2 << i % 3;
      for (int k = 0; k < 8; ++k) own[i][k] = value(rank, k, round + i);
      if (i % 2 == 0) {
        MPI_Iallgather(own[i], count, MPI_INT, got[i], count, MPI_INT, comm, &all[i]);
      } else {
        for (int from = 0; from < ranks; ++from) counts[from] = count, places[from] = from * count;
        int* kept = malloc(sizeof(int) * 128);
        memcpy(kept, counts, sizeof counts), memcpy(kept + 64, places, sizeof places);
        MPI_Iallgatherv(own[i], count, MPI_INT, got[i], kept, kept + 64, MPI_INT, comm, &all[i]);
      } /* MPI may read the counts until completion */
      if (i == 5) {
        fill_blocks(2, round);
        MPI_Allgather(source, 2, MPI_INT, target, 2, MPI_INT, comm);
        check_blocks(2, round);
      }
      if (i == 8 && round % 2 == 0) MPI_Barrier(comm);
    }
    if (round % 3 == 0) MPI_Wait(&all[flights - 1], MPI_STATUS_IGNORE);
    if (round % 3 == 1) {
      for (int done = 0; !done;) MPI_Testall(flights, all, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(flights, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < flights; ++i) {
      const int count = 2 << i % 3;
      for (int at = 0; at < ranks * count; ++at) {
        CHECK(got[i][at] == value(at / count, at % count, round + i));
      }
    }
  }
}

/* Between start and wait, some ranks wait in other MPI functions. */
static void waiting_elsewhere(MPI_Comm comm) {
  for (int turn = 0; turn < often; ++turn) {
    MPI_Request request;
    fill_blocks(2, turn);
    MPI_Iallgather(source, 2, MPI_INT, target, 2, MPI_INT, comm, &request);
    if (rank % 2 == turn % 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
    int token = turn;
    if (rank == 0 && ranks > 1) MPI_Send(&token, 1, MPI_INT, ranks - 1, 7, MPI_COMM_WORLD);
    if (rank == ranks - 1 && ranks > 1) {
      MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_blocks(2, turn);
  }
}

/* With a size used by nonblocking calls only, a call must not wait for other ranks. Rank 1
 * begins after a message that rank 0 sends after its own beginning. */
static void begun_before_a_message(MPI_Comm comm) {
  for (int turn = 0; turn < often; ++turn) {
    MPI_Request request;
    int token = turn;
    fill_blocks(23, turn);
    if (rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallgather(source, 23, MPI_INT, target, 23, MPI_INT, comm, &request);
    if (rank == 0 && ranks > 1) MPI_Send(&token, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(token == turn);
    check_blocks(23, turn);
    if (turn == often / 2) one_size(comm, 2); /* here it may get a plan */
  }
}

/* All other ranks spend their time waiting for one rank, which does not know. */
static void for_a_slow_rank(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int turn = 0; turn < 2 * often; ++turn) {
    const double begin = MPI_Wtime();
    while (rank == 0 && turn < 16 && MPI_Wtime() - begin < 0.02) continue;
    fill_blocks(2, turn);
    MPI_Allgather(source, 2, MPI_INT, target, 2, MPI_INT, comm);
    check_blocks(2, turn);
  }
  MPI_Comm_free(&comm);
}

static void freed_under_way(void) {
  MPI_Comm comm = with_graph();
  one_size(comm, 2);
  static int own[2], got[128];
  MPI_Request request;
  own[0] = value(rank, 0, 1), own[1] = value(rank, 1, 1);
  MPI_Iallgather(own, 2, MPI_INT, got, 2, MPI_INT, comm, &request);
  MPI_Comm_free(&comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int at = 0; at < 2 * ranks; ++at) CHECK(got[at] == value(at / 2, at % 2, 1));
}

/* Each half of all ranks gets the other half's blocks. */
static void between_groups(void) {
  if (ranks < 2) return;
  const int low = rank < ranks / 2;
  MPI_Comm half, both;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, 3, &both);
  for (int turn = 0; turn < often; ++turn) {
    int own = value(rank, 0, turn), got[64];
    MPI_Allgather(&own, 1, MPI_INT, got, 1, MPI_INT, both);
    const int first = low ? ranks / 2 : 0, last = low ? ranks : ranks / 2;
    for (int from = first; from < last; ++from) CHECK(got[from - first] == value(from, 0, turn));
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

#if MPI_VERSION >= 4 || defined(OPEN_MPI)
static void persistent_ones(MPI_Comm comm) {
  enum { sets = 3 };
  static int own[sets][8], got[sets][64 * 8];
  MPI_Request all[sets];
  for (int from = 0; from < ranks; ++from) counts[from] = 1 + from % 2, places[from] = 2 * from;
  MPI_Allgather_init(own[0], 2, MPI_INT, got[0], 2, MPI_INT, comm, MPI_INFO_NULL, &all[0]);
  MPI_Allgather_init(own[1], 4, MPI_INT, got[1], 4, MPI_INT, comm, MPI_INFO_NULL, &all[1]);
  MPI_Allgatherv_init(own[2], counts[rank], MPI_INT, got[2], counts, places, MPI_INT, comm,
                      MPI_INFO_NULL, &all[2]);
  for (int turn = 0; turn < often; ++turn) {
    for (int set = 0; set < sets; ++set) {
      for (int k = 0; k < 8; ++k) own[set][k] = value(rank, k, turn + set);
      for (int at = 0; at < 64 * 8; ++at) got[set][at] = -1;
    }
    if (turn % 2 == 0) {
      MPI_Startall(sets, all);
    } else {
      for (int set = 0; set < sets; ++set) MPI_Start(&all[set]);
    }
    one_size(comm, 1);
    MPI_Waitall(sets, all, MPI_STATUSES_IGNORE);
    for (int set = 0; set < 2; ++set) {
      const int count = 2 << set;
      for (int at = 0; at < ranks * count; ++at) {
        CHECK(got[set][at] == value(at / count, at % count, turn + set));
      }
    }
    for (int from = 0; from < ranks; ++from) {
      for (int i = 0; i < 2; ++i) {
        CHECK(got[2][2 * from + i] == (i < counts[from] ? value(from, i, turn + 2) : -1));
      }
    }
  }
  for (int set = 0; set < sets; ++set) MPI_Request_free(&all[set]);
}
#else
static void persistent_ones(MPI_Comm comm) { (void)comm; }
#endif

static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  if (*code != MPI_SUCCESS) ++handled;
}

/* With a plan, a rank gives more than it itself expects: all ranks get an error, and later calls
 * succeed. */
static void errors(void) {
  MPI_Comm comm = with_graph();
  MPI_Errhandler counting;
  MPI_Comm_create_errhandler(handler, &counting);
  MPI_Comm_set_errhandler(comm, counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* used by requests */
  one_size(comm, 4);
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Request request;
    handled = 0;
    fill_blocks(4, turn);
    int code = MPI_Allgather(source, rank == 1 ? 5 : 4, MPI_INT, target, 4, MPI_INT, comm);
    CHECK(code != MPI_SUCCESS && handled == 1);
    code = MPI_Iallgather(source, rank == 1 ? 5 : 4, MPI_INT, target, 4, MPI_INT, comm, &request);
    if (rank == 1) {
      CHECK(code != MPI_SUCCESS && handled == 2);
    } else {
      CHECK(code == MPI_SUCCESS);
      CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS && handled == 2);
    }
    one_size(comm, 4);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&counting);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  MPI_Comm comm = with_graph();
  one_size(comm, 2);
  one_size(comm, largest);
  in_place(comm);
  sizes_in_turn(comm);
  many_sizes(comm);
  of_counts(comm, 0);
  of_counts(comm, 2);
  counts_in_turn(comm);
  nothing(comm);
  gaps(comm);
  in_flight(comm);
  waiting_elsewhere(comm);
  begun_before_a_message(comm);
  persistent_ones(comm);
  MPI_Comm all = all_with_all(); /* the library serves its neighbours */
  one_size(all, 2);
  in_flight(all);
  MPI_Comm_free(&all);
  MPI_Comm_free(&comm);
  for_a_slow_rank();
  freed_under_way();
  between_groups();
  if (getenv("WITH_VICINAL")) errors();
  if (getenv("PERSISTENT_FIRST")) persistent_ones(MPI_COMM_WORLD); /* these set it up */
  one_size(MPI_COMM_WORLD, 2);
  return end_program();
}

/* Between the start of an exchange and its completion a program may wait in any function of MPI's, on each rank at another
 * point. In each turn one rank completes the exchange first and only then comes to where the others wait for it. */
#include "programs.h"

static int token, others_token;
static MPI_Win window;
static int window_memory[2];
static MPI_Comm made;
static char big[1 << 20];

/* Rank `last` comes late; the others wait for it. */
static void barrier(int last) { (void)last, MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(int last) { MPI_Bcast(&token, 1, MPI_INT, last, MPI_COMM_WORLD); }
static void allreduce(int last) {
  (void)last, MPI_Allreduce(&token, &others_token, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void send_all(int last, void (*receive)(int)) {
  if (rank != last) {
    receive(last);
    return;
  }
  for (int i = 0; i < ranks; ++i) {
    if (i != last) MPI_Send(&token, 1, MPI_INT, i, 7, MPI_COMM_WORLD);
  }
}
static void by_recv(int last) {
  MPI_Recv(&token, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void by_any_source(int last) {
  (void)last, MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void by_probe(int last) {
  MPI_Probe(last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  by_recv(last);
}
static void by_mprobe(int last) {
  MPI_Message message;
  MPI_Mprobe(last, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&token, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}
static void by_waitany(int last) {
  MPI_Request request[2] = {MPI_REQUEST_NULL};
  int index = -1;
  MPI_Irecv(&token, 1, MPI_INT, last, 7, MPI_COMM_WORLD, &request[1]);
  MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
  CHECK(index == 1);
}
static void by_testing(int last) {
  MPI_Request request;
  MPI_Irecv(&token, 1, MPI_INT, last, 7, MPI_COMM_WORLD, &request);
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}
static void by_iprobe(int last) {
  for (int there = 0; !there;) MPI_Iprobe(last, 7, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  by_recv(last);
}
static void recv(int last) { send_all(last, by_recv); }
static void any_source(int last) { send_all(last, by_any_source); }
static void probe(int last) { send_all(last, by_probe); }
static void mprobe(int last) { send_all(last, by_mprobe); }
static void waitany(int last) { send_all(last, by_waitany); }
static void testing(int last) { send_all(last, by_testing); }
static void iprobe(int last) { send_all(last, by_iprobe); }
static void ssend(int last) {
  if (rank != last) {
    MPI_Ssend(&token, 1, MPI_INT, last, 7, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < ranks; ++i) by_any_source(last);
}
static void large_send(int last) {
  if (rank != last) {
    MPI_Send(big, sizeof big, MPI_CHAR, last, 7, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < ranks; ++i) {
    MPI_Recv(big, sizeof big, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
static void sendrecv(int last) {
  if (rank != last) {
    MPI_Sendrecv(&token, 1, MPI_INT, last, 7, &others_token, 1, MPI_INT, last, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return;
  }
  for (int i = 0; i < ranks; ++i) {
    if (i == last) continue;
    MPI_Sendrecv(&token, 1, MPI_INT, i, 7, &others_token, 1, MPI_INT, i, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}
static void dup(int last) { (void)last, MPI_Comm_dup(MPI_COMM_WORLD, &made), MPI_Comm_free(&made); }
static void split(int last) {
  (void)last, MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &made), MPI_Comm_free(&made);
}
static void fence(int last) { (void)last, MPI_Win_fence(0, window); }
static void window_made(int last) {
  MPI_Win another;
  MPI_Win_create(window_memory, sizeof window_memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &another);
  (void)last, MPI_Win_free(&another);
}
static void graph_made(int last) {
  made = all_with_all();
  (void)last, MPI_Comm_free(&made);
}
static void nonblocking(int last) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  (void)last, MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
  const char* name;
  void (*wait)(int last);
} ways[] = {
    {"barrier", barrier},
    {"bcast", bcast},
    {"allreduce", allreduce},
    {"recv", recv},
    {"any source", any_source},
    {"probe", probe},
    {"mprobe", mprobe},
    {"waitany", waitany},
    {"testing", testing},
    {"iprobe", iprobe},
    {"ssend", ssend},
    {"large send", large_send},
    {"sendrecv", sendrecv},
    {"dup", dup},
    {"split", split},
    {"fence", fence},
    {"window made", window_made},
    {"graph made", graph_made},
    {"nonblocking", nonblocking},
};

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  MPI_Comm graph = all_with_all();
  MPI_Win_create(window_memory, sizeof window_memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  MPI_Win_fence(0, window);
  Exchange it = make_exchange();
  int turn = 0;
  for (; turn < 12; ++turn) {  // by then it has a plan
    fill(&it, turn);
    MPI_Neighbor_alltoallv(SENT(it), GOT(it), graph);
    check_exchange(&it, turn);
  }
  for (size_t way = 0; way < sizeof ways / sizeof *ways; ++way) {
    if (argc > 1 && strcmp(argv[1], ways[way].name) != 0) continue;
    if (argc > 1 && rank == 0) fprintf(stderr, "%s\n", ways[way].name);
    for (int last = 0; last < ranks; ++last, ++turn) {
      MPI_Request request;
      fill(&it, turn);
      MPI_Ineighbor_alltoallv(SENT(it), GOT(it), graph, &request);
      if (rank != last) ways[way].wait(last);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check_exchange(&it, turn);
      if (rank == last) ways[way].wait(last);
    }
  }
  free_exchange(&it);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Comm_free(&graph);
  return end_program();
}

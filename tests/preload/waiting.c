/* Between the start of an exchange and its completion, a program may wait in any MPI function,
 * on each rank in another one. In each case, one rank completes the exchange before it reaches
 * the function where other ranks wait for it. Their relays depend on a rank that starts the
 * exchange only when all others are about to wait.
 *
 * With an argument, runs only the case of that name. WAITS selects other cases: "processes" that
 * are started or connected, "access" to windows. */
#include "waits.h"
#include "waits_among_neighbors.h"
#include "waits_for_memory.h"
#include "waits_for_messages.h"
#include "waits_for_processes.h"
#include "waits_in_collectives.h"

static int turn;
static MPI_Comm graph;
static Exchange it;

static void start_after_all_others(int starter, MPI_Request* request) {
  enum { started = 8 };
  if (rank == starter) {
    for (int i = 1; i < ranks; ++i) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, started, WORLD, IGNORED);
    }
  }
  MPI_Ineighbor_alltoallv(SENT(it), GOT(it), graph, request);
  if (rank != starter) MPI_Send(&value, 1, MPI_INT, starter, started, WORLD);
}

static void run_case(const Case* with, int last) {
  MPI_Request exchange_request;
  fill(&it, ++turn);
  if (with->prepare != NULL) with->prepare(last);
  start_after_all_others((last + 2) % ranks, &exchange_request);
  if (rank != last) with->wait(last);
  MPI_Wait(&exchange_request, IGNORED);
  check_exchange(&it, turn);
  if (rank == last) with->wait(last);
}

static int is_wanted(const char* name, const char* wanted) {
  return wanted == NULL || strcmp(name, wanted) == 0;
}

/* Cases that need the same objects, which `begin` makes. */
typedef struct {
  const Case* cases;
  size_t count;
  void (*begin)(void);
  void (*end)(void);
} Cases;

#define CASES(list, begin, end) {list, sizeof list / sizeof *list, begin, end}
static const Cases usual[] = {
    CASES(waits_for_messages, NULL, NULL),
    CASES(waits_in_collectives, NULL, NULL),
    CASES(waits_among_neighbors, begin_neighbors, end_neighbors),
    CASES(waits_for_memory, begin_memory, end_memory),
    CASES(waits_in_files, begin_files, end_files),
};
static const Cases of_polls = CASES(polls_of_memory, begin_memory, end_memory);
static const Cases of_processes = CASES(waits_for_processes, NULL, NULL);
static const Cases of_access = CASES(waits_for_access, begin_memory, end_memory);

static int run_cases(const Cases* with, const char* wanted) {
  int run = 0;
  for (size_t i = 0; i < with->count; ++i) {
    if (!is_wanted(with->cases[i].name, wanted)) continue;
    if (run++ == 0 && with->begin != NULL) with->begin();
    if (rank == 0) fprintf(stderr, "%s\n", with->cases[i].name);
    for (int last = 0; last < ranks; ++last) run_case(&with->cases[i], last);
  }
  if (run > 0 && with->end != NULL) with->end();
  return run;
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  this_program = argv[0];
  if (is_spawned()) return MPI_Finalize();
  const char* const wanted = argc > 1 ? argv[1] : NULL;
  const char* const waits = getenv("WAITS");
  fill_arguments();
  graph = all_with_all();
  it = make_exchange();
  for (; turn < 12; ++turn) {  // until it has a plan
    fill(&it, turn);
    MPI_Neighbor_alltoallv(SENT(it), GOT(it), graph);
    check_exchange(&it, turn);
  }
  int run = 0;
  if (waits == NULL) {
    for (size_t i = 0; i < sizeof usual / sizeof *usual; ++i) run += run_cases(&usual[i], wanted);
    if (getenv("WITH_VICINAL") != NULL) run += run_cases(&of_polls, wanted);
  } else if (strcmp(waits, "processes") == 0) {
    run = run_cases(&of_processes, wanted);
  } else if (strcmp(waits, "access") == 0) {
    run = run_cases(&of_access, wanted);
  }
  CHECK(run > 0);
  const int failed = tell_whether_right();
  /* The other ranks wait in MPI_Finalize(). */
  MPI_Request request_at_the_end;
  fill(&it, ++turn);
  start_after_all_others(ranks - 1, &request_at_the_end);
  MPI_Wait(&request_at_the_end, IGNORED);
  check_exchange(&it, turn);
  MPI_Finalize();
  free_exchange(&it);
  return failed || wrong != 0;
}

/* Ranks reach the end of MPI with operations in flight; the progress thread, if any, ends before
 * MPI. With `leaving failed`, rank 0's last call has failed, so it has nothing to wait for, but
 * other ranks need its participation. With `leaving started`, started exchanges are never waited
 * for, which is an error of the program. After MPI's end, requests are freed and used; use is
 * refused. Ending may take a while, but must neither hang nor abort. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vicinal/vicinal.h>

enum { calls = 9, most = 64 };

static int rank, size;
static vicinal_graph graph = VICINAL_GRAPH_NULL;

/* Returns the number of threads of this process that have the library's name. */
static int own_threads(void) {
  int found = 0;
  DIR* threads = opendir("/proc/self/task");
  for (const struct dirent* entry; threads && (entry = readdir(threads)) != NULL;) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE* file = fopen(path, "r");
    if (file == NULL) continue;
    found += fgets(name, sizeof name, file) != NULL && strcmp(name, "vicinal\n") == 0;
    fclose(file);
  }
  if (threads) closedir(threads);
  return found;
}

/* MPI_Finalize() calls this first, when MPICH no longer locks. */
static int at_the_end(MPI_Comm self, int key, void* value, void* extra) {
  (void)self, (void)key, (void)value, (void)extra;
  if (own_threads() != 0) {
    printf("rank %d: MPI ends while the progress thread runs\n", rank);
    fflush(stdout);
    _Exit(1);
  }
  return MPI_SUCCESS;
}

static int failed(void) {
  int sent[most], received[calls][most], wrong = 0;
  for (int i = 0; i < size; ++i) sent[i] = rank;
  vicinal_request requests[calls];
  for (int call = 0; call < calls; ++call) {
    const int bad = rank == 0 && call == calls - 1;
    const int code = vicinal_ineighbor_alltoall(sent, bad ? -1 : 1, MPI_INT, received[call], 1,
                                                MPI_INT, graph, &requests[call]);
    wrong += bad != (code != MPI_SUCCESS);
  }
  for (int call = 0; call < calls; ++call) {
    if (rank == 0 && call == calls - 1) continue;
    const int code = vicinal_wait(&requests[call]);
    wrong += (call == calls - 1) != (code != MPI_SUCCESS);
  }
  MPI_Finalize();
  return wrong;
}

static int started(void) {
  static int sent[most], received[most];
  vicinal_request request = VICINAL_REQUEST_NULL;
  vicinal_neighbor_alltoall_init(sent, 1, MPI_INT, received, 1, MPI_INT, graph, MPI_INFO_NULL,
                                 &request);
  if (rank % 2 == 0) vicinal_start(&request);
  MPI_Finalize();
  int wrong = vicinal_start(&request) == MPI_SUCCESS;
  wrong += strstr(vicinal_error_message(), "MPI_Finalize has been called") == NULL;
  wrong += vicinal_neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph) == MPI_SUCCESS;
  wrong += strstr(vicinal_error_message(), "MPI_Finalize has been called") == NULL;
  vicinal_request_free(&request);
  vicinal_progress();
  return wrong;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_strategy", "aggregate");
  MPI_Info_set(info, "vicinal_regions", "blocks:2");
  int all[most];
  for (int other = 0; other < size; ++other) all[other] = other;
  vicinal_graph_create_adjacent(MPI_COMM_WORLD, size, all, MPI_UNWEIGHTED, size, all,
                                MPI_UNWEIGHTED, info, 0, &graph);
  MPI_Info_free(&info);
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free_keyval(&key);
  const char* wish = getenv("VICINAL_PROGRESS_THREAD");
  if (own_threads() != (wish != NULL && strcmp(wish, "1") == 0)) {
    printf("rank %d: there is%s a progress thread\n", rank, own_threads() ? "" : " not");
    return 1;
  }
  const int wrong = argc > 1 && strcmp(argv[1], "started") == 0 ? started() : failed();
  if (wrong > 0) printf("rank %d: %d codes were not as expected\n", rank, wrong);
  return wrong > 0;
}

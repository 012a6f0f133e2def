/* Carries out exported plans under SimGrid SMPI, and prints how long each took in simulated time.
 *
 *     smpirun ... interpret FOLDER
 *
 * FOLDER/RANK.txt, which tools/smpi.py writes, holds a rank's part of all programs: their number and the bytes of
 * the largest message; for each the common instant at which it begins and the number of its operations; and a line
 * for each of those:
 *
 *     kind peer tag bytes seconds predecessors...     their number first
 *
 * kind is s (MPI_Isend), r (MPI_Irecv) or c (compute), `seconds` what the rank's processor needs for it besides what
 * SMPI charges for a send. A receive is posted when it is ready, and needs the processor when its message has
 * come; a processor takes what needs it in turn. All ranks begin at an instant, since a barrier would leave them apart.
 */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double host_speed = 1e9; /* as in the platform */

typedef struct {
  char kind;
  int peer, tag, bytes;
  double seconds;
  int waits_for;        /* predecessors that are not complete */
  int first, followers; /* in Program.followers */
} Operation;

typedef struct {
  int count;
  double begins;
  Operation* operations;
  int* followers;
  int completed;
  int* queue; /* operations that need the processor, in the order in which they came to */
  int queued, served;
  MPI_Request* requests; /* of what is under way */
  int *in_progress, in_progress_count;
} Program;

static void fail(const char* what, const char* where) {
  fprintf(stderr, "interpret: %s: %s\n", where, what);
  exit(1);
}

static void* room(size_t count, size_t size) {
  void* memory = calloc(count > 0 ? count : 1, size);
  if (memory == NULL) fail("no memory", "plans");
  return memory;
}

static Program read_program(FILE* file, const char* path) {
  Program program = {0};
  if (fscanf(file, "%lf %d", &program.begins, &program.count) != 2) fail("no program", path);
  const size_t count = (size_t)program.count;
  program.operations = room(count, sizeof(Operation));
  int** before = room(count, sizeof(int*));
  for (int i = 0; i < program.count; ++i) {
    Operation* it = &program.operations[i];
    if (fscanf(file, " %c %d %d %d %lf %d", &it->kind, &it->peer, &it->tag, &it->bytes,
               &it->seconds, &it->waits_for) != 6) {
      fail("no operation", path);
    }
    before[i] = room((size_t)it->waits_for, sizeof(int));
    for (int j = 0; j < it->waits_for; ++j) {
      if (fscanf(file, "%d", &before[i][j]) != 1) fail("no predecessor", path);
      ++program.operations[before[i][j]].followers;
    }
  }
  int edges = 0;
  for (int i = 0; i < program.count; ++i) {
    program.operations[i].first = edges;
    edges += program.operations[i].followers;
    program.operations[i].followers = 0;
  }
  program.followers = room((size_t)edges, sizeof(int));
  for (int i = 0; i < program.count; ++i) {
    for (int j = 0; j < program.operations[i].waits_for; ++j) {
      Operation* earlier = &program.operations[before[i][j]];
      program.followers[earlier->first + earlier->followers++] = i;
    }
    free(before[i]);
  }
  free(before);
  program.queue = room(count, sizeof(int));
  program.requests = room(count, sizeof(MPI_Request));
  program.in_progress = room(count, sizeof(int));
  return program;
}

static void free_program(Program* program) {
  free(program->operations);
  free(program->followers);
  free(program->queue);
  free(program->requests);
  free(program->in_progress);
}

static void spend(double seconds) {
  if (seconds > 0) smpi_execute_flops(seconds * host_speed);
}

static void make_ready(Program* program, int which, char* memory) {
  const Operation* it = &program->operations[which];
  if (it->kind != 'r') {
    program->queue[program->queued++] = which;
    return;
  }
  MPI_Irecv(memory, it->bytes, MPI_BYTE, it->peer, it->tag, MPI_COMM_WORLD,
            &program->requests[program->in_progress_count]);
  program->in_progress[program->in_progress_count++] = which;
}

static void complete(Program* program, int which, char* memory) {
  const Operation* it = &program->operations[which];
  ++program->completed;
  for (int i = 0; i < it->followers; ++i) {
    const int later = program->followers[it->first + i];
    if (--program->operations[later].waits_for == 0) make_ready(program, later, memory);
  }
}

static void finish(Program* program, int which, char* memory) {
  if (program->operations[which].kind == 'r') {
    program->queue[program->queued++] = which;
  } else {
    complete(program, which, memory);
  }
}

/* Learns what has finished; where nothing needs the processor, waits for something that does. */
static void look(Program* program, int wait, char* memory) {
  while (program->in_progress_count > 0) {
    int place = MPI_UNDEFINED, found = 1;
    if (wait) {
      MPI_Waitany(program->in_progress_count, program->requests, &place, MPI_STATUS_IGNORE);
    } else {
      MPI_Testany(program->in_progress_count, program->requests, &place, &found, MPI_STATUS_IGNORE);
    }
    if (!found) return;
    if (place == MPI_UNDEFINED) fail("a request that never finishes", "plans");
    const int which = program->in_progress[place];
    const size_t after = (size_t)(--program->in_progress_count - place);
    memmove(&program->requests[place], &program->requests[place + 1], after * sizeof(MPI_Request));
    memmove(&program->in_progress[place], &program->in_progress[place + 1], after * sizeof(int));
    finish(program, which, memory);
    wait = 0;
  }
}

static void serve(Program* program, int which, char* memory) {
  const Operation* it = &program->operations[which];
  int over = 1;
  if (it->kind == 's') {
    MPI_Request* request = &program->requests[program->in_progress_count];
    MPI_Isend(memory, it->bytes, MPI_BYTE, it->peer, it->tag, MPI_COMM_WORLD, request);
    MPI_Test(request, &over, MPI_STATUS_IGNORE);
    if (!over) program->in_progress[program->in_progress_count++] = which;
  }
  spend(it->seconds);
  look(program, 0, memory); /* what has come meanwhile is before what follows */
  if (over) complete(program, which, memory);
}

/* Returns how long it took this rank. */
static double run(Program* program, char* memory) {
  spend(program->begins - MPI_Wtime());
  for (int i = 0; i < program->count; ++i) {
    if (program->operations[i].waits_for == 0) make_ready(program, i, memory);
  }
  while (program->completed < program->count) {
    if (program->served < program->queued) {
      serve(program, program->queue[program->served++], memory);
    } else if (program->in_progress_count > 0) {
      look(program, 1, memory);
    } else {
      fail("operations that nothing completes", "plans");
    }
  }
  return MPI_Wtime() - program->begins;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  if (argc != 2) fail("give the folder of the plans", argv[0]);
  snprintf(path, sizeof path, "%s/%d.txt", argv[1], rank);
  FILE* file = fopen(path, "r");
  int programs, largest;
  if (file == NULL || fscanf(file, "%d %d", &programs, &largest) != 2) fail("cannot be read", path);
  char* memory = room((size_t)largest, 1);
  double* took = room((size_t)programs, sizeof(double));
  double* longest = room((size_t)programs, sizeof(double));
  for (int i = 0; i < programs; ++i) {
    Program program = read_program(file, path);
    if (MPI_Wtime() > program.begins)
      fail("a program was still running when the next one began", path);
    took[i] = run(&program, memory);
    free_program(&program);
  }
  fclose(file);
  MPI_Reduce(took, longest, programs, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < programs; ++i) printf("program %d %.12g\n", i, longest[i]);
  free(memory);
  free(took);
  free(longest);
  MPI_Finalize();
  return 0;
}

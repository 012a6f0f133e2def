/* libvicinal_mpi.so, which LD_PRELOAD loads before a program. It belongs to no ABI and knows
 * nothing of MPI: it defines the names of the MPI functions that vicinal serves. The first call of
 * one of them finds out which MPI the program uses. It loads vicinal's build for that MPI
 * (libvicinal_mpi-mpich.so, -openmpi.so or -abi.so, in the folder of this library). It asks the
 * build which function replaces each name. Names without a replacement lead to MPI's own function,
 * so the program runs as if vicinal were not there. A process that calls none of them, such as a
 * shell or a launcher, loads nothing.
 *
 * Both MPI_X and PMPI_X are defined, since the Fortran bindings of some MPIs call the latter.
 * Functions of the run-time system are replaced only after a call of an MPI function, since
 * launchers call them, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/functions.h"

#define EXPORTED __attribute__((visibility("default")))

/* An MPI function. Its arguments are integers and pointers, each in a place of its own. So
 * passing them on unchanged is a jump, or a copy if there are many. */
typedef void (*any_function)(void);

struct place {
  const char* name;
  any_function function; /* the one that a call reaches */
};

enum place_number {
#define NUMBER_OF(name, arguments) at_MPI_##name, at_PMPI_##name,
#define NUMBER_OF_PERSISTENT(name, arguments) \
  NUMBER_OF(name, arguments) at_MPIX_##name, at_PMPIX_##name,
#define NUMBER_OF_RUN_TIME(name, arguments) at_##name,
  VICINAL_FUNCTIONS(NUMBER_OF) VICINAL_PERSISTENT_FUNCTIONS(NUMBER_OF_PERSISTENT)
      VICINAL_POLLING_FUNCTIONS(NUMBER_OF) places_of_mpi,
  last_place_of_mpi = places_of_mpi - 1,
  VICINAL_RUN_TIME_FUNCTIONS(NUMBER_OF_RUN_TIME)
};

static struct place places[] = {
#define PLACE_OF(name, arguments) {"MPI_" #name, NULL}, {"PMPI_" #name, NULL},
#define PLACE_OF_PERSISTENT(name, arguments) \
  PLACE_OF(name, arguments){"MPIX_" #name, NULL}, {"PMPIX_" #name, NULL},
#define PLACE_OF_RUN_TIME(name, arguments) {#name, NULL},
    VICINAL_FUNCTIONS(PLACE_OF) VICINAL_PERSISTENT_FUNCTIONS(PLACE_OF_PERSISTENT)
        VICINAL_POLLING_FUNCTIONS(PLACE_OF) VICINAL_RUN_TIME_FUNCTIONS(PLACE_OF_RUN_TIME)};

/* Prints one line for each program, not for each rank, if launchers tell the rank. */
static void say(const char* what, const char* of) {
  static const char* const ranks[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                      "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
    const char* const rank = getenv(ranks[i]);
    if (rank != NULL && strcmp(rank, "0") != 0) return;
  }
  fprintf(stderr, "vicinal: %s%s; the program runs without vicinal\n", what, of);
}

/* Returns the MPI of the object that holds `caller`, opened; NULL if it has none. */
static void* mpi_of(const void* caller) {
  Dl_info home;
  void* const first = dlsym(RTLD_NEXT, "PMPI_Comm_rank");
  if (first != NULL && dladdr(first, &home) != 0) {
    void* const mpi = dlopen(home.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    /* An MPI that is linked statically into the program has the program's own name. */
    return mpi != NULL ? mpi : dlopen(NULL, RTLD_LAZY);
  }
  /* The MPI is loaded for the caller alone, as by a Python module. */
  if (dladdr(caller, &home) == 0) return NULL;
  void* const object = dlopen(home.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (object == NULL) return NULL;
  void* const rank = dlsym(object, "PMPI_Comm_rank");
  void* mpi = NULL;
  if (rank != NULL && dladdr(rank, &home) != 0) {
    /* Makes it visible to all libraries, vicinal included. */
    mpi = dlopen(home.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  }
  dlclose(object);
  return mpi;
}

/* Returns the name under which other libraries know an opened library. */
static const char* soname_of(void* library) {
  struct link_map* map = NULL;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) return "";
  const char* strings = NULL;
  const ElfW(Dyn)* name = NULL;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = (const char*)entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) name = entry;
  }
  return strings != NULL && name != NULL ? strings + name->d_un.d_val : "";
}

/* Returns the name of vicinal's build that fits; NULL if none does. */
static const char* abi_of(void* mpi) {
  const char* const soname = soname_of(mpi);
  if (dlsym(mpi, "ompi_mpi_comm_world") != NULL) return "openmpi";
  if (strncmp(soname, "libmpi_abi.", strlen("libmpi_abi.")) == 0) return "abi";
  if (strncmp(soname, "libmpi.so.12", strlen("libmpi.so.12")) == 0) return "mpich";
  if (strncmp(soname, "libmpich.so.12", strlen("libmpich.so.12")) == 0) return "mpich";
  return NULL;
}

typedef void* (*answer_function)(const char* name, void* own);

/* Returns the function of vicinal's build for this MPI that names replacements; NULL if there is
 * none. */
static answer_function answers_for(void* mpi) {
  Dl_info here;
  char path[4096];
  const char* const abi = abi_of(mpi);
  if (abi == NULL) {
    say("there is no build of it for the MPI with the name ", soname_of(mpi));
    return NULL;
  }
  if (dladdr((void*)&places, &here) == 0) return NULL;
  const char* const slash = strrchr(here.dli_fname, '/');
  const int folder = slash != NULL ? (int)(slash - here.dli_fname + 1) : 0;
  snprintf(path, sizeof path, "%.*slibvicinal_mpi-%s.so", folder, here.dli_fname, abi);
  void* const build = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (build == NULL) {
    say("its build for this MPI cannot be loaded: ", dlerror());
    return NULL;
  }
  const answer_function answer = (answer_function)dlsym(build, "vicinal_interpose_answer");
  if (answer == NULL) {
    say("this is no build of it: ", path);
    return NULL;
  }
  return answer;
}

static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
static answer_function answer = NULL; /* guarded by the mutex */

static void fill_places(const void* caller) {
  pthread_mutex_lock(&finding);
  if (__atomic_load_n(&places[0].function, __ATOMIC_ACQUIRE) == NULL) {
    void* const mpi = mpi_of(caller);
    if (mpi != NULL) answer = answers_for(mpi);
    for (int i = last_place_of_mpi; i >= 0; --i) {
      void* own = mpi != NULL ? dlsym(mpi, places[i].name) : NULL;
      /* The function of the next library may have to end threads of its own in MPI. */
      const int others_wait = i == at_MPI_Finalize;
      void* const next = own == NULL || others_wait ? dlsym(RTLD_NEXT, places[i].name) : NULL;
      if (next != NULL) own = next;
      void* const served = answer != NULL ? answer(places[i].name, own) : NULL;
      __atomic_store_n(&places[i].function, (any_function)(served != NULL ? served : own),
                       __ATOMIC_RELEASE);
    }
  }
  pthread_mutex_unlock(&finding);
}

static any_function found(int number, any_function function) {
  if (function != NULL) return function;
  fprintf(stderr, "vicinal: the program calls %s, which its MPI does not have\n",
          places[number].name);
  abort();
}

static any_function find_place(int number, const void* caller) {
  any_function function = __atomic_load_n(&places[number].function, __ATOMIC_ACQUIRE);
  if (function != NULL) return function;
  fill_places(caller);
  return found(number, __atomic_load_n(&places[number].function, __ATOMIC_ACQUIRE));
}

static any_function find_run_time_place(int number, const void* caller) {
  struct place* const place = &places[number];
  void* own = dlsym(RTLD_NEXT, place->name);
  Dl_info home;
  if (own == NULL && dladdr(caller, &home) != 0) {
    /* The run-time system is loaded for the caller alone. */
    void* const object = dlopen(home.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object != NULL) {
      own = dlsym(object, place->name);
      dlclose(object);
    }
  }
  pthread_mutex_lock(&finding);
  void* const served = answer != NULL ? answer(place->name, own) : NULL;
  if (served != NULL) __atomic_store_n(&place->function, (any_function)served, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&finding);
  return found(number, (any_function)(served != NULL ? served : own));
}

#define PARAMETERS_0 void
#define PARAMETERS_1 long a
#define PARAMETERS_2 PARAMETERS_1, long b
#define PARAMETERS_3 PARAMETERS_2, long c
#define PARAMETERS_4 PARAMETERS_3, long d
#define PARAMETERS_5 PARAMETERS_4, long e
#define PARAMETERS_6 PARAMETERS_5, long f
#define PARAMETERS_7 PARAMETERS_6, long g
#define PARAMETERS_8 PARAMETERS_7, long h
#define PARAMETERS_9 PARAMETERS_8, long i
#define PARAMETERS_10 PARAMETERS_9, long j
#define PARAMETERS_11 PARAMETERS_10, long k
#define PARAMETERS_13 PARAMETERS_11, long l, long m
#define ARGUMENTS_0
#define ARGUMENTS_1 a
#define ARGUMENTS_2 ARGUMENTS_1, b
#define ARGUMENTS_3 ARGUMENTS_2, c
#define ARGUMENTS_4 ARGUMENTS_3, d
#define ARGUMENTS_5 ARGUMENTS_4, e
#define ARGUMENTS_6 ARGUMENTS_5, f
#define ARGUMENTS_7 ARGUMENTS_6, g
#define ARGUMENTS_8 ARGUMENTS_7, h
#define ARGUMENTS_9 ARGUMENTS_8, i
#define ARGUMENTS_10 ARGUMENTS_9, j
#define ARGUMENTS_11 ARGUMENTS_10, k
#define ARGUMENTS_13 ARGUMENTS_11, l, m

#define DEFINE_BY(find, name, arguments)                                                    \
  EXPORTED long name(PARAMETERS_##arguments);                                               \
  EXPORTED long name(PARAMETERS_##arguments) {                                              \
    any_function function = __atomic_load_n(&places[at_##name].function, __ATOMIC_ACQUIRE); \
    if (__builtin_expect(function == NULL, 0)) {                                            \
      function = find(at_##name, __builtin_return_address(0));                              \
    }                                                                                       \
    return ((long (*)(PARAMETERS_##arguments))function)(ARGUMENTS_##arguments);             \
  }
#define DEFINE(name, arguments) DEFINE_BY(find_place, name, arguments)
#define DEFINE_BOTH(name, arguments) DEFINE(MPI_##name, arguments) DEFINE(PMPI_##name, arguments)
#define DEFINE_PERSISTENT(name, arguments) \
  DEFINE_BOTH(name, arguments) DEFINE(MPIX_##name, arguments) DEFINE(PMPIX_##name, arguments)

VICINAL_FUNCTIONS(DEFINE_BOTH)
VICINAL_PERSISTENT_FUNCTIONS(DEFINE_PERSISTENT)
VICINAL_POLLING_FUNCTIONS(DEFINE_BOTH)

#define DEFINE_RUN_TIME(name, arguments) DEFINE_BY(find_run_time_place, name, arguments)
VICINAL_RUN_TIME_FUNCTIONS(DEFINE_RUN_TIME)

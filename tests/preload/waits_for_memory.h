/* Ranks that wait in one-sided communication and in file access. */
#ifndef VICINAL_PRELOAD_WAITS_FOR_MEMORY_H
#define VICINAL_PRELOAD_WAITS_FOR_MEMORY_H

#include <unistd.h>

#include "waits.h"

static MPI_Win window, shared, another;
static int *window_memory, *shared_memory;
static MPI_Group all, only_last, all_but_last;

#define SYNCHRONIZING(name, call) \
  TOGETHER(name) { (void)last, call; }

SYNCHRONIZING(win_create,
              (MPI_Win_create(values, sizeof values, sizeof(int), MPI_INFO_NULL, WORLD, &another),
               MPI_Win_free(&another)))
SYNCHRONIZING(win_create_dynamic,
              (MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &another), MPI_Win_free(&another)))
static void* memory;
SYNCHRONIZING(win_allocate,
              (MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &another),
               MPI_Win_free(&another)))
SYNCHRONIZING(win_allocate_shared, (MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL,
                                                            WORLD, &memory, &another),
                                    MPI_Win_free(&another)))
static void prepare_win_free(int last) {
  (void)last, MPI_Win_create(values, sizeof values, sizeof(int), MPI_INFO_NULL, WORLD, &another);
}
SYNCHRONIZING(win_free, MPI_Win_free(&another))
static void prepare_fence(int last) { (void)last, MPI_Win_fence(0, window); }
TOGETHER(win_fence) {
  if (rank != last) MPI_Put(&value, 1, MPI_INT, last, rank, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
}

/* Rank `last` exposes its memory late. */
static void make_groups(int last) {
  MPI_Group_incl(all, 1, &last, &only_last);
  MPI_Group_excl(all, 1, &last, &all_but_last);
}
static void free_groups(void) {
  MPI_Group_free(&only_last);
  MPI_Group_free(&all_but_last);
}
TOGETHER(win_complete) {
  make_groups(last);
  if (rank == last) {
    MPI_Win_post(all_but_last, 0, window);
    MPI_Win_wait(window);
  } else {
    MPI_Win_start(only_last, 0, window);
    MPI_Put(&value, 1, MPI_INT, last, rank, 1, MPI_INT, window);
    MPI_Win_complete(window);
  }
  free_groups();
}
/* The other ranks expose their memory; rank `last` writes to it late. */
static void expose(int last, void (*wait)(void)) {
  make_groups(last);
  if (rank == last) {
    MPI_Win_start(all_but_last, 0, window);
    for (int i = 1; i < ranks; ++i) {
      MPI_Put(&value, 1, MPI_INT, (last + i) % ranks, rank, 1, MPI_INT, window);
    }
    MPI_Win_complete(window);
  } else {
    MPI_Win_post(only_last, 0, window);
    wait();
  }
  free_groups();
}
static void call_win_wait(void) { MPI_Win_wait(window); }
static void test_window(void) {
  for (int over = 0; !over;) MPI_Win_test(window, &over);
}
TOGETHER(win_wait) { expose(last, call_win_wait); }
TOGETHER(win_test) { expose(last, test_window); }

/* Rank `last` holds the lock of its memory. */
static void prepare_lock(int last) {
  if (rank == last) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, window);
}
TOGETHER(win_lock) {
  if (rank != last) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, window);
    MPI_Put(&value, 1, MPI_INT, last, rank, 1, MPI_INT, window);
  }
  MPI_Win_unlock(last, window);
}
TOGETHER(win_flush) {
  if (rank != last) {
    MPI_Win_lock(MPI_LOCK_SHARED, last, 0, window);
    MPI_Put(&value, 1, MPI_INT, last, rank, 1, MPI_INT, window);
    MPI_Win_flush(last, window);
  }
  MPI_Win_unlock(last, window);
}
#ifndef OPEN_MPI
TOGETHER(win_lock_all) {
  if (rank != last) {
    MPI_Win_lock_all(0, window);
    MPI_Put(&value, 1, MPI_INT, last, rank, 1, MPI_INT, window);
    MPI_Win_unlock_all(window);
  } else {
    MPI_Win_unlock(last, window);
  }
}
#endif
TOGETHER(request_of_put) {
  if (rank != last) {
    MPI_Request put;
    MPI_Win_lock(MPI_LOCK_SHARED, last, 0, window);
    MPI_Rput(&value, 1, MPI_INT, last, rank, 1, MPI_INT, window, &put);
    MPI_Wait(&put, IGNORED);
  }
  MPI_Win_unlock(last, window);
}

/* Rank `last` sets a flag in its memory, which the others read. */
static void set_flag_of(int last, int to) {
  MPI_Win_lock(MPI_LOCK_SHARED, last, 0, window);
  MPI_Accumulate(&to, 1, MPI_INT, last, most, 1, MPI_INT, MPI_REPLACE, window);
  MPI_Win_unlock(last, window);
}
static int flag;
static void read_flag_of(int last) {
  MPI_Fetch_and_op(&value, &flag, MPI_INT, last, most, MPI_NO_OP, window);
}
static void prepare_flag(int last) {
  if (rank == last) set_flag_of(last, 0);
  flag = 0;
  MPI_Barrier(WORLD);
}
TOGETHER(lock_in_a_loop) {
  if (rank == last) set_flag_of(last, 1);
  while (rank != last && flag != 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, last, 0, window);
    read_flag_of(last);
    MPI_Win_unlock(last, window);
  }
}
TOGETHER(lock_all_in_a_loop) {
  if (rank == last) set_flag_of(last, 1);
  while (rank != last && flag != 1) {
    MPI_Win_lock_all(0, window);
    read_flag_of(last);
    MPI_Win_unlock_all(window);
  }
}

/* Uses a shared lock, so that rank `last` can access its flag. */
static void prepare_flag_for_all(int last) {
  prepare_flag(last);
  MPI_Win_lock_all(0, window);
}
#define POLLING(name, read)                                                          \
  TOGETHER(name) {                                                                   \
    const int set = 1;                                                               \
    if (rank == last) {                                                              \
      MPI_Accumulate(&set, 1, MPI_INT, last, most, 1, MPI_INT, MPI_REPLACE, window); \
      MPI_Win_flush(last, window);                                                   \
    }                                                                                \
    while (rank != last && flag != 1) read;                                          \
    MPI_Win_unlock_all(window);                                                      \
  }
POLLING(flush_in_a_loop, (read_flag_of(last), MPI_Win_flush(last, window)))
POLLING(flush_all_in_a_loop, (read_flag_of(last), MPI_Win_flush_all(window)))
POLLING(flush_local_in_a_loop, (read_flag_of(last), MPI_Win_flush_local(last, window)))
POLLING(flush_local_all_in_a_loop, (read_flag_of(last), MPI_Win_flush_local_all(window)))
static MPI_Request read_request;
POLLING(rget_in_a_loop, (MPI_Rget(&flag, 1, MPI_INT, last, most, 1, MPI_INT, window, &read_request),
                         MPI_Wait(&read_request, IGNORED)))
POLLING(rget_accumulate_in_a_loop,
        (MPI_Rget_accumulate(&value, 1, MPI_INT, &flag, 1, MPI_INT, last, most, 1, MPI_INT,
                             MPI_NO_OP, window, &read_request),
         MPI_Wait(&read_request, IGNORED)))
/* The flag is in memory that the ranks share. */
static void prepare_shared_flag(int last) {
  if (rank == last) *(volatile int*)shared_memory = 0;
  MPI_Barrier(WORLD);
  MPI_Win_lock_all(0, shared);
}
TOGETHER(win_sync) {
  MPI_Aint size;
  int unit;
  int* of_last = NULL;
  MPI_Win_shared_query(shared, last, &size, &unit, &of_last);
  if (rank == last) *(volatile int*)of_last = 1;
  do MPI_Win_sync(shared);
  while (*(volatile int*)of_last != 1);
  MPI_Win_unlock_all(shared);
}

static void begin_memory(void) {
  MPI_Comm_group(WORLD, &all);
  MPI_Win_allocate(2 * most * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &window_memory,
                   &window);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &shared_memory, &shared);
}
static void end_memory(void) {
  MPI_Group_free(&all);
  MPI_Win_free(&window);
  MPI_Win_free(&shared);
}

static const Case waits_for_memory[] = {
    {"MPI_Win_create", win_create, NULL},
    {"MPI_Win_create_dynamic", win_create_dynamic, NULL},
    {"MPI_Win_allocate", win_allocate, NULL},
    {"MPI_Win_allocate_shared", win_allocate_shared, NULL},
    {"MPI_Win_free", win_free, prepare_win_free},
    {"MPI_Win_fence", win_fence, prepare_fence},
    {"MPI_Win_wait", win_wait, NULL},
    {"MPI_Win_test", win_test, NULL},
    {"MPI_Win_lock in a loop", lock_in_a_loop, prepare_flag},
    {"MPI_Win_lock_all in a loop", lock_all_in_a_loop, prepare_flag},
    {"MPI_Win_flush in a loop", flush_in_a_loop, prepare_flag_for_all},
    {"MPI_Win_flush_all in a loop", flush_all_in_a_loop, prepare_flag_for_all},
    {"MPI_Win_flush_local in a loop", flush_local_in_a_loop, prepare_flag_for_all},
    {"MPI_Win_flush_local_all in a loop", flush_local_all_in_a_loop, prepare_flag_for_all},
};

/* In these loops, MPICH itself makes no progress, or minutes late, if ranks share memory. The
 * library makes it. */
static const Case polls_of_memory[] = {
    {"MPI_Rget in a loop", rget_in_a_loop, prepare_flag_for_all},
    {"MPI_Rget_accumulate in a loop", rget_accumulate_in_a_loop, prepare_flag_for_all},
    {"MPI_Win_sync in a loop", win_sync, prepare_shared_flag},
};

/* In these functions, MPICH makes only its own progress. */
static const Case waits_for_access[] = {
#ifndef OPEN_MPI  // 5.0.11 itself deadlocks here
    {"MPI_Win_lock_all", win_lock_all, prepare_lock},
#endif
    {"MPI_Win_start and MPI_Win_complete", win_complete, NULL},
    {"MPI_Win_lock", win_lock, prepare_lock},
    {"MPI_Win_flush", win_flush, prepare_lock},
    {"MPI_Rput and MPI_Wait", request_of_put, prepare_lock},
};

static MPI_File file;
static MPI_Request file_request;
static char file_name[4096];
enum { modes = MPI_MODE_CREATE | MPI_MODE_RDWR };

#define OF_A_FILE(name, call) \
  TOGETHER(name) { (void)last, call; }
static void prepare_file_open(int last) { (void)last, MPI_File_close(&file); }
OF_A_FILE(file_open, MPI_File_open(WORLD, file_name, modes, MPI_INFO_NULL, &file))
OF_A_FILE(file_close,
          (MPI_File_close(&file), MPI_File_open(WORLD, file_name, modes, MPI_INFO_NULL, &file)))
OF_A_FILE(file_set_size, MPI_File_set_size(file, 4096))
OF_A_FILE(file_preallocate, MPI_File_preallocate(file, 4096))
OF_A_FILE(file_set_view, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL))
OF_A_FILE(file_set_atomicity, (MPI_File_set_atomicity(file, 1), MPI_File_set_atomicity(file, 0)))
OF_A_FILE(file_sync, MPI_File_sync(file))
OF_A_FILE(file_seek_shared, MPI_File_seek_shared(file, 0, MPI_SEEK_SET))
OF_A_FILE(file_write_all, MPI_File_write_at_all(file, rank, values, 1, MPI_INT, IGNORED))
OF_A_FILE(file_read_all, MPI_File_read_at_all(file, rank, values, 1, MPI_INT, IGNORED))
OF_A_FILE(file_write_in_two, (MPI_File_write_at_all_begin(file, rank, values, 1, MPI_INT),
                              MPI_File_write_at_all_end(file, values, IGNORED)))
OF_A_FILE(file_write_ordered, MPI_File_write_ordered(file, values, 1, MPI_INT, IGNORED))
OF_A_FILE(file_iwrite_all, (MPI_File_iwrite_at_all(file, rank, values, 1, MPI_INT, &file_request),
                            MPI_Wait(&file_request, IGNORED)))

static void begin_files(void) {
  if (rank == 0) {
    const char* folder = getenv("TMPDIR");
    snprintf(file_name, sizeof file_name, "%s/vicinal-waiting-%ld",
             folder != NULL ? folder : "/tmp", (long)getpid());
  }
  MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, WORLD);
  MPI_File_open(WORLD, file_name, modes, MPI_INFO_NULL, &file);
}
static void end_files(void) {
  MPI_File_close(&file);
  if (rank == 0) MPI_File_delete(file_name, MPI_INFO_NULL);
}

static const Case waits_in_files[] = {
    {"MPI_File_open", file_open, prepare_file_open},
    {"MPI_File_close", file_close, NULL},
    {"MPI_File_set_size", file_set_size, NULL},
    {"MPI_File_preallocate", file_preallocate, NULL},
    {"MPI_File_set_view", file_set_view, NULL},
    {"MPI_File_set_atomicity", file_set_atomicity, NULL},
    {"MPI_File_sync", file_sync, NULL},
    {"MPI_File_seek_shared", file_seek_shared, NULL},
    {"MPI_File_write_at_all", file_write_all, NULL},
    {"MPI_File_read_at_all", file_read_all, NULL},
    {"MPI_File_write_at_all_begin", file_write_in_two, NULL},
    {"MPI_File_write_ordered", file_write_ordered, NULL},
    {"MPI_File_iwrite_at_all and MPI_Wait", file_iwrite_all, NULL},
};

#endif

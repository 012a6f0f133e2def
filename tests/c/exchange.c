/* Sparse exchanges from C: receivers learn what they get. All ranks learn of errors, except for
 * a buffer that is too small, which only its rank learns of. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vicinal/vicinal.h>

static int rank, size, faults;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s (%s)\n", rank, what, vicinal_error_message());
  ++faults;
}

static void expect_error(int code, int expected, const char* part, const char* what) {
  if (code == expected && strstr(vicinal_error_message(), part) != NULL) return;
  fprintf(stderr, "rank %d: %s gave class %d, not %d, and says: %s\n", rank, what, code, expected,
          vicinal_error_message());
  ++faults;
}

/* Each rank sends r + 1 numbers r, r, ... to the next rank, and an empty message to rank 0. */
static void check_lists(MPI_Comm comm, MPI_Info info, int wide) {
  const int previous = (rank + size - 1) % size;
  const int destinations[] = {(rank + 1) % size, 0};
  int numbers[64];
  for (int i = 0; i < 64; ++i) numbers[i] = rank;
  vicinal_received received = VICINAL_RECEIVED_NULL;
  if (wide) {
    const MPI_Count counts[] = {rank + 1, 0};
    const MPI_Aint displacements[] = {3, 0};
    expect(vicinal_sparse_alltoallv_c(numbers, 2, destinations, counts, displacements, MPI_INT,
                                      MPI_INT, comm, info, &received) == MPI_SUCCESS,
           "vicinal_sparse_alltoallv_c");
  } else {
    const int counts[] = {rank + 1, 0}, displacements[] = {3, 0};
    expect(vicinal_sparse_alltoallv(numbers, 2, destinations, counts, displacements, MPI_INT,
                                    MPI_INT, comm, info, &received) == MPI_SUCCESS,
           "vicinal_sparse_alltoallv");
  }
  int messages = -1, full = 0;
  const int* ranks;
  const int64_t *counts, *displacements;
  const void* data;
  expect(vicinal_received_get(received, &messages, &ranks, &counts, &displacements, &data) ==
             MPI_SUCCESS,
         "vicinal_received_get");
  expect(messages == 1 + (rank == 0 ? size : 0), "the number of messages");
  for (int i = 0; i < messages; ++i) {
    expect(i == 0 || ranks[i] >= ranks[i - 1], "the order of the senders");
    if (counts[i] == 0) continue;
    ++full;
    expect(ranks[i] == previous && counts[i] == previous + 1, "a sender and a count");
    for (int64_t j = 0; j < counts[i]; ++j) {
      expect(((const int*)data)[displacements[i] + j] == previous, "a number");
    }
  }
  expect(full == 1 && displacements[messages] == previous + 1, "the number of elements");

  int copied[64] = {0};
  const int64_t room = rank == size - 1 ? previous : 64;
  const int code = vicinal_received_copy(received, copied, room, MPI_INT);
  if (room < 64) {
    expect_error(code, MPI_ERR_COUNT, "there is room for", "too small a buffer");
    expect(copied[0] == 0, "nothing is copied to too small a buffer");
  } else {
    expect(code == MPI_SUCCESS && copied[previous] == previous, "vicinal_received_copy");
  }
  expect_error(vicinal_received_copy(received, copied, 64, MPI_DOUBLE), MPI_ERR_TYPE, "8 bytes",
               "a copy to another type");
  expect(vicinal_received_free(&received) == MPI_SUCCESS && received == VICINAL_RECEIVED_NULL,
         "vicinal_received_free");
}

/* Every second of each rank's six numbers, from one type with gaps to another type. */
static void check_blocks(MPI_Comm comm, const char* method) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_exchange", method);
  MPI_Datatype gaps;
  MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  const int numbers[] = {rank, -1, rank + 1, -1, rank + 2, -1}, next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  vicinal_received received = VICINAL_RECEIVED_NULL;
  expect(vicinal_sparse_alltoall(numbers, 1, &next, 1, gaps, gaps, comm, info, &received) ==
             MPI_SUCCESS,
         "vicinal_sparse_alltoall");
  const int* ranks;
  const int64_t* counts;
  const void* data;
  vicinal_received_get(received, NULL, &ranks, &counts, NULL, &data);
  expect(ranks[0] == previous && counts[0] == 1 && ((const int*)data)[2] == previous + 2,
         "a block without its gaps");
  int copied[6] = {7, 7, 7, 7, 7, 7};
  expect(vicinal_received_copy(received, copied, 1, gaps) == MPI_SUCCESS &&
             copied[2] == previous + 1 && copied[3] == 7 && copied[4] == previous + 2,
         "a block with its gaps");
  vicinal_received_free(&received);
  MPI_Type_free(&gaps);
  MPI_Info_free(&info);
}

/* Each rank asks all ranks to add its number to theirs. */
static void check_query(MPI_Comm comm, MPI_Info info) {
  int destinations[64], counts[64], displacements[64], answers[64];
  for (int i = 0; i < size; ++i) {
    destinations[i] = size - 1 - i;
    counts[i] = 1;
    displacements[i] = 0;
  }
  vicinal_received requests = VICINAL_RECEIVED_NULL, replies = VICINAL_RECEIVED_NULL;
  expect(vicinal_sparse_query(&rank, size, destinations, counts, displacements, MPI_INT, MPI_INT,
                              comm, info, &requests) == MPI_SUCCESS,
         "vicinal_sparse_query");
  int messages = 0;
  const void* data;
  vicinal_received_get(requests, &messages, NULL, NULL, NULL, &data);
  expect(messages == size, "the number of requests");
  for (int i = 0; i < messages; ++i) {
    answers[i] = 100 * rank + ((const int*)data)[i];
    displacements[i] = i;
  }
  expect(vicinal_sparse_answer(requests, answers, counts, displacements, MPI_INT, MPI_INT,
                               &replies) == MPI_SUCCESS,
         "vicinal_sparse_answer");
  vicinal_received_get(replies, &messages, NULL, NULL, NULL, &data);
  expect(messages == size, "the number of replies");
  for (int i = 0; i < messages; ++i) {
    expect(((const int*)data)[i] == 100 * i + rank, "a reply");
  }
  vicinal_received_free(&requests);
  vicinal_received_free(&replies);
}

/* The last rank fails, and all ranks learn of it. */
static void check_errors(MPI_Comm comm) {
  const int mine = rank == size - 1, class = mine ? MPI_ERR_COUNT : MPI_ERR_OTHER;
  const int next = (rank + 1) % size, count = mine ? -1 : 1, none = 0, lost = mine ? size : next;
  vicinal_received received = VICINAL_RECEIVED_NULL;
  expect_error(vicinal_sparse_alltoallv(&rank, 1, &next, &count, &none, MPI_INT, MPI_INT, comm,
                                        MPI_INFO_NULL, &received),
               class, "is -1", "a negative count");
  expect_error(
      vicinal_sparse_alltoall(&rank, 1, &lost, 1, MPI_INT, MPI_INT, comm, MPI_INFO_NULL, &received),
      mine ? MPI_ERR_RANK : MPI_ERR_OTHER, "has ranks 0 to", "a rank that does not exist");
  const MPI_Count many = mine ? INT64_MAX / 2 : 1;
  const MPI_Aint start = 0;
  expect_error(vicinal_sparse_alltoallv_c(&rank, 1, &next, &many, &start, MPI_INT, MPI_INT, comm,
                                          MPI_INFO_NULL, &received),
               class, "more bytes than can be counted", "a count that is too large");
  expect_error(vicinal_sparse_alltoallv(mine ? NULL : &rank, 1, &next, &(int){1}, &none, MPI_INT,
                                        MPI_INT, comm, MPI_INFO_NULL, &received),
               mine ? MPI_ERR_BUFFER : MPI_ERR_OTHER, "buffer is null", "a null buffer");
  expect_error(vicinal_sparse_alltoallv(&rank, 1, &next, &(int){1}, &none, MPI_INT, MPI_DOUBLE,
                                        comm, MPI_INFO_NULL, &received),
               MPI_ERR_COUNT, "no whole number", "half an element");
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_exchange", "fastest");
  expect_error(vicinal_sparse_alltoallv(&rank, 1, &next, &(int){1}, &none, MPI_INT, MPI_INT, comm,
                                        info, &received),
               MPI_ERR_INFO_VALUE, "vicinal_exchange is 'fastest', but 'automatic', 'personalized'",
               "a method that does not exist");
  MPI_Info_free(&info);
  expect(received == VICINAL_RECEIVED_NULL, "no handle after an error");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const char* const methods[] = {"automatic", "personalized",          "nonblocking",
                                 "locality",  "locality-personalized", "one-sided"};
  for (int i = 0; i < 6; ++i) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "vicinal_exchange", methods[i]);
    MPI_Info_set(info, "vicinal_regions", "blocks:2");
    if (i < 5) {
      check_lists(comm, info, i % 2);
      check_query(comm, info);
    }
    check_blocks(comm, methods[i]);
    MPI_Info_free(&info);
  }
  check_errors(comm);
  check_lists(comm, MPI_INFO_NULL, 0);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return faults > 0;
}

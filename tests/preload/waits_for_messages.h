/* Ranks that wait for a message, or for its receiver. */
#ifndef VICINAL_PRELOAD_WAITS_FOR_MESSAGES_H
#define VICINAL_PRELOAD_WAITS_FOR_MESSAGES_H

#include "waits.h"

RECEIVING(receive) { MPI_Recv(&value, 1, MPI_INT, last, tag, WORLD, IGNORED); }
RECEIVING(any_source) {
  (void)last, MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, WORLD, IGNORED);
}
RECEIVING(probe) {
  MPI_Probe(last, tag, WORLD, IGNORED);
  receive_by_receive(last);
}
RECEIVING(mprobe) {
  MPI_Message message;
  MPI_Mprobe(last, tag, WORLD, &message, IGNORED);
  MPI_Mrecv(&value, 1, MPI_INT, &message, IGNORED);
}
RECEIVING(iprobe) {
  for (int there = 0; !there;) MPI_Iprobe(last, tag, WORLD, &there, IGNORED);
  receive_by_receive(last);
}
RECEIVING(improbe) {
  MPI_Message message;
  for (int there = 0; !there;) MPI_Improbe(last, tag, WORLD, &there, &message, IGNORED);
  MPI_Mrecv(&value, 1, MPI_INT, &message, IGNORED);
}

/* A receive, next to a null request. */
static MPI_Request request[2];
static void begin_receive(int last) {
  request[0] = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, last, tag, WORLD, &request[1]);
}
static int done, index_done, indices[2];
#define RECEIVING_AT_ONCE(name, call)      \
  RECEIVING(name) {                        \
    begin_receive(last);                   \
    call;                                  \
    CHECK(request[1] == MPI_REQUEST_NULL); \
  }
#define RECEIVING_IN_A_LOOP(name, call) RECEIVING_AT_ONCE(name, for (done = 0; !done;) call)
#define ASKING_IN_A_LOOP(name, call) \
  RECEIVING_AT_ONCE(name, for (done = 0; !done;) call; MPI_Wait(&request[1], IGNORED))

RECEIVING_AT_ONCE(wait_once, MPI_Wait(&request[1], IGNORED))
RECEIVING_AT_ONCE(waitany, MPI_Waitany(2, request, &index_done, IGNORED))
RECEIVING_AT_ONCE(waitall, MPI_Waitall(2, request, MPI_STATUSES_IGNORE))
RECEIVING_AT_ONCE(waitsome, MPI_Waitsome(2, request, &done, indices, MPI_STATUSES_IGNORE))
RECEIVING_IN_A_LOOP(test, MPI_Test(&request[1], &done, IGNORED))
RECEIVING_IN_A_LOOP(testany, MPI_Testany(2, request, &index_done, &done, IGNORED))
RECEIVING_IN_A_LOOP(testall, MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE))
RECEIVING_IN_A_LOOP(testsome, MPI_Testsome(2, request, &done, indices, MPI_STATUSES_IGNORE))
ASKING_IN_A_LOOP(get_status, MPI_Request_get_status(request[1], &done, IGNORED))
#if HAS_MPI_4_1
ASKING_IN_A_LOOP(get_status_any,
                 MPI_Request_get_status_any(2, request, &index_done, &done, IGNORED))
ASKING_IN_A_LOOP(get_status_all, MPI_Request_get_status_all(2, request, &done, MPI_STATUSES_IGNORE))
ASKING_IN_A_LOOP(get_status_some,
                 MPI_Request_get_status_some(2, request, &done, indices, MPI_STATUSES_IGNORE))
#endif
RECEIVING(persistent) {
  MPI_Recv_init(&value, 1, MPI_INT, last, tag, WORLD, &request[1]);
  MPI_Start(&request[1]);
  MPI_Wait(&request[1], IGNORED);
  MPI_Request_free(&request[1]);
}

SENDING(ssend, 1, MPI_INT) { MPI_Ssend(&value, 1, MPI_INT, last, tag, WORLD); }
SENDING(large_send, sizeof big, MPI_CHAR) { MPI_Send(big, sizeof big, MPI_CHAR, last, tag, WORLD); }
SENDING(issend, 1, MPI_INT) {
  MPI_Issend(&value, 1, MPI_INT, last, tag, WORLD, &request[1]);
  MPI_Wait(&request[1], IGNORED);
}
static char buffer[sizeof big + 2 * MPI_BSEND_OVERHEAD];
static void bsend(int last, int (*empty)(void)) {
  void* taken = NULL;
  int size = 0;
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Bsend(big, sizeof big, MPI_CHAR, last, tag, WORLD);
  if (empty != NULL) empty();
  MPI_Buffer_detach(&taken, &size);
}
SENDING(buffer_detach, sizeof big, MPI_CHAR) { bsend(last, NULL); }
#if HAS_MPI_4_1
SENDING(buffer_flush, sizeof big, MPI_CHAR) { bsend(last, MPI_Buffer_flush); }
#endif
/* A message of rank `last` tells the others that its receives are posted. */
static MPI_Request receives[most];
static char* in_parts;
static void prepare_rsend(int last) {
  if (rank == last) {
    in_parts = (char*)malloc(sizeof big * (size_t)ranks);
    for (int i = 0; i < ranks; ++i) {
      receives[i] = MPI_REQUEST_NULL;
      if (i == last) continue;
      MPI_Irecv(in_parts + sizeof big * (size_t)i, sizeof big, MPI_CHAR, i, tag, WORLD,
                &receives[i]);
    }
  }
  receive(last);
}
static void rsend(int last) {
  if (rank != last) {
    MPI_Rsend(big, sizeof big, MPI_CHAR, last, tag, WORLD);
    return;
  }
  MPI_Waitall(ranks, receives, MPI_STATUSES_IGNORE);
  free(in_parts);
}

/* Both directions at once. */
static void exchange(int last, void (*with)(int other)) {
  for (int i = 0; i < ranks; ++i) {
    if (rank == last && i != last) with(i);
  }
  if (rank != last) with(last);
}
static void sendrecv_with(int other) {
  MPI_Sendrecv(&value, 1, MPI_INT, other, tag, &other_value, 1, MPI_INT, other, tag, WORLD,
               IGNORED);
}
TOGETHER(sendrecv) { exchange(last, sendrecv_with); }
static void sendrecv_replace_with(int other) {
  MPI_Sendrecv_replace(&value, 1, MPI_INT, other, tag, other, tag, WORLD, IGNORED);
}
TOGETHER(sendrecv_replace) { exchange(last, sendrecv_replace_with); }
#if HAS_MPI_4
static void isendrecv_with(int other) {
  MPI_Isendrecv(&value, 1, MPI_INT, other, tag, &other_value, 1, MPI_INT, other, tag, WORLD,
                request);
  MPI_Wait(request, IGNORED);
}
TOGETHER(isendrecv) { exchange(last, isendrecv_with); }

/* Partitioned messages. */
static void send_in_partitions(void) {
  for (int i = 1; i < ranks; ++i) {
    MPI_Psend_init(&value, 1, 1, MPI_INT, (rank + i) % ranks, tag, WORLD, MPI_INFO_NULL, request);
    MPI_Start(request);
    MPI_Pready(0, request[0]);
    MPI_Wait(request, IGNORED);
    MPI_Request_free(request);
  }
}
static void receive_in_partitions(int last, int asks) {
  MPI_Precv_init(&value, 1, 1, MPI_INT, last, tag, WORLD, MPI_INFO_NULL, request);
  MPI_Start(request);
  for (done = 0; asks && !done;) MPI_Parrived(request[0], 0, &done);
  MPI_Wait(request, IGNORED);
  MPI_Request_free(request);
}
TOGETHER(partitions) {
  if (rank == last) send_in_partitions();
  if (rank != last) receive_in_partitions(last, 0);
}
TOGETHER(parrived) {
  if (rank == last) send_in_partitions();
  if (rank != last) receive_in_partitions(last, 1);
}
#endif

static const Case waits_for_messages[] = {
    {"MPI_Recv", receive, NULL},
    {"MPI_Recv from any source", any_source, NULL},
    {"MPI_Probe", probe, NULL},
    {"MPI_Mprobe", mprobe, NULL},
    {"MPI_Iprobe", iprobe, NULL},
    {"MPI_Improbe", improbe, NULL},
    {"MPI_Wait", wait_once, NULL},
    {"MPI_Waitany", waitany, NULL},
    {"MPI_Waitall", waitall, NULL},
    {"MPI_Waitsome", waitsome, NULL},
    {"MPI_Test", test, NULL},
    {"MPI_Testany", testany, NULL},
    {"MPI_Testall", testall, NULL},
    {"MPI_Testsome", testsome, NULL},
    {"MPI_Request_get_status", get_status, NULL},
#if HAS_MPI_4_1
    {"MPI_Request_get_status_any", get_status_any, NULL},
    {"MPI_Request_get_status_all", get_status_all, NULL},
    {"MPI_Request_get_status_some", get_status_some, NULL},
    {"MPI_Buffer_flush", buffer_flush, NULL},
#endif
    {"MPI_Start and MPI_Wait", persistent, NULL},
    {"MPI_Ssend", ssend, NULL},
    {"MPI_Send", large_send, NULL},
    {"MPI_Issend and MPI_Wait", issend, NULL},
    {"MPI_Buffer_detach", buffer_detach, NULL},
    {"MPI_Rsend", rsend, prepare_rsend},
    {"MPI_Sendrecv", sendrecv, NULL},
    {"MPI_Sendrecv_replace", sendrecv_replace, NULL},
#if HAS_MPI_4
    {"MPI_Isendrecv", isendrecv, NULL},
    {"MPI_Start and MPI_Wait in partitions", partitions, NULL},
    {"MPI_Parrived", parrived, NULL},
#endif
};

#endif

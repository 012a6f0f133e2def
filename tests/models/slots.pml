/* Models the protocol of a shared slot: one owner, two peers, three executions. Each of the last
 * two may have larger elements than the previous one, so the area is replaced never, once or twice.
 * src/execute/slots.hpp states the invariants. src/execute/run.cpp has the order in which a run
 * awaits, finds, hands over and signals.
 *
 *   owner      BoundPlan::bind, OwnedSlot::bind, announce, announce_fault, ~OwnedSlot; the owner's
 *              copies and signals
 *   peer       FarSlot::find, fault, forget; Run::is_satisfied; a peer's copies and signals
 *   all_reached, allocate, release    SlotView::all_reached, the arena
 *
 * By default the owner hands out: it fills the area and the peers read it. With TAKING_IN each peer
 * fills its part, and the owner reads. Any rank's call may fail in any one execution. Any one peer
 * may wrongly keep its element size of the previous execution. Released areas are reallocated at
 * once, so that a late access is detected.
 *
 * Memory is sequentially consistent here. In the code, all shared data is handed over by a release
 * store of a flag or of `current` and an acquire load that finds it; nothing else is shared.
 *
 * Each of these mutations causes an error that the checker must find:
 *   NO_ACKNOWLEDGEMENT   a peer (with TAKING_IN, the owner) does not signal that it has read
 *   NO_AWAIT             a writer does not await all readers before it writes again
 *   EARLY_ANNOUNCEMENT   an area is replaced before all peers have found the previous one
 *   EARLY_RELEASE        the previous area is released when the new one is announced
 *   EARLY_SIGNAL         the flag is set before the data is written
 *   LATER_FAULT          a peer takes the owner's fault in a later execution for one in its own
 *   EARLY_RETIREMENT     the owner releases everything at the end without reading the flags
 */
#define PEERS 2
#define LAST 3
#define AREAS 4
#define NONE 255

byte flag_of_owner = 0;        /* last execution that it completed */
byte bytes_of_owner = 0;       /* element size of that execution */
byte fault_of_owner = 0;       /* last execution that failed */
byte flag_of[PEERS];
byte bytes_of[PEERS];
byte fault_of[PEERS];
byte current = 0;              /* the announcement line */
byte line_area = NONE;
byte line_bytes = 0;
byte line_fault = 0;
bool header = true;            /* not released */
bool held[AREAS];              /* whether an area is allocated */
byte data[AREAS * PEERS];      /* by area and part: the execution that wrote it */
byte using[AREAS];             /* number of peers that access an area */

byte size_in[LAST + 1];        /* element size by execution */
byte failing_rank = NONE;      /* rank whose call fails; 0 is the owner */
byte failing_execution = 0;
byte keeping_peer = NONE;      /* peer that keeps its element size */
byte keeping_execution = 0;

#define all_reached(g) (flag_of_owner >= (g) && flag_of[0] >= (g) && flag_of[1] >= (g))

inline allocate(area) {
  if
  :: !held[0] -> area = 0
  :: else -> if
    :: !held[1] -> area = 1
    :: else -> if
      :: !held[2] -> area = 2
      :: else -> area = 3; assert(!held[3])
    fi
  fi
  fi;
  held[area] = true; data[area * PEERS] = 0; data[area * PEERS + 1] = 0
}
inline release(area) {
  if
  :: area != NONE -> assert(using[area] == 0); held[area] = false; area = NONE
  :: else
  fi
}

/* OwnedSlot::announce; sets `announced` if it announced the area. */
inline announce(g) {
  d_step {
    if
    :: !known ->
#ifndef EARLY_ANNOUNCEMENT
      if
      :: before != NONE && !all_reached(replaced - 1) -> announced = false
      :: else ->
#endif
        release(older); line_area = now; line_bytes = size_in[g]; known = true; announced = true
#ifdef EARLY_RELEASE
        ; release(before)
#endif
#ifndef EARLY_ANNOUNCEMENT
      fi
#endif
    :: else ->
      if
      :: before != NONE && all_reached(replaced) -> release(before)
      :: else
      fi;
      announced = true
    fi
  }
  if
  :: announced -> current = g
  :: else
  fi
}

proctype Owner() {
  byte g, part, size = 0, now = NONE, before = NONE, older = NONE, replaced = 0;
  bool known = false, announced, failed;
  for (g : 1 .. LAST) {
    failed = (failing_rank == 0 && failing_execution == g);
    if
    :: failed -> line_fault = g; announced = true
    :: else ->
      if
      :: size == size_in[g] -> skip
      :: else -> d_step {
          if
          :: known -> release(older); older = before; before = now; replaced = g
          :: else -> release(now)
          fi;
          allocate(now); known = false; size = size_in[g]
        }
      fi;
      announce(g)
    fi;
#ifndef TAKING_IN
#ifdef EARLY_SIGNAL
    bytes_of_owner = size_in[g]; flag_of_owner = g;
#endif
#ifndef NO_AWAIT
    for (part : 0 .. PEERS - 1) {
      do
      :: flag_of[part] >= g - 1 -> break
      :: flag_of[part] < g - 1 && !announced -> announce(g)
      od
    }
#endif
    if
    :: failed -> fault_of_owner = g
    :: else ->
      for (part : 0 .. PEERS - 1) { assert(held[now]); data[now * PEERS + part] = g }
    fi;
    bytes_of_owner = size_in[g]; flag_of_owner = g;
#else
    for (part : 0 .. PEERS - 1) {
      do
      :: flag_of[part] >= g -> break
      :: flag_of[part] < g && !announced -> announce(g)
      od;
      if
      :: failed || fault_of[part] == g || bytes_of[part] != size_in[g]
      :: else -> assert(held[now] && data[now * PEERS + part] == g)
      fi
    }
#ifndef NO_ACKNOWLEDGEMENT
    if
    :: failed -> fault_of_owner = g
    :: else
    fi;
    bytes_of_owner = size_in[g]; flag_of_owner = g;
#endif
#endif
    do
    :: announced -> break
    :: else -> announce(g)
    od
  }
  /* ~OwnedSlot: areas that peers may still use stay until all peers are done. */
#ifndef EARLY_RETIREMENT
  all_reached(LAST);
#endif
  skip;
  d_step { release(now); release(before); release(older); header = false }
}

proctype Peer(byte me) {
  byte g, size, found = NONE, found_bytes = 0;
  bool failed, lost, honest;
  for (g : 1 .. LAST) {
    honest = true;
    failed = (failing_rank == me + 1 && failing_execution == g);
    size = size_in[g];
    if
    :: keeping_peer == me && keeping_execution == g -> size = size_in[g - 1]
    :: else
    fi;
    if
    :: failed || size != found_bytes -> found = NONE
    :: else
    fi;
    lost = failed;
#ifndef TAKING_IN
    flag_of_owner >= g;
    assert(header);
    if
    :: !lost && fault_of_owner == g -> lost = true
    :: !lost && fault_of_owner != g && bytes_of_owner != size -> found = NONE; lost = true
    :: else
    fi;
#else
#ifndef NO_AWAIT
    flag_of_owner >= g - 1;
#endif
    assert(header);
    if
    :: !lost && bytes_of_owner != 0 && bytes_of_owner != size -> found = NONE
    :: else
    fi;
#endif
    /* FarSlot::find, polled. */
    if
    :: !lost && found == NONE ->
      do
      :: current >= g ->
        if
        :: line_bytes != size -> lost = true
        :: else -> found = line_area; found_bytes = size
        fi;
        break
      :: current < g -> /* The fault word is read later. */
#ifdef LATER_FAULT
        if
        :: line_fault >= g -> lost = true; honest = false; break
        :: else
        fi
#else
        if
        :: line_fault == g -> lost = true; honest = false; break
        :: else
        fi
#endif
      od
    :: else
    fi;
    /* A fault attributed to the owner is the owner's. */
    assert(honest || (failing_rank == 0 && failing_execution == g));
    if
    :: lost
    :: else ->
      atomic { assert(held[found]); using[found]++ }
#ifndef TAKING_IN
      assert(data[found * PEERS + me] == g);
      assert(data[found * PEERS + me] == g);
#else
      assert(data[found * PEERS + me] != g);
#ifdef EARLY_SIGNAL
      bytes_of[me] = size; flag_of[me] = g;
#endif
      data[found * PEERS + me] = g;
#endif
      atomic { assert(held[found]); using[found]-- }
    fi;
#ifndef TAKING_IN
#ifdef NO_ACKNOWLEDGEMENT
    if
    :: me == 1
    :: else -> bytes_of[me] = size; flag_of[me] = g
    fi
#else
    bytes_of[me] = size; flag_of[me] = g
#endif
#else
    if
    :: lost -> fault_of[me] = g
    :: else
    fi;
    bytes_of[me] = size; flag_of[me] = g
#endif
  }
}

init {
  byte rank, g;
  size_in[1] = 1;
  for (g : 2 .. LAST) {
    if
    :: size_in[g] = size_in[g - 1]
    :: size_in[g] = size_in[g - 1] + 1
    fi
  }
  if
  :: skip
  :: select(rank : 0 .. PEERS); select(g : 1 .. LAST); failing_rank = rank; failing_execution = g
  fi;
  if
  :: skip
  :: select(rank : 0 .. PEERS - 1); select(g : 2 .. LAST); keeping_peer = rank; keeping_execution = g
  fi;
  atomic { run Owner(); run Peer(0); run Peer(1) }
}

/* Models the end of sparse exchanges: three ranks, three consecutive calls; in each, a rank may
 * send to any other.
 *
 *   send, collect    Round::send, Round::collect (src/discovery/round.cpp); a synchronous send ends
 *                    when it is received
 *   enter, all_in    the nonblocking reduction, or reduce_scatter: complete once all ranks entered it
 *   tag              two alternating tags (src/discovery/round.hpp)
 *
 * By default this is the nonblocking method (exchange_nonblocking in
 * src/discovery/exchange.cpp). A rank enters when its own messages have been received, and
 * leaves when all have entered. PERSONALIZED selects the other method. There all ranks learn by the
 * reduction how many messages to expect, and leave when they have them; sends end at once. The
 * methods by locality use the same protocols among region leaders, with one message for each pair
 * of regions.
 *
 * Invariants: a message is received in the call in which it was sent; no rank leaves a call before
 * all have entered it; at the end no message is left, and all ranks reach the end.
 *
 * Each of these mutations causes an error that the checker must find:
 *   ONE_TAG           all calls use one tag
 *   EARLY_ENTRY       a rank enters before its messages are received (PERSONALIZED: are sent)
 *   NO_CONSENSUS      a rank leaves when it has nothing more to do, before the others have entered
 */
#define RANKS 3
#define CALLS 3
#define at(from, to, tag) (((from) * RANKS + (to)) * 2 + (tag))

byte posted[RANKS * RANKS * 2];  /* call of the message in transit, by sender, receiver and tag */
byte entered[CALLS + 1];
byte due[RANKS * 2];             /* expected messages, by receiver and parity of the call */

#ifdef ONE_TAG
#define tag_of(call) 0
#else
#define tag_of(call) ((call) % 2)
#endif

/* Receives the available messages with this call's tag. */
inline collect() {
  for (other : 0 .. RANKS - 1) {
    atomic {
      if
      :: posted[at(other, me, tag_of(call))] != 0 ->
        assert(posted[at(other, me, tag_of(call))] == call);
        posted[at(other, me, tag_of(call))] = 0;
        got++
      :: else
      fi
    }
  }
}
inline send(to) {
  if
  :: skip
  :: atomic {
      assert(posted[at(me, to, tag_of(call))] == 0);
      posted[at(me, to, tag_of(call))] = call;
      due[to * 2 + call % 2]++
    }
  fi
}

#define all_sent (posted[at(me, (me + 1) % RANKS, tag_of(call))] == 0 && posted[at(me, (me + 2) % RANKS, tag_of(call))] == 0)
#define all_in (entered[call] == RANKS)

proctype Rank(byte me) {
  byte call, other, got;
  for (call : 1 .. CALLS) {
    got = 0;
#if defined(PERSONALIZED) && defined(EARLY_ENTRY)
    entered[call]++;
#endif
    send((me + 1) % RANKS);
    send((me + 2) % RANKS);
#ifdef PERSONALIZED
#ifndef EARLY_ENTRY
    entered[call]++;
#endif
#ifndef NO_CONSENSUS
    all_in;
#endif
    do
    :: got == due[me * 2 + call % 2] -> break
    :: else -> collect()
    od;
    due[me * 2 + call % 2] = 0;
#else
#ifndef EARLY_ENTRY
    do
    :: all_sent -> break
    :: else -> collect()
    od;
#endif
    entered[call]++;
    do
#ifdef NO_CONSENSUS
    :: break
#else
    :: all_in -> break
#endif
    :: !all_in -> collect()
    od;
#endif
    assert(all_in);
    for (other : 0 .. RANKS - 1) { assert(posted[at(other, me, tag_of(call))] != call) }
  }
}

init {
  atomic { run Rank(0); run Rank(1); run Rank(2) };
  _nr_pr == 1;
  byte i;
  for (i : 0 .. RANKS * RANKS * 2 - 1) { assert(posted[i] == 0) }
}

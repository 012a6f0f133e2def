// One case of the fuzzer: what it was told, what it did so far, and what was found wrong. A case goes on
// after a finding, since the other ranks may wait for this one; one that hangs is ended by a watch.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <set>
#include <sstream>
#include <string>

#include "random.hpp"

namespace fuzz {

/// What is asked for on the command line.
struct Options {
  std::uint64_t seed = 1;
  std::int64_t only = -1;   ///< the one case to run
  std::int64_t cases = -1;  ///< how many
  double seconds = -1;      ///< for how long
  std::string family;       ///< one family, or "" for all
  double patience = 60;     ///< seconds until a case counts as hung
  bool verbose = false;     ///< say what each case does, before it does it
  bool keep_going = false;  ///< also after a failure
  // Promises that are tried, unless they are left alone.
  bool faults = true;      ///< one rank is at fault now and then
  bool free_types = true;  ///< datatypes are freed while calls use them
  bool lone_tests = true;  ///< a rank tests one request alone, and progresses nothing else by name
  bool free_requests = true;  ///< nonblocking calls are freed in the place of a wait
  bool components = true;     ///< components of a graph use blocks of different sizes
  // To make a random program smaller.
  int steps = 30;         ///< of each thread
  int threads = 3;        ///< at most
  std::set<int> skipped;  ///< numbers of steps that are left out
};

class Trial {
 public:
  Trial(const Options& options, const std::string& family, std::int64_t number);
  /// The part of a case that a thread runs. It starts with the description of the whole.
  Trial(Trial& whole, int thread);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Choices that all ranks of the world make alike, and those of this rank.
  Random& common() { return common_; }
  Random& own() { return own_; }
  /// Goes on with choices that the ranks with this colour make alike.
  void split(int colour);
  /// Draws anew for a step, so that what a step does is the same without the steps before it.
  void begin_step(int step);

  /// Adds a line to the description of the case.
  template <class... Parts>
  void note(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    add(text.str());
  }
  /// Something is wrong.
  template <class... Parts>
  void fail(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    found(text.str());
  }
  /// A call that had to succeed.
  bool succeeds(int code, const std::string& what);
  [[nodiscard]] int findings() const { return findings_; }
  /// Counts what the part of a thread has found and checked.
  void add_part(const Trial& part) {
    findings_ += part.findings_;
    calls += part.calls;
  }

  bool owes =
      false;  ///< this rank has failed in a call, in which it takes part for the others' sake
  std::int64_t calls = 0;       ///< exchanges checked by this rank
  std::int64_t references = 0;  ///< those of them that MPI's own did as well

 private:
  void add(const std::string& text);
  void found(const std::string& what);

  const Options& options_;
  std::string family_;
  std::int64_t number_;
  Random common_, own_;
  std::string diary_;
  int findings_ = 0;
  int rank_ = 0;
  int thread_ = -1;           ///< -1: the whole case
  std::uint64_t steps_seed_;  ///< of the choices of steps
};

/// Prints what runs and ends the process when a case takes longer than the options' patience.
void start_watch(double patience);
void stop_watch();

/// The command's arguments that run this one case again.
std::string reproduction(const Options& options, const std::string& family, std::int64_t number);

}  // namespace fuzz

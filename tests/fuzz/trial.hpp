// One case of the fuzzer: its settings, its actions so far, and its findings. A case continues
// after a finding, since other ranks may wait for this one. A watch thread ends a case that hangs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <set>
#include <sstream>
#include <string>

#include "random.hpp"

namespace fuzz {

/// Options of the command line.
struct Options {
  std::uint64_t seed = 1;
  std::int64_t only = -1;   ///< the one case to run
  std::int64_t cases = -1;  ///< number of cases
  double seconds = -1;      ///< total time
  std::string family;       ///< one family, or "" for all
  double patience = 60;     ///< seconds until a case counts as hung
  bool verbose = false;     ///< announce what each case does
  bool keep_going = false;  ///< continue after a failure
  // Guarantees of the library that are tested by default.
  bool faults = true;         ///< one rank fails now and then
  bool free_types = true;     ///< datatypes are freed while calls use them
  bool lone_tests = true;     ///< a rank tests only one request, and progresses no other explicitly
  bool free_requests = true;  ///< nonblocking requests are freed instead of waited for
  bool components = true;     ///< components of a graph use blocks of different sizes
  // Limits that make a random program smaller.
  int steps = 30;         ///< in each thread
  int threads = 3;        ///< at most
  std::set<int> skipped;  ///< numbers of omitted steps
};

class Trial {
 public:
  Trial(const Options& options, const std::string& family, std::int64_t number);
  /// The part of a case that one thread runs. Its description begins with that of the whole case.
  Trial(Trial& whole, int thread);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Random choices that all ranks of the world make alike, and those of this rank.
  Random& common() { return common_; }
  Random& own() { return own_; }
  /// Continues with choices that all ranks of this colour make alike.
  void split(int colour);
  /// Reseeds for a step, so that its choices do not depend on previous steps.
  void begin_step(int step);

  /// Adds a line to the description of the case.
  template <class... Parts>
  void note(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    add(text.str());
  }
  /// Reports an error.
  template <class... Parts>
  void fail(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    found(text.str());
  }
  /// Reports an error if a call failed that had to succeed; returns whether it succeeded.
  bool succeeds(int code, const std::string& what);
  [[nodiscard]] int findings() const { return findings_; }
  /// Adds the findings and calls of a thread's part.
  void add_part(const Trial& part) {
    findings_ += part.findings_;
    calls += part.calls;
  }

  bool owes =
      false;  ///< after a failure, this rank still participates in a call so that others complete
  std::int64_t calls = 0;       ///< exchanges checked by this rank
  std::int64_t references = 0;  ///< how many of them MPI also performed

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
  std::uint64_t steps_seed_;  ///< for the choices of steps
};

/// Starts a thread that ends the process, with a report, if a case exceeds `patience` seconds.
void start_watch(double patience);
void stop_watch();

/// Returns the command's arguments that repeat this case.
std::string reproduction(const Options& options, const std::string& family, std::int64_t number);

}  // namespace fuzz

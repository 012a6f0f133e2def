// A differential fuzzer: runs random programs of vicinal's collectives. It compares their results
// with values computed from the seed alone, and in some cases with MPI's own calls. `--help`
// describes the options; tools/fuzz.py runs it on several MPIs and numbers of ranks.
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "families.hpp"
#include "random.hpp"
#include "trial.hpp"

namespace {

struct Family {
  const char* name;
  void (*run)(fuzz::Trial&);
  int weight;  ///< 0: only on request
};

constexpr Family families[] = {
    {"neighborhood", fuzz::run_neighborhood, 5},
    {"all_ranks", fuzz::run_over_all, 3},
    {"sparse", fuzz::run_sparse, 3},
    {"halo", fuzz::run_halo, 3},
    {"loops", fuzz::run_loops, 3},
    {"unmodified", fuzz::run_unmodified, 0},
    {"programs", fuzz::run_programs, 0},
};

constexpr const char* help =
    "usage: vicinal_fuzz_<abi> [--seed N] [--cases N] [--seconds S] [--family F] [--case N]\n"
    "  --case N      run that case of the seed only\n"
    "  --patience S  a case that takes longer hangs (default 60)\n"
    "  --keep-going  also after a failed case\n"
    "  --verbose     say what each rank does\n"
    "To leave a promise untried:\n"
    "  --no-faults         no rank is at fault\n"
    "  --no-free-types     no datatype is freed while calls use it\n"
    "  --no-lone-tests     a rank that tests one request also calls other things\n"
    "  --no-free-requests  no nonblocking call's request is freed in the place of a wait\n"
    "  --no-components     components of a graph use blocks of one size\n"
    "To make a case of the family programs smaller:\n"
    "  --steps N    so many steps in each thread (default 30)\n"
    "  --threads N  at most so many threads (default 3)\n"
    "  --skip N     without the step of that number; may be given again\n";

[[noreturn]] void misuse(const std::string& what) {
  std::cerr << "vicinal_fuzz: " + what + "; see --help\n";
  std::exit(2);
}

fuzz::Options read(int argc, char** argv) {
  fuzz::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) misuse(word + " wants a value");
      return std::string(argv[++i]);
    };
    if (word == "--help") {
      std::cout << help;
      std::exit(0);
    }
    if (word == "--seed")
      options.seed = std::stoull(value());
    else if (word == "--cases")
      options.cases = std::stoll(value());
    else if (word == "--case")
      options.only = std::stoll(value());
    else if (word == "--seconds")
      options.seconds = std::stod(value());
    else if (word == "--family")
      options.family = value();
    else if (word == "--patience")
      options.patience = std::stod(value());
    else if (word == "--verbose")
      options.verbose = true;
    else if (word == "--keep-going")
      options.keep_going = true;
    else if (word == "--no-faults")
      options.faults = false;
    else if (word == "--no-free-types")
      options.free_types = false;
    else if (word == "--no-lone-tests")
      options.lone_tests = false;
    else if (word == "--no-free-requests")
      options.free_requests = false;
    else if (word == "--no-components")
      options.components = false;
    else if (word == "--steps")
      options.steps = std::stoi(value());
    else if (word == "--threads")
      options.threads = std::stoi(value());
    else if (word == "--skip")
      options.skipped.insert(std::stoi(value()));
    else
      misuse("unknown argument " + word);
  }
  if (options.only >= 0 && options.family.empty()) misuse("--case wants --family");
  if (options.cases < 0 && options.seconds < 0) options.cases = 20;
  return options;
}

/// Returns the participating families, each as often as its weight.
std::vector<const Family*> chosen(const fuzz::Options& options) {
  std::vector<const Family*> list;
  for (const Family& family : families) {
    if (!options.family.empty() && options.family != family.name) continue;
    const int weight = options.family.empty() ? family.weight : 1;
    list.insert(list.end(), static_cast<std::size_t>(weight), &family);
  }
  if (list.empty()) misuse("there is no family " + options.family);
  return list;
}

struct Count {
  long long cases = 0, calls = 0, references = 0, failed = 0;
};

/// Runs a case; returns whether no rank found an error.
bool run_case(const fuzz::Options& options, const Family& family, long long number, Count& count) {
  fuzz::Trial trial(options, family.name, number);
  family.run(trial);
  long long sums[] = {trial.findings(), trial.calls, trial.references};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, sums, 3, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
  for (int done = trial.owes ? 0 : 1; done == 0; vicinal_progress()) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ++count.cases;
  count.calls += sums[1];
  count.references += sums[2];
  count.failed += sums[0] > 0 ? 1 : 0;
  return sums[0] == 0;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  const fuzz::Options options = read(argc, argv);
  // Progress of an unmodified program depends on the thread level.
  const bool unmodified = options.family == "unmodified" || options.family == "programs";
  const bool by_one_thread = unmodified && fuzz::scrambled(options.seed) % 2 == 0;
  MPI_Init_thread(&argc, &argv, by_one_thread ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  const std::vector<const Family*> list = chosen(options);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fuzz::start_watch(options.patience);
  std::map<std::string, Count> counts;
  const auto begin = std::chrono::steady_clock::now();
  const long long first = options.only < 0 ? 0 : options.only;
  for (long long number = first;; ++number) {
    // The first rank's clock decides whether time is left.
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    int over = options.only >= 0 ? number > options.only
                                 : (options.cases >= 0 && number >= options.cases) ||
                                       (options.seconds >= 0 && taken.count() > options.seconds);
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (over != 0) break;
    // A case's number does not depend on the participating families.
    const Family& family = *list[static_cast<std::size_t>(number) % list.size()];
    const bool good = run_case(options, family, number, counts[family.name]);
    if (good || rank != 0) {
      if (!good && !options.keep_going) break;
      continue;
    }
    std::cout << "FAILED; again: " << reproduction(options, family.name, number) << '\n'
              << std::flush;
    if (!options.keep_going) break;
  }
  fuzz::stop_watch();
  long long passed = 0, failed = 0;
  for (const auto& [name, count] : counts) {
    if (rank == 0) {
      std::cout << name << ": " << count.cases << " cases, " << count.calls << " exchanges, "
                << count.references << " of them by MPI's own as well\n";
    }
    passed += count.cases - count.failed;
    failed += count.failed;
  }
  if (rank == 0) std::cout << passed << " passed, " << failed << " failed\n" << std::flush;
  MPI_Finalize();
  return failed > 0 || passed == 0 ? 1 : 0;
}

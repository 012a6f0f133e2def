#include "trial.hpp"

#include <unistd.h>
#include <vicinal/vicinal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <thread>

namespace fuzz {
namespace {

/// State of the watch: written by the rank's own thread, read by the watch.
struct Watched {
  std::mutex mutex;
  std::condition_variable changed;
  std::string description;
  std::chrono::steady_clock::time_point begin;
  bool running = false;
  bool stop = false;
  std::thread thread;
};

Watched& watched() {
  static Watched state;
  return state;
}

void print(const std::string& text) {
  // One write per text, so that texts of several ranks do not mix.
  const char* from = text.data();
  std::size_t rest = text.size();
  while (rest > 0) {
    const ssize_t done = ::write(2, from, rest);
    if (done <= 0) return;
    from += done;
    rest -= static_cast<std::size_t>(done);
  }
}

/// Message of a crashing rank, prepared in advance: a signal handler may do little but write.
std::array<char, 800> last_words{};
std::size_t last_words_head = 0;  ///< length of the part that names the case

void prepare_last_words(std::size_t from, const std::string& text) {
  const std::size_t room = last_words.size() - from - 1;
  const std::size_t length = std::min(text.size(), room);
  std::memcpy(last_words.data() + from, text.data(), length);
  last_words[from + length] = '\0';
}

std::array<struct sigaction, 32> former{};

/// Names the case and restores the previous handler, which then gets the signal again.
void say_last_words(int number) {
  if (::write(2, last_words.data(), std::strlen(last_words.data())) < 0) return;
  sigaction(number, &former[static_cast<std::size_t>(number)], nullptr);
}

void watch(double patience) {
  Watched& state = watched();
  std::unique_lock lock(state.mutex);
  while (!state.stop) {
    state.changed.wait_for(lock, std::chrono::milliseconds(200));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - state.begin;
    if (!state.running || taken.count() < patience) continue;
    print("FAILED (no end in sight)\n" + state.description);
    vicinal_dump();
    // Lets the other ranks report first: the launcher ends them when this one exits.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::_Exit(3);
  }
}

}  // namespace

void start_watch(double patience) {
  struct sigaction action{};
  action.sa_handler = say_last_words;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
    sigaction(number, &action, &former[static_cast<std::size_t>(number)]);
  }
  watched().thread = std::thread(watch, patience);
}

void stop_watch() {
  {
    const std::lock_guard lock(watched().mutex);
    watched().stop = true;
  }
  watched().changed.notify_all();
  watched().thread.join();
}

std::string reproduction(const Options& options, const std::string& family, std::int64_t number) {
  std::string text = "--seed " + std::to_string(options.seed) + " --family " + family + " --case " +
                     std::to_string(number);
  if (!options.faults) text += " --no-faults";
  if (!options.free_types) text += " --no-free-types";
  if (!options.lone_tests) text += " --no-lone-tests";
  if (!options.free_requests) text += " --no-free-requests";
  if (!options.components) text += " --no-components";
  const Options usual;
  if (options.steps != usual.steps) text += " --steps " + std::to_string(options.steps);
  if (options.threads != usual.threads) text += " --threads " + std::to_string(options.threads);
  for (const int step : options.skipped) text += " --skip " + std::to_string(step);
  return text;
}

Trial::Trial(const Options& options, const std::string& family, std::int64_t number)
    : options_(options),
      family_(family),
      number_(number),
      common_{options.seed, scrambled(family.front()), static_cast<std::uint64_t>(number)},
      own_{},
      steps_seed_(Random(common_).next()) {
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  own_ = Random{common_.next(), static_cast<std::uint64_t>(rank_)};
  const std::lock_guard lock(watched().mutex);
  watched().begin = std::chrono::steady_clock::now();
  watched().running = true;
  watched().description.clear();
  diary_ = "rank " + std::to_string(rank_) + " of " + std::to_string(size) + ": " +
           reproduction(options, family, number) + "\n";
  watched().description = diary_;
  const std::string words = "FAILED (crash) " + diary_;
  prepare_last_words(0, words);
  last_words_head = words.size();
  if (options_.verbose) print(diary_);
}

Trial::Trial(Trial& whole, int thread)
    : options_(whole.options_),
      family_(whole.family_),
      number_(whole.number_),
      common_(whole.common_),
      own_(whole.own_),
      diary_(whole.diary_),
      rank_(whole.rank_),
      thread_(thread),
      steps_seed_(whole.steps_seed_) {}

Trial::~Trial() {
  if (thread_ >= 0) return;
  const std::lock_guard lock(watched().mutex);
  watched().running = false;
}

void Trial::split(int colour) {
  common_ = Random{common_.next(), static_cast<std::uint64_t>(colour)};
}

void Trial::begin_step(int step) {
  const auto thread = static_cast<std::uint64_t>(thread_);
  common_ = Random{steps_seed_, thread, static_cast<std::uint64_t>(step)};
  own_ = Random{common_.next(), static_cast<std::uint64_t>(rank_)};
}

void Trial::add(const std::string& text) {
  const std::string line = thread_ < 0 ? text : "thread " + std::to_string(thread_) + ", " + text;
  diary_ += "  " + line + "\n";
  if (options_.verbose) print("rank " + std::to_string(rank_) + ": " + line + "\n");
  const std::lock_guard lock(watched().mutex);
  watched().description += "  " + line + "\n";
  prepare_last_words(last_words_head, "  " + line + "\n");
}

void Trial::found(const std::string& what) {
  constexpr int most = 5;
  if (++findings_ > most) return;
  print("FAILED " + family_ + ": " + what + "\n" + (findings_ == 1 ? diary_ : std::string()));
}

bool Trial::succeeds(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return true;
  fail(what, " returned error ", code, ": ", vicinal_error_message());
  return false;
}

}  // namespace fuzz

// Translates faults to MPI error classes and back, and calls the user's error handler. For a
// difference, all ranks find the first rank that differs; then it and rank 0 broadcast their
// values.
#include "mpi/errors.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "mpi/collectives.hpp"
#include "mpi/environment.hpp"

namespace vicinal::mpi {

namespace {

constexpr std::array<std::pair<Fault, int>, 15> classes{{
    {Fault::argument, MPI_ERR_ARG},
    {Fault::buffer, MPI_ERR_BUFFER},
    {Fault::count, MPI_ERR_COUNT},
    {Fault::rank, MPI_ERR_RANK},
    {Fault::type, MPI_ERR_TYPE},
    {Fault::topology, MPI_ERR_TOPOLOGY},
    {Fault::communicator, MPI_ERR_COMM},
    {Fault::info, MPI_ERR_INFO_VALUE},
    {Fault::request, MPI_ERR_REQUEST},
    {Fault::operation, MPI_ERR_OP},
    {Fault::memory, MPI_ERR_NO_MEM},
    {Fault::device, MPI_ERR_OTHER},
    {Fault::unsupported, MPI_ERR_UNSUPPORTED_OPERATION},
    {Fault::elsewhere, MPI_ERR_OTHER},
    {Fault::internal, MPI_ERR_INTERN},
}};

thread_local std::string last_message;

int class_of(int code) {
  int number = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &number);
  return number;
}

/// Returns a code of the fault's class. Its text is `text` until the next fault of that class.
int code_with_text(Fault fault, std::string text) {
  static Mutex mutex;
  static std::map<int, int> codes;  // by class; MPI has room for few
  const int number = error_class(fault);
  if (!is_alive()) return number;
  const Lock lock(mutex);
  const auto [it, is_new] = codes.try_emplace(number, number);
  if (is_new) MPI_Add_error_code(number, &it->second);
  text.resize(std::min<std::size_t>(text.size(), MPI_MAX_ERROR_STRING - 1));
  if (it->second != number) MPI_Add_error_string(it->second, text.c_str());
  return it->second;
}

bool ends_the_program(MPI_Comm communicator) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (MPI_Comm_get_errhandler(communicator, &handler) != MPI_SUCCESS) return false;
  const bool fatal = handler == MPI_ERRORS_ARE_FATAL;
  if (handler != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&handler);
  return fatal;
}

/// Calls the user's error handler with `code`, and returns it.
int raise_as(int code, MPI_Comm user, const Error& error) noexcept {
  try {
    last_message = error.what();
  } catch (const std::exception&) {
    last_message.clear();
  }
  // Without an error handler, this line is the only report.
  if (!is_alive() || (user == MPI_COMM_NULL && !has_world())) {
    std::fprintf(stderr, "vicinal: %s\n", error.what());
    return code;
  }
  const MPI_Comm handled_on = user == MPI_COMM_NULL ? MPI_COMM_WORLD : user;
  if (ends_the_program(handled_on)) std::fprintf(stderr, "vicinal: %s\n", error.what());
  MPI_Comm_call_errhandler(handled_on, code);
  return code;
}

}  // namespace

int error_class(Fault fault) noexcept {
  for (const auto& [known, number] : classes) {
    if (known == fault) return number;
  }
  return MPI_ERR_INTERN;
}

int raise(MPI_Comm user, const Error& error) noexcept {
  return raise_as(error_class(error.fault()), user, error);
}

int raise_for(const std::string& function, MPI_Comm user, const Error& error) noexcept {
  try {
    const Error named(error.fault(), function + ": " + error.what());
    return raise_as(code_with_text(error.fault(), named.what()), user, named);
  } catch (const std::exception&) {
    return raise(user, error);  // there is no memory for the name
  }
}

MPI_Errhandler errors_return() {
#ifdef MPI_ABI_VERSION
  // MPICH 5.0 and Intel MPI 2021 exchange the values of MPI_ERRORS_RETURN and MPI_ERRORS_ABORT.
  // Files use MPI_ERRORS_RETURN unless the program has set another handler.
  static const MPI_Errhandler theirs = [] {
    MPI_Errhandler of_files = MPI_ERRORS_RETURN;
    const bool told = MPI_File_get_errhandler(MPI_FILE_NULL, &of_files) == MPI_SUCCESS;
    const bool is_either = of_files == MPI_ERRORS_RETURN || of_files == MPI_ERRORS_ABORT;
    return told && is_either ? of_files : MPI_ERRORS_RETURN;
  }();
  return theirs;
#else
  return MPI_ERRORS_RETURN;
#endif
}

ErrorsReturn::ErrorsReturn() {
  for (Kept& kept : kept_) {
    MPI_Comm_get_errhandler(kept.communicator, &kept.handler);
    MPI_Comm_set_errhandler(kept.communicator, errors_return());
  }
}

ErrorsReturn::~ErrorsReturn() {
  for (Kept& kept : kept_) {
    MPI_Comm_set_errhandler(kept.communicator, kept.handler);
    MPI_Errhandler_free(&kept.handler);
  }
}

const char* last_error_message() noexcept { return last_message.c_str(); }

void throw_mpi_error(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
  const int number = class_of(code);
  if (number == MPI_ERR_TRUNCATE) {
    fail(Fault::count, "another rank has sent more than this rank expects (", what,
         " failed with code ", code, ": ", text, "); both ends must give the same count");
  }
  Fault fault = Fault::internal;
  for (const auto& [known, candidate] : classes) {
    if (candidate == number) fault = known;
  }
  fail(fault, what, " failed with code ", code, ": ", text);
}

void throw_message_error(int code, int peer, std::int64_t expected, const char* what) {
  if (class_of(code) != MPI_ERR_TRUNCATE) throw_mpi_error(code, what);
  fail(Fault::count, "rank ", peer, " has sent more than the ", expected,
       " bytes that this rank expects from it; both ends of an edge must give the same count, and "
       "all "
       "ranks the same element size");
}

namespace {

/// Broadcasts `said` from rank `speaker`. Collective.
template <class Said>
Said told(MPI_Comm communicator, int speaker, const Said& said) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  Words words;
  if (rank == speaker) WordWriter(words).write(said);
  auto size = static_cast<std::int64_t>(words.size());
  broadcast(communicator, std::as_writable_bytes(std::span(&size, 1)), speaker);
  words.resize(static_cast<std::size_t>(size));
  broadcast(communicator, std::as_writable_bytes(std::span(words)), speaker);
  return WordReader(words, "what a rank has given", speaker).read<Said>();
}

}  // namespace

void throw_difference(MPI_Comm communicator, std::span<const Given> mine) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  const std::int64_t print = fingerprint(mine);
  const std::vector<std::int64_t> all = allgather(communicator, std::span(&print, 1));
  const auto differs =
      std::find_if(all.begin(), all.end(), [&](std::int64_t each) { return each != all.front(); });
  require(differs != all.end(), Fault::internal,
          "ranks were said to have given different settings, but all are the same");
  const auto other = static_cast<int>(differs - all.begin());
  const std::vector<Given> own(mine.begin(), mine.end());
  const std::vector<Given> one = told(communicator, 0, own),
                           another = told(communicator, other, own);
  const std::optional<Error> found = difference(one, 0, another, other);
  require(found.has_value(), Fault::internal, "ranks 0 and ", other,
          " have given different settings, but none of these differs");
  throw Error(*found);
}

void throw_told(MPI_Comm communicator, int speaker, const std::string& message) {
  throw Error(Fault::info, told(communicator, speaker, message));
}

}  // namespace vicinal::mpi

#include "mpi_completion.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace fuzz {
namespace {

/// A group of requests as MPI takes them, with the state of each.
class Group {
 public:
  Group(Trial& trial, std::vector<MpiInFlight> members)
      : trial_(trial), members_(std::move(members)), over_(members_.size()) {
    for (const MpiInFlight& each : members_) requests.push_back(*each.request);
    statuses.resize(members_.size());
    ignores_ = trial.own().chance(40);
  }
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] bool is_over() const { return left_ == 0; }
  [[nodiscard]] int left() const { return left_; }
  [[nodiscard]] MPI_Status* status(int i) {
    return ignores_ ? MPI_STATUS_IGNORE : &statuses[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] MPI_Status* all_statuses() {
    return ignores_ ? MPI_STATUSES_IGNORE : statuses.data();
  }

  /// Marks request `i` as complete; its status is entry `at`.
  void finish(int i, int at, int code, const char* by) {
    if (i < 0 || i >= size() || over_[static_cast<std::size_t>(i)]) {
      trial_.fail(by, " returned ", code, " and the index ", i, " of ", size(),
                  i >= 0 && i < size() ? " again" : "");
      left_ = 0;
      return;
    }
    const auto place = static_cast<std::size_t>(i);
    over_[place] = true;
    --left_;
    *members_[place].request = requests[place];
    members_[place].done(code, by, ignores_ ? nullptr : &statuses[static_cast<std::size_t>(at)]);
  }
  void finish_all(int code, const char* by) {
    for (int i = 0; i < size(); ++i) finish(i, i, code, by);
  }
  void finish_some(int count, const std::vector<int>& indices, int code, const char* by) {
    if (count == MPI_UNDEFINED) count = 0;
    for (int k = 0; k < count && !is_over(); ++k) {
      finish(indices[static_cast<std::size_t>(k)], k, code, by);
    }
  }
  /// Returns the requests that are not complete yet.
  [[nodiscard]] std::vector<MpiInFlight> rest() {
    std::vector<MpiInFlight> list;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!over_[i]) list.push_back(std::move(members_[i]));
    }
    return list;
  }
  [[nodiscard]] bool has_persistent_collectives() const {
    for (const MpiInFlight& each : members_) {
      if (each.persistent_collective) return true;
    }
    return false;
  }

  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;

 private:
  Trial& trial_;
  std::vector<MpiInFlight> members_;
  std::vector<bool> over_;
  bool ignores_ = false;
  int left_ = static_cast<int>(over_.size());
};

enum Function {
  wait,
  waitall,
  waitany,
  waitsome,
  test,
  testall,
  testany,
  testsome,
  get_status,
  functions
};

/// Calls the function once. A test that completes nothing leaves the group unchanged.
void call_once(Group& group, Function function, int next) {
  const int count = group.size();
  MPI_Request* const requests = group.requests.data();
  std::vector<int> indices(group.requests.size());
  int flag = 0;
  int index = MPI_UNDEFINED;
  int code = MPI_SUCCESS;
  switch (function) {
    case wait:
      code = MPI_Wait(&requests[next], group.status(next));
      return group.finish(next, next, code, "MPI_Wait");
    case waitall:
      code = MPI_Waitall(count, requests, group.all_statuses());
      return group.finish_all(code, "MPI_Waitall");
    case waitany:
      code = MPI_Waitany(count, requests, &index, group.status(0));
      return group.finish(index, 0, code, "MPI_Waitany");
    case waitsome:
      code = MPI_Waitsome(count, requests, &index, indices.data(), group.all_statuses());
      // With an incorrect count, this would wait forever.
      if (index <= 0) return group.finish(-1, 0, code, "MPI_Waitsome");
      return group.finish_some(index, indices, code, "MPI_Waitsome");
    case test:
      code = MPI_Test(&requests[next], &flag, group.status(next));
      if (flag != 0 || code != MPI_SUCCESS) group.finish(next, next, code, "MPI_Test");
      return;
    case testall:
      code = MPI_Testall(count, requests, &flag, group.all_statuses());
      if (flag != 0 || code != MPI_SUCCESS) group.finish_all(code, "MPI_Testall");
      return;
    case testany:
      code = MPI_Testany(count, requests, &index, &flag, group.status(0));
      if (flag != 0 || code != MPI_SUCCESS) group.finish(index, 0, code, "MPI_Testany");
      return;
    case testsome:
      code = MPI_Testsome(count, requests, &index, indices.data(), group.all_statuses());
      if (index == MPI_UNDEFINED) return group.finish(-1, 0, code, "MPI_Testsome");
      return group.finish_some(index, indices, code, "MPI_Testsome");
    default:
      code = MPI_Request_get_status(requests[next], &flag, MPI_STATUS_IGNORE);
      if (flag == 0 && code == MPI_SUCCESS) return;
      code = MPI_Wait(&requests[next], group.status(next));
      return group.finish(next, next, code, "MPI_Request_get_status and MPI_Wait");
  }
}

Function random_function(Trial& trial, [[maybe_unused]] const Group& group) {
  const auto function = static_cast<Function>(trial.own().below(functions));
#ifdef MPICH_VERSION
  // MPI_Testall() of MPICH 5.0.2 fails on active persistent collectives, also on those that the
  // library leaves to MPICH.
  if (function == testall && group.has_persistent_collectives()) return waitall;
#endif
  return function;
}

}  // namespace

bool is_preloaded() {
  static const bool preloaded = [] {
    const char* libraries = std::getenv("LD_PRELOAD");
    return libraries != nullptr && std::strstr(libraries, "libvicinal_mpi") != nullptr;
  }();
  return preloaded;
}

void complete_by_mpi(Trial& trial, std::vector<MpiInFlight> requests) {
  Random& own = trial.own();
  own.shuffle(requests);
  while (!requests.empty()) {
    const auto count = static_cast<std::ptrdiff_t>(
        own.chance(50) ? requests.size() : 1 + own.next() % requests.size());
    Group group(trial, {requests.end() - count, requests.end()});
    requests.resize(requests.size() - static_cast<std::size_t>(count));
    const Function function = random_function(trial, group);
    // Functions for one request take one after the other; those for several choose the order.
    for (int next = 0; !group.is_over();) {
      const int left = group.left();
      call_once(group, function, next);
      if (group.left() < left) ++next;
    }
  }
}

void look_by_mpi(Trial& trial, std::vector<MpiInFlight>& requests) {
  if (requests.empty()) return;
  Group group(trial, std::move(requests));
  Function function = random_function(trial, group);
  if (function < test) function = testsome;
  const bool one_by_one = function == test || function == get_status;
  for (int next = 0; next < (one_by_one ? group.size() : 1); ++next) {
    call_once(group, function, next);
  }
  requests = group.rest();
}

}  // namespace fuzz

#include "completion.hpp"

namespace fuzz {
namespace {

void wait_each(std::vector<InFlight>& requests, bool frees = false) {
  for (const InFlight& each : requests) {
    // Freeing reports no error.
    const bool free = frees && each.single_use && !each.may_fail;
    const int code = free ? vicinal_request_free(each.request) : vicinal_wait(each.request);
    each.done(code, free ? "vicinal_request_free" : "vicinal_wait");
  }
}

/// Returns the handles in an array, as calls for several requests need them.
std::vector<vicinal_request> handles(const std::vector<InFlight>& requests) {
  std::vector<vicinal_request> result;
  for (const InFlight& each : requests) result.push_back(*each.request);
  return result;
}

void hand_back(const std::vector<InFlight>& requests, const std::vector<vicinal_request>& from) {
  for (std::size_t i = 0; i < requests.size(); ++i) *requests[i].request = from[i];
}

void wait_all(std::vector<InFlight>& requests) {
  std::vector<vicinal_request> array = handles(requests);
  const int code = vicinal_waitall(static_cast<int>(array.size()), array.data());
  hand_back(requests, array);
  // An error means that some request failed. Of those that may fail, all that are gone count.
  bool explained = code == MPI_SUCCESS;
  for (const InFlight& each : requests) explained = explained || each.may_fail;
  for (const InFlight& each : requests) {
    const bool over = code == MPI_SUCCESS || !explained ||
                      (each.may_fail && *each.request == VICINAL_REQUEST_NULL);
    each.done(over ? code : vicinal_wait(each.request), "vicinal_waitall");
  }
}

void wait_any(Trial& trial, std::vector<InFlight>& requests) {
  std::vector<vicinal_request> array = handles(requests);
  std::vector<bool> over(requests.size());
  for (std::size_t n = 0; n < requests.size(); ++n) {
    int index = -7;
    const int code = vicinal_waitany(static_cast<int>(array.size()), array.data(), &index);
    if (index == MPI_UNDEFINED) break;  // the others have nothing in flight
    if (index < 0 || index >= static_cast<int>(array.size())) {
      trial.fail("vicinal_waitany returned ", code, " and the index ", index, ": ",
                 vicinal_error_message());
      break;
    }
    const auto i = static_cast<std::size_t>(index);
    if (over[i]) trial.fail("vicinal_waitany gave request ", index, " twice");
    over[i] = true;
    requests[i].done(code, "vicinal_waitany");
  }
  hand_back(requests, array);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!over[i]) requests[i].done(vicinal_wait(requests[i].request), "vicinal_wait after waitany");
  }
}

void test_in_turn(Trial& trial, std::vector<InFlight>& requests) {
  while (!requests.empty()) {
    if (trial.options().lone_tests) {
      // Tests one request until it is complete, and nothing else meanwhile.
      int flag = 0;
      int code = MPI_SUCCESS;
      while (flag == 0 && code == MPI_SUCCESS) code = vicinal_test(requests.back().request, &flag);
      requests.back().done(code, "vicinal_test");
      requests.pop_back();
    } else {
      test_some(trial, requests);
    }
  }
}

}  // namespace

void test_some(Trial& trial, std::vector<InFlight>& requests) {
  for (std::size_t i = 0; i < requests.size();) {
    int flag = 0;
    const int code = vicinal_test(requests[i].request, &flag);
    if (code == MPI_SUCCESS && flag == 0) {
      ++i;
      continue;
    }
    requests[i].done(code, "vicinal_test");
    requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (trial.own().chance(20)) vicinal_progress();
}

void complete_all(Trial& trial, std::vector<InFlight> requests) {
  Random& own = trial.own();
  own.shuffle(requests);
  while (!requests.empty()) {
    // Some requests complete by one function, the others by another.
    const int count = own.chance(50) ? static_cast<int>(requests.size())
                                     : own.between(1, static_cast<int>(requests.size()));
    std::vector<InFlight> some(requests.end() - count, requests.end());
    requests.resize(requests.size() - some.size());
    switch (own.below(4)) {
      case 0: wait_each(some, own.chance(30) && trial.options().free_requests); break;
      case 1: wait_all(some); break;
      case 2: wait_any(trial, some); break;
      default: test_in_turn(trial, some); break;
    }
  }
}

}  // namespace fuzz

// Completion of requests, by an order and by functions that each rank chooses.
#pragma once

#include <vicinal/vicinal.h>

#include <functional>
#include <vector>

#include "trial.hpp"

namespace fuzz {

/// A request in flight and the function that receives the result of its completion.
struct InFlight {
  vicinal_request* request;
  std::function<void(int code, const char* by)> done;
  bool may_fail = false;    ///< a rank fails in it
  bool single_use = false;  ///< gone when complete, so it may be freed instead of waited for
};

/// Completes all, by waits, tests, vicinal_waitany(), vicinal_waitall() or, if permitted, by
/// freeing.
void complete_all(Trial& trial, std::vector<InFlight> requests);

/// Tests each request once and removes complete ones from the list.
void test_some(Trial& trial, std::vector<InFlight>& requests);

}  // namespace fuzz

// Finding requests complete, in an order and by calls of each rank's own.
#pragma once

#include <vicinal/vicinal.h>

#include <functional>
#include <vector>

#include "trial.hpp"

namespace fuzz {

/// A request in flight, and who hears what its completion returned.
struct InFlight {
  vicinal_request* request;
  std::function<void(int code, const char* by)> done;
  bool may_fail = false;  ///< a rank is at fault in it
  bool single_use =
      false;  ///< gone once it is complete, and so may be freed in the place of a wait
};

/// Completes them all, by waits, tests, vicinal_waitany, vicinal_waitall or, where they may be, by freeing.
void complete_all(Trial& trial, std::vector<InFlight> requests);

/// Tests them once; those that are complete are taken off the list.
void test_some(Trial& trial, std::vector<InFlight>& requests);

}  // namespace fuzz

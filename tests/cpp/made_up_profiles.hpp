// Profiles made of a few numbers, for tests of choices.
#pragma once

#include "cost/profile.hpp"

namespace vicinal::testing {

/// Returns `it` with one kind of message inside a host and one between hosts. Sender and receiver
/// each pay half the overhead, and half of the processors' part of a byte's time.
inline Profile with_network(Profile it, const char* name, double latency, double overhead,
                            double seconds_per_byte, double port, double cores,
                            double of_processors = 0) {
  it.name = name;
  const LevelCost near{0.4e-6, 0.4e-6, {{Protocol::any_size, 1.0e-6, 2.0e-10, false}}};
  Protocol far{Protocol::any_size, latency, (1 - of_processors) * seconds_per_byte, false};
  far.processor_seconds_per_byte = of_processors * seconds_per_byte / 2;
  it.levels = {near, near, {overhead / 2, overhead / 2, {far}}};
  it.port_seconds_per_byte = port;
  it.cores = cores;
  return it;
}

}  // namespace vicinal::testing

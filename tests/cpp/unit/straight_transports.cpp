// Tests how data are sent directly from one rank to another, from host and GPU memory, by the
// prices of the resulting plans.
#include <algorithm>

#include "check.hpp"
#include "cost/price.hpp"
#include "cost/transport.hpp"
#include "gpu_profile.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "plan/placement.hpp"
#include "slow_machine.hpp"

namespace vicinal::straight_transports_tests {
namespace {

using testing::add;

constexpr std::int64_t kilobyte = 1024, megabyte = 1024 * kilobyte;

/// Transfers from each rank to the next, in one piece on both sides or, if scattered, every second
/// element.
struct Ring {
  std::shared_ptr<const Machine> machine;
  std::vector<Pattern> patterns;

  Ring(std::vector<int> host_of, Index count, bool scattered) {
    const int size = static_cast<int>(host_of.size());
    machine = std::make_shared<const Machine>(host_of, host_of);
    patterns.resize(host_of.size());
    for (int rank = 0; rank < size; ++rank) {
      const int next = (rank + 1) % size;
      OutEdge& out = patterns[static_cast<std::size_t>(rank)].out.emplace_back();
      InEdge& in = patterns[static_cast<std::size_t>(next)].in.emplace_back();
      out.rank = next;
      in.rank = rank;
      in.count = count;
      const Index step = scattered ? 2 : 1;
      for (Index i = 0; i < (scattered ? count : 1); ++i) {
        const Index length = scattered ? 1 : count;
        out.items.push_back({i * step, i * step, length});
        in.slots.push_back({i, i * step, length});
      }
    }
  }

  [[nodiscard]] std::vector<Plan> planned(const PlanOptions& options) const {
    std::vector<Plan> forward, reverse;
    for (Plans& each : plan_virtually(find_planner("automatic"), machine, patterns, options)) {
      forward.push_back(std::move(each.forward));
      reverse.push_back(*std::move(each.reverse));
    }
    for (const std::vector<Plan>* plans : {&forward, &reverse}) {
      verify(*plans, patterns);
      std::vector<Plan> staged;
      for (const Plan& plan : *plans) staged.push_back(with_staged(plan, Staged::messages));
      verify(staged, patterns);
    }
    return forward;
  }
};

PlanOptions on_a_gpu(std::int64_t element_bytes) {
  PlanOptions options;
  options.with_reverse = true;
  options.on_device = true;
  options.element_bytes = element_bytes;
  options.profile = testing::with_a_gpu();
  return options;
}

std::size_t sends(const Plan& plan) {
  return static_cast<std::size_t>(
      std::count_if(plan.operations.begin(), plan.operations.end(),
                    [](const Operation& it) { return it.kind == OperationKind::send; }));
}

/// Returns the price of a message between two hosts, divided by hand into equal parts.
double priced(std::int64_t bytes, int parts) {
  auto plans = testing::empty_plans(2, parts, parts);
  for (int part = 0; part < parts; ++part) {
    add(plans[0], testing::message(OperationKind::send, Plan::source, part, 1, 1, part));
    add(plans[1], testing::message(OperationKind::receive, Plan::target, part, 1, 0, part));
  }
  return price(plans, testing::on_hosts({0, 1}), testing::with_a_gpu(), bytes / parts, {true, true})
      .seconds;
}

StraightData between_hosts(std::int64_t bytes) { return {bytes, false, Level::network, true}; }

}  // namespace

TEST(what_lies_on_a_gpu_goes_through_slots_at_sizes_at_which_the_hosts_does_not) {
  const Profile profile = testing::with_a_gpu();
  StraightData data{4 * megabyte, true, Level::node};
  CHECK(!slot_pays(profile, data));
  data.on_device = true;
  CHECK(slot_pays(profile, data));
  // Through the host, packing into a slot costs the same as packing for MPI, but saves the message.
  Profile apart = profile;
  apart.device->peer.reset();
  CHECK(slot_pays(apart, data));
  // Contiguous data need no kernel to be sent.
  data.in_pieces = false;
  CHECK(slot_pays(profile, data));
  // Uses the requested transport.
  data.transport = device_transport(false, true);
  CHECK(slot_pays(apart, data));
  CHECK(slot_pays(default_profile(), data));
  // Between GPU memories, MPI copies once.
  data.transport = device_transport(true, false);
  apart.device->levels = apart.levels;
  for (LevelCost& level : *apart.device->levels) level.protocols.back().seconds_per_byte = 1e-11;
  CHECK(!slot_pays(apart, data));
  data.on_device = false;
  data.transport = device_transport(false, true);
  CHECK(!slot_pays(profile, data));
}

TEST(large_messages_between_gpus_are_divided_as_their_price_has_it) {
  const Profile profile = testing::with_a_gpu();
  for (std::int64_t bytes = 16 * kilobyte; bytes <= 64 * megabyte; bytes *= 4) {
    const int parts = message_parts(profile, between_hosts(bytes));
    double least = priced(bytes, 1);
    for (int other = 2; other <= 16 && bytes / other >= 256 * kilobyte; other *= 2) {
      least = std::min(least, priced(bytes, other));
    }
    if (priced(bytes, parts) <= 1.11 * least) continue;
    testing::fail_check(__FILE__, __LINE__, bytes, " bytes in ", parts, " parts take ",
                        priced(bytes, parts), " s by their price, at least ", least);
  }
  CHECK_EQUAL(message_parts(profile, between_hosts(kilobyte)), 1);
  CHECK(message_parts(profile, between_hosts(16 * megabyte)) >= 4);
  CHECK(priced(16 * megabyte, message_parts(profile, between_hosts(16 * megabyte))) <
        0.8 * priced(16 * megabyte, 1));
  // Only data copied between a GPU and the host are divided.
  StraightData data = between_hosts(16 * megabyte);
  data.on_device = false;
  CHECK_EQUAL(message_parts(profile, data), 1);
  data.on_device = true;
  data.transport = device_transport(true, false);
  CHECK_EQUAL(message_parts(profile, data), 1);
  data.transport = staged_transport;
  CHECK(message_parts(profile, data) > 1);
  CHECK_EQUAL(message_parts(default_profile(), data), 1);
}

TEST(plans_for_gpus_divide_large_messages_and_share_slots) {
  for (const bool scattered : {false, true}) {
    const Index count = 1001;
    const Ring hosts({0, 1, 2}, count, scattered);
    const PlanOptions options = on_a_gpu(16 * megabyte / count);
    for (const Plan& plan : hosts.planned(options)) CHECK(sends(plan) >= 4);
    for (const Plan& plan : hosts.planned(on_a_gpu(1))) CHECK_EQUAL(sends(plan), 1U);
    PlanOptions elsewhere = options;
    elsewhere.on_device = false;
    for (const Plan& plan : hosts.planned(elsewhere)) CHECK_EQUAL(sends(plan), 1U);
    // No more parts than elements.
    const Ring few({0, 1}, 3, scattered);
    for (const Plan& plan : few.planned(on_a_gpu(32 * megabyte))) CHECK_EQUAL(sends(plan), 3U);

    const Ring one({0, 0, 0}, count, scattered);
    for (const Plan& plan : one.planned(options)) CHECK_EQUAL(sends(plan), 0U);
    for (const Plan& plan : one.planned(elsewhere)) CHECK_EQUAL(sends(plan), 1U);
  }
}

}  // namespace vicinal::straight_transports_tests

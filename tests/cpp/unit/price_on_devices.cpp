// Tests the price of plans whose buffers lie in a GPU's memory, in whole seconds.
#include <algorithm>
#include <numeric>

#include "../check.hpp"
#include "../slow_machine.hpp"
#include "cost/price.hpp"
#include "cost/transport.hpp"

namespace vicinal::price_on_devices_tests {
namespace {

using testing::add;
using testing::moving;
using testing::on_hosts;
using testing::plans_of;
using testing::slow;
using testing::transfer;

/// An element takes a GPU 1 s in its memory, 2 s to the host and 4 s back.
Profile with_gpus(int count) {
  Profile it = slow();
  it.device = DeviceCost{"a GPU", count, {1, 10, 0.125}, {2, 20, 0.25}, {3, 30, 0.5}, {}, {}};
  return it;
}

Price priced(const std::vector<Plan>& plans, const Machine& machine, OnDevice on_device,
             int count = 0) {
  const Price found = price(plans, machine, with_gpus(count), 8, on_device);
  CHECK_EQUAL(std::accumulate(found.phases.begin(), found.phases.end(), 0.0), found.seconds);
  return found;
}

/// Returns plans with a copy between the user's buffers.
std::vector<Plan> copying(int ranks, std::vector<CopyRun> runs,
                          OperationKind kind = OperationKind::copy) {
  auto plans = plans_of(ranks);
  for (Plan& plan : plans) {
    add(plan, moving(kind, Phase::local, Plan::source, Plan::target, runs));
  }
  return plans;
}

constexpr OnDevice both{true, true}, out{true, false}, in{false, true};

}  // namespace

TEST(price_of_a_message_between_gpus) {
  auto plans = plans_of(2);
  transfer(plans, 0, 1, 3);
  // The copy to the host begins at 2, ends at 8, and is seen at 28. The message is sent until 30,
  // leaves until 36, arrives at 136 and is received until 139. The copy to the GPU begins at 142,
  // ends at 154, and is seen at 184.
  const Price found = priced(plans, on_hosts({0, 1}), both);
  CHECK_EQUAL(found.seconds, 184);
  CHECK(found.finished == (std::vector<double>{36, 184}));
  // No processor is busy while its GPU copies.
  CHECK(found.busy == (std::vector<double>{4, 6}));
  CHECK_EQUAL(priced(plans, on_hosts({0, 1}), out).seconds,
              139 + 1.5);  // then copied out of staging memory
  CHECK_EQUAL(priced(plans, on_hosts({0, 1}), in).seconds, 184 - 28 + 1.5);
  CHECK_THROWS(Fault::argument, price(plans, on_hosts({0, 1}), slow(), 8, both),
               "says nothing of GPUs");
}

TEST(price_of_what_a_gpu_does_for_a_copy) {
  const Machine one = on_hosts({0});
  const std::vector<CopyRun> whole{{0, 0, 4}}, gathered{{5, 0, 2}, {1, 2, 2}},
      scattered{{0, 5, 2}, {2, 1, 2}}, unordered{{0, 5, 2}, {3, 1, 2}};
  const auto seconds = [&](const std::vector<CopyRun>& runs, OnDevice on_device) {
    return priced(copying(1, runs), one, on_device).seconds;
  };
  // A kernel: 1 + 4 + 10; over the link to the host, 8 or 16 instead of 4. To the host: 2 + 8 + 20;
  // back: 3 + 16 + 30.
  CHECK_EQUAL(seconds(whole, both), 15);
  CHECK_EQUAL(seconds(gathered, both), 15);
  CHECK_EQUAL(seconds(whole, out), 30);
  CHECK_EQUAL(seconds(gathered, out), 19);
  CHECK_EQUAL(seconds(scattered, out), 19);
  CHECK_EQUAL(seconds(unordered, out), 19);
  CHECK_EQUAL(seconds(whole, in), 49);
  CHECK_EQUAL(seconds(gathered, in), 27);
  CHECK_EQUAL(seconds(scattered, in), 27);
  CHECK_EQUAL(seconds(unordered, in), 27);
  // More than one kernel moves alone: 1 + 2 for both, the bytes twice, and 10 + 20 of latency; and
  // back.
  const auto many = copying(1, {{5, 0, 300}, {1, 300, 1}});
  const auto of_many = [&](OnDevice on_device) {
    return price(many, one, with_gpus(0), 1024, on_device).seconds;
  };
  CHECK_EQUAL(of_many(out), 3 + 301 * 1024 * 0.375 + 30);
  CHECK_EQUAL(of_many(in), 4 + 301 * 1024 * 0.625 + 40);
  // A kernel reduces, wherever the target lies.
  auto reduced = copying(1, whole, OperationKind::reduce);
  reduced[0].reverse = true;
  CHECK_EQUAL(priced(reduced, one, both).seconds, 15);
  CHECK_EQUAL(priced(reduced, one, out).seconds, 19);
  CHECK_EQUAL(priced(reduced, one, in).seconds, 27);
}

TEST(price_of_a_message_that_mpi_takes_from_a_gpu) {
  auto plans = plans_of(2);
  transfer(plans, 0, 1, 3);
  Profile profile = with_gpus(0);
  const auto direct = [&](OnDevice on_device) {
    return price(plans, on_hosts({0, 1}), profile, 8, on_device, device_transport(true, false))
        .seconds;
  };
  CHECK_THROWS(Fault::argument, direct(both), "says nothing of messages between GPUs' memory");
  profile.device->levels = profile.levels;
  (*profile.device->levels)[2] = {4, 5, {{Protocol::any_size, 50, 0.5, false}}};
  // Sent until 4, leaves until 16, arrives at 66, received until 71.
  CHECK_EQUAL(direct(both), 71);
  // Each end uses the memory that its buffer lies in.
  CHECK_EQUAL(direct(out), 69);
  CHECK_EQUAL(direct(in), 2 + 6 + 100 + 5);

  // A kernel packs the message in the GPU's memory: 1 + 3 + 10.
  auto packed = plans_of(2);
  const int staging = add(packed[0], Buffer{Space::staging, 3});
  const int copied = add(packed[0], moving(OperationKind::copy, Phase::local, Plan::source, staging,
                                           {{7, 0, 1}, {2, 1, 2}}));
  add(packed[0], testing::message(OperationKind::send, staging, 0, 3, 1, 0, {copied}));
  add(packed[1], testing::message(OperationKind::receive, Plan::target, 0, 3, 0, 0));
  plans = packed;
  CHECK_EQUAL(direct(both), 14 + 71);
}

TEST(the_cheaper_transport_for_what_lies_on_a_gpu) {
  auto plans = plans_of(2);
  transfer(plans, 0, 1, 3);
  const Machine machine = on_hosts({0, 1});
  Profile profile = with_gpus(0);
  const auto transport = [&](int rank) {
    return cheaper_transport(plans[static_cast<std::size_t>(rank)], machine, profile, 8);
  };
  CHECK(transport(0) == staged_transport);
  profile.device->levels = profile.levels;
  // Staging costs the sender of a message 28 more, and the receiver 45.
  for (const double more : {27.0, 29.0, 44.0, 46.0}) {
    (*profile.device->levels)[2].protocols[0].latency = 100 + more;
    CHECK_EQUAL(transport(0).direct, more < 28);
    CHECK_EQUAL(transport(1).direct, more < 45);
  }
  // Levels that the rank's messages do not use have no influence.
  (*profile.device->levels)[2] = profile.levels[2];
  (*profile.device->levels)[1].protocols[0].latency = 1e6;
  CHECK(transport(0).direct);
  CHECK(cheaper_transport(plans_of(1)[0], on_hosts({0}), profile, 8) == staged_transport);
}

TEST(what_of_staging_lies_on_a_gpu) {
  Plan plan = plans_of(1)[0];
  const int packed = add(plan, Buffer{Space::staging, 4});
  const int passed_on = add(plan, Buffer{Space::staging, 4});
  const int mixed = add(plan, Buffer{Space::staging, 4});
  const int slot = add(plan, Buffer{Space::shared, 4, 5, 1, 0});
  add(plan, moving(OperationKind::copy, Phase::local, Plan::source, packed, {{0, 0, 4}}));
  add(plan, testing::message(OperationKind::send, packed, 0, 4, 0, 0));
  add(plan, testing::message(OperationKind::receive, passed_on, 0, 4, 0, 0));
  add(plan, moving(OperationKind::copy, Phase::local, mixed, Plan::target, {{0, 0, 4}}));
  add(plan, moving(OperationKind::copy, Phase::local, mixed, slot, {{0, 0, 4}}));
  const auto there = [&](OnDevice users, bool direct) {
    return lying_on_device(plan, users, direct);
  };
  CHECK(there(both, true) == (std::vector<bool>{true, true, true, false, false, false}));
  CHECK(there(in, true) == (std::vector<bool>{false, true, false, false, false, false}));
  CHECK(there(both, false) == (std::vector<bool>{true, true, false, false, false, false}));
}

TEST(what_of_slots_lies_on_a_gpu) {
  Plan plan = plans_of(1)[0];
  const auto slot = [&](int peer) { return add(plan, Buffer{Space::shared, 4, 5, 0, peer, 1}); };
  const int filled = slot(-1), emptied = slot(-1), sent = slot(-1), passed_on = slot(-1),
            far = slot(0);
  const int idle = slot(-1);
  const auto copied = [&](int from, int to) {
    add(plan, moving(OperationKind::copy, Phase::local, from, to, {{0, 0, 4}}));
  };
  copied(Plan::source, filled);
  copied(emptied, Plan::target);
  copied(Plan::source, sent);
  add(plan, testing::message(OperationKind::send, sent, 0, 4, 0, 0));
  copied(passed_on, Plan::target);
  copied(far, passed_on);
  copied(far, Plan::target);
  const auto there = [&](OnDevice users) {
    std::vector<int> slots;
    const std::vector<bool> found = slots_on_device(plan, users);
    for (const int each : {filled, emptied, sent, passed_on, far, idle}) {
      if (found[static_cast<std::size_t>(each)]) slots.push_back(each);
    }
    return slots;
  };
  CHECK(there(both) == (std::vector<int>{filled, emptied}));
  CHECK(there(in) == std::vector<int>{emptied});
  CHECK(there({}).empty());
}

TEST(price_of_a_handover_between_gpus) {
  auto plans = testing::handing_over();
  Profile profile = with_gpus(0);
  const auto seconds = [&](DeviceTransport transport) {
    return price(plans, on_hosts({0, 0}), profile, 8, both, transport).seconds;
  };
  // To the host 2 + 8 + 20, seen 5 later, and back 3 + 16 + 30.
  CHECK_EQUAL(seconds(staged_transport), 30 + 5 + 49);
  CHECK_THROWS(Fault::argument, seconds(device_transport(false, true)),
               "each other's GPU's memory");
  profile.device->peer = DeviceWork{1, 6, 0.25};
  // Into the other GPU's memory 1 + 8 + 6, and out of it by the other's kernel, 1 + 4 + 10.
  CHECK_EQUAL(seconds(device_transport(false, true)), 15 + 5 + 15);
  const auto chosen = [&](int rank) {
    return cheaper_transport(plans[static_cast<std::size_t>(rank)], on_hosts({0, 0}), profile, 8);
  };
  CHECK(chosen(0) == device_transport(false, true));
  CHECK(chosen(1) == device_transport(false, true));
  profile.device->peer->latency = 30;
  CHECK(chosen(0) == staged_transport);
  CHECK(chosen(1) == device_transport(false, true));
  profile.device->peer.reset();
  CHECK(chosen(1) == staged_transport);
}

TEST(what_of_slots_the_source_can_be_lent_for) {
  Plan plan = plans_of(1)[0];
  const auto slot = [&](int peer) { return add(plan, Buffer{Space::shared, 4, 5, 0, peer, 1}); };
  const int filled = slot(-1), filled_twice = slot(-1), of_target_too = slot(-1),
            emptied = slot(-1), added_to = slot(-1), idle = slot(-1), far = slot(0);
  const auto moved = [&](int from, int to, std::vector<CopyRun> runs,
                         OperationKind kind = OperationKind::copy) {
    add(plan, moving(kind, Phase::local, from, to, runs));
  };
  moved(Plan::source, filled, {{6, 0, 4}});
  moved(Plan::source, filled_twice, {{0, 2, 2}});
  moved(Plan::source, filled_twice, {{9, 0, 1}, {5, 1, 1}});
  moved(Plan::source, of_target_too, {{0, 0, 2}});
  moved(Plan::target, of_target_too, {{0, 2, 2}});
  moved(emptied, Plan::target, {{0, 0, 4}});
  moved(Plan::source, added_to, {{0, 0, 4}});
  moved(Plan::source, added_to, {{4, 0, 4}}, OperationKind::reduce);
  moved(Plan::source, far, {{0, 0, 4}});
  const auto lendable = [&](OnDevice users) {
    std::vector<int> slots;
    const std::vector<bool> found = lendable_slots(plan, users);
    for (const int each : {filled, filled_twice, of_target_too, emptied, added_to, idle, far}) {
      if (found[static_cast<std::size_t>(each)]) slots.push_back(each);
    }
    return slots;
  };
  CHECK(lendable(both) == (std::vector<int>{filled, filled_twice}));
  CHECK(lendable(out) == lendable(both));
  CHECK(lendable(in).empty());
  CHECK(lent_in(plan, filled) == (std::vector<CopyRun>{{6, 0, 4}}));
  const auto twice = lent_in(plan, filled_twice);
  CHECK(twice == (std::vector<CopyRun>{{9, 0, 1}, {5, 1, 1}, {0, 2, 2}}));
  // Translates reads of the slot into positions in the source.
  CHECK(through(twice, std::vector<CopyRun>{{1, 10, 3}, {0, 20, 1}}) ==
        (std::vector<CopyRun>{{5, 10, 1}, {0, 11, 2}, {9, 20, 1}}));
  CHECK(through(twice, std::vector<CopyRun>{}).empty());
}

TEST(price_of_a_source_that_is_lent) {
  // Rank 0 provides four elements in its own slot.
  auto plans = plans_of(2);
  const int slot = add(plans[0], Buffer{Space::shared, 4, 5, 0, -1, 1});
  const int view = add(plans[1], Buffer{Space::shared, 4, 5, 0, 0});
  using testing::flagging;
  const int free = add(plans[0], flagging(OperationKind::await, Phase::local, slot, 0, 1));
  const int filled = add(
      plans[0], moving(OperationKind::copy, Phase::local, Plan::source, slot, {{0, 0, 4}}, {free}));
  add(plans[0], flagging(OperationKind::signal, Phase::local, slot, -1, 0, {filled}));
  const int ready = add(plans[1], flagging(OperationKind::await, Phase::local, view, -1));
  const int taken = add(plans[1], moving(OperationKind::copy, Phase::local, view, Plan::target,
                                         {{0, 0, 4}}, {ready}));
  add(plans[1], flagging(OperationKind::signal, Phase::local, view, 0, 0, {taken}));
  Profile profile = with_gpus(0);
  profile.device->peer = DeviceWork{1, 6, 0.25};
  const auto seconds = [&](std::string_view transport) {
    return price(plans, on_hosts({0, 0}), profile, 8, both, *device_transport_called(transport))
        .seconds;
  };
  // The owner's kernel takes 1 + 4 + 10, is seen 5 later, and the peer's kernel takes 1 + 8 + 6.
  CHECK_EQUAL(seconds("shared"), 15 + 5 + 15);
  CHECK_EQUAL(seconds("lent"), 5 + 15);
  // It needs a promise by the user, so it is never chosen automatically.
  CHECK(cheaper_transport(plans[0], on_hosts({0, 0}), profile, 8) ==
        *device_transport_called("shared"));
}

TEST(what_ranks_of_one_gpu_send_by_way_of_the_host_shares_its_link) {
  // A kernel packs in both cases; if the slot is in host memory, its bytes use the link.
  Plan plan = plans_of(1)[0];
  const int slot = add(plan, Buffer{Space::shared, 4, 5, 0, -1, 1});
  add(plan, moving(OperationKind::copy, Phase::local, Plan::source, slot, {{5, 0, 2}, {1, 2, 2}}));
  const int far = add(plan, Buffer{Space::shared, 4, 6, 1, 0});
  add(plan, moving(OperationKind::copy, Phase::local, far, Plan::target, {{0, 0, 4}}));
  Profile profile = with_gpus(1);
  // Two kernels, 1 + 4 n + 10 and 1 + 8 n + 20, for n ranks. To the host 1 + 8 n + 10, and back 3 +
  // 16 n + 0.
  profile.device->peer = DeviceWork{1, 20, 0.25};
  profile.device->to_device.latency = 0;
  const auto chosen = [&](int ranks) {
    return cheaper_transport(plan, on_hosts(std::vector<int>(static_cast<std::size_t>(ranks))),
                             profile, 8);
  };
  CHECK(chosen(1) == staged_transport);
  CHECK(chosen(2) == device_transport(false, true));
  profile.device->count = 2;
  CHECK(chosen(2) == staged_transport);
  CHECK(chosen(4) == device_transport(false, true));
  profile.device->count = 0;
  CHECK(chosen(8) == staged_transport);
}

TEST(a_gpu_gathers_into_a_slot_wherever_that_lies) {
  // One kernel either way, 1 + 10 and 4 or 8: the slot saves time on a link, not a copy of 30.
  Plan plan = plans_of(1)[0];
  const int slot = add(plan, Buffer{Space::shared, 4, 5, 0, -1, 1});
  add(plan, moving(OperationKind::copy, Phase::local, Plan::source, slot, {{5, 0, 2}, {1, 2, 2}}));
  Profile profile = with_gpus(0);
  const auto chosen = [&] { return cheaper_transport(plan, on_hosts({0}), profile, 8); };
  profile.device->peer = DeviceWork{1, 6, 0.25};
  CHECK(chosen() == device_transport(false, true));
  profile.device->to_host.seconds_per_byte = profile.device->kernel.seconds_per_byte;
  CHECK(chosen() == staged_transport);
}

TEST(price_of_ranks_that_share_a_gpu) {
  const auto plans = copying(4, {{0, 0, 4}});
  const Machine host = on_hosts({0, 0, 0, 0});
  const auto finished = [&](int count) { return priced(plans, host, both, count).finished; };
  CHECK(finished(0) == (std::vector<double>{15, 15, 15, 15}));
  CHECK(finished(4) == finished(0));
  CHECK(finished(9) == finished(0));
  // The second rank of a block begins 4 s later; latencies overlap.
  CHECK(finished(2) == (std::vector<double>{15, 19, 15, 19}));
  CHECK(finished(1) == (std::vector<double>{15, 19, 23, 27}));
  // Likewise on each host.
  CHECK(priced(plans, on_hosts({0, 0, 1, 1}), both, 1).finished ==
        (std::vector<double>{15, 19, 15, 19}));
  CHECK_EQUAL(priced(plans, host, both, 1).of(Phase::local), 27);
}

}  // namespace vicinal::price_on_devices_tests

// The sender decides how to divide a message, and tells the receiver.
#include "negotiate/partitioning.hpp"

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/conversation.hpp"
#include "negotiate/faults.hpp"
#include "plan/partitions.hpp"

namespace vicinal {

namespace {

/// From receiver to sender: the messages that the receiver does not forward, so that it can use
/// parts.
struct Deliveries {
  static constexpr std::string_view name = "deliveries";
  std::vector<std::int64_t> tags;
};
void fields(auto&& take, Is<Deliveries> auto& it) { take(it.tags); }

/// From sender to receiver: the divided messages among those.
struct DividedMessages {
  struct Entry {
    std::int64_t tag = -1;  ///< of the message as planned
    std::vector<Index> counts;
    std::vector<std::int64_t> tags;
  };
  static constexpr std::string_view name = "divided messages";
  std::vector<Entry> entries;
};
void fields(auto&& take, Is<DividedMessages::Entry> auto& it) { take(it.tag, it.counts, it.tags); }
void fields(auto&& take, Is<DividedMessages> auto& it) { take(it.entries); }

using Divisions = std::map<int, Division>;                // by operation
using Messages = std::set<std::pair<int, std::int64_t>>;  // the other rank, and the tag

const Operation& operation(const Plan& plan, int number) {
  return plan.operations[static_cast<std::size_t>(number)];
}

std::vector<int> peers_of(const Plan& plan, OperationKind kind) {
  std::set<int> peers;
  for (const Operation& it : plan.operations) {
    if (it.kind == kind) peers.insert(it.peer);
  }
  return {peers.begin(), peers.end()};
}

/// Returns a control message for each peer, with its contents or empty.
template <class Contents>
std::vector<ControlMessage> messages_to(const std::vector<int>& peers,
                                        std::map<int, Contents> contents) {
  std::vector<ControlMessage> control_messages;
  for (const int peer : peers) control_messages.push_back(message_to(peer, contents[peer]));
  return control_messages;
}

std::map<int, Deliveries> list_deliveries(const Plan& plan) {
  std::map<int, Deliveries> by_peer;
  for (const int number : deliveries(plan)) {
    const Operation& it = operation(plan, number);
    by_peer[it.peer].tags.push_back(it.tag);
  }
  return by_peer;
}

Messages delivered(const std::vector<ControlMessage>& control_messages) {
  Messages messages;
  for (const ControlMessage& control_message : control_messages) {
    for (const std::int64_t tag : contents_of<Deliveries>(control_message).tags) {
      messages.emplace(control_message.peer, tag);
    }
  }
  return messages;
}

Divisions divide_sends(const Plan& plan, const Pattern& pattern, const Messages& which,
                       Site& site) {
  Divisions sends = divisions(plan, pattern);
  std::erase_if(sends, [&](const auto& it) {
    const Operation& send = operation(plan, it.first);
    return !which.contains({send.peer, send.tag});
  });
  for (auto& [number, division] : sends) {
    division.tags.push_back(operation(plan, number).tag);
    while (division.tags.size() < division.counts.size()) division.tags.push_back(site.new_tag());
  }
  return sends;
}

std::map<int, DividedMessages> list_divided(const Plan& plan, const Divisions& sends) {
  std::map<int, DividedMessages> by_peer;
  for (const auto& [number, division] : sends) {
    const Operation& send = operation(plan, number);
    by_peer[send.peer].entries.push_back({send.tag, division.counts, division.tags});
  }
  return by_peer;
}

/// Returns the divisions that senders reported for the messages that this rank receives.
Divisions divided_receives(const Plan& plan, const std::vector<ControlMessage>& control_messages) {
  std::map<std::pair<int, std::int64_t>, Division> told;
  for (const ControlMessage& control_message : control_messages) {
    for (auto& entry : contents_of<DividedMessages>(control_message).entries) {
      told[{control_message.peer, entry.tag}] = {std::move(entry.counts), std::move(entry.tags)};
    }
  }
  Divisions receives;
  for (int number = 0; number < static_cast<int>(plan.operations.size()); ++number) {
    const Operation& it = operation(plan, number);
    if (it.kind != OperationKind::receive) continue;
    if (auto found = told.extract({it.peer, it.tag})) {
      receives.emplace(number, std::move(found.mapped()));
    }
  }
  return receives;
}

}  // namespace

Task<Plan> with_partitions(Conversation& talk, Site& site, Plan plan, const Pattern& pattern) {
  talk.set_purpose("dividing messages into partitions");
  FaultRecord faults(plan.rank, "bytes");
  const std::vector<int> senders = peers_of(plan, OperationKind::receive);
  const std::vector<int> receivers = peers_of(plan, OperationKind::send);
  std::vector<ControlMessage> outbox = messages_to(senders, list_deliveries(plan));
  Expected expected(receivers, "deliveries");
  std::vector<ControlMessage> inbox =
      co_await talk.exchange(std::move(outbox), std::move(expected));
  Divisions all;
  try {
    plan = with_triggers(plan, pattern);
    all = divide_sends(plan, pattern, delivered(inbox), site);
  } catch (const std::exception& fault) {
    faults.blame(fault);
  }
  outbox = messages_to(receivers, list_divided(plan, all));
  expected = Expected(senders, "divided messages");
  inbox = co_await talk.exchange(std::move(outbox), std::move(expected));
  faults.settle();
  all.merge(divided_receives(plan, inbox));
  co_return with_notifications(divided(plan, pattern, all), pattern);
}

}  // namespace vicinal

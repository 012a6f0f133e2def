// Whom a rank waits for in each superstep of a negotiation, for people who ask while it waits. What is
// expected is counted in introduce.cpp, place.cpp and settle.cpp; here are the names that belong to it.
#include <algorithm>

#include "planners/relay/negotiator.hpp"

namespace vicinal {

namespace {

/// Who introduces a region is its own affair, so it is not named.
std::string introduction_of(const OutPair& pair) {
  return "the introduction of region " + std::to_string(pair.link->region) +
         ", which receives from here";
}
std::string introduction_of(const InPair& pair) {
  return "the introduction of region " + std::to_string(pair.link->region) + ", which sends here";
}

void add(std::string& text, const std::string& more) {
  if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
}

}  // namespace

std::string Negotiator::missing_summaries(Arrived arrived) const {
  return letters_of(neighborhood_.active, arrived, "summaries");
}

std::string Negotiator::missing_streams_and_introductions(Arrived arrived) const {
  Letters streams;
  std::vector<std::pair<bool, int>> introduced;  // from the sending side, region
  for (const Letter& letter : arrived) {
    Reader reader(letter);
    if (reader.kind() != LetterKind::introduction) {
      streams.push_back({letter.peer, {}});
      continue;
    }
    const bool from_sender = reader.word() != 0;
    introduced.emplace_back(from_sender, reader.rank());
  }
  const bool own_only = policy_.division == RelayPolicy::Division::contributor;
  std::vector<int> contributors;
  for (const OutPair& pair : out_) {
    for (std::size_t part = 0; part < pair.led.size(); ++part) {
      const auto& members = pair.link->members;
      if (own_only) contributors.push_back(rank_);
      if (!own_only) contributors.insert(contributors.end(), members.begin(), members.end());
    }
  }
  std::string text = letters_of(std::move(contributors), streams, "streams");
  const auto has_come = [&](bool from_sender, int region) {
    return std::find(introduced.begin(), introduced.end(), std::pair(from_sender, region)) !=
           introduced.end();
  };
  for (const OutPair& pair : out_) {
    if (pair.link->gate_here != rank_ || has_come(false, pair.link->region)) continue;
    add(text, introduction_of(pair));
  }
  for (const InPair& pair : in_) {
    if (pair.link->gate_here != rank_ || has_come(true, pair.link->region)) continue;
    add(text, introduction_of(pair));
  }
  return text;
}

std::string Negotiator::missing_introductions(Arrived arrived) const {
  std::vector<int> gates;
  for (const OutPair& pair : out_) gates.insert(gates.end(), pair.led.size(), pair.link->gate_here);
  for (const InPair& pair : in_) {
    if (leads(pair.leaders)) gates.push_back(pair.link->gate_here);
  }
  return letters_of(std::move(gates), arrived, "introductions");
}

std::string Negotiator::missing_placements_layouts_verdicts(Arrived arrived) const {
  std::vector<int> leaders;
  for (const OutPair& pair : out_) {
    for (const auto& [part, stream] : pair.sent_part) leaders.push_back(pair.leaders[part]);
  }
  for (const InPair& pair : in_) {
    if (pair.consumes) leaders.push_back(pair.leaders.front());
    if (pair.verdict != Verdict::relayed) continue;
    for (std::size_t part = 0; part < pair.far.leaders.size(); ++part) {
      if (pair.leaders[part % pair.leaders.size()] == rank_)
        leaders.push_back(pair.far.leaders[part]);
    }
  }
  return letters_of(std::move(leaders), arrived, "placements, layouts or verdicts");
}

std::string Negotiator::missing_deliveries_and_offers(Arrived arrived) const {
  std::vector<int> senders = untagged_;
  for (const auto& [peer, link] : in_links_) {
    if (peer != rank_ && goes_straight(peer, false)) senders.push_back(peer);
  }
  for (const auto& [peer, link] : out_links_) {
    if (peer != rank_ && goes_straight(peer, true)) senders.push_back(peer);
  }
  const bool own_only = policy_.division == RelayPolicy::Division::contributor;
  for (const InPair& pair : in_) {
    if (!pair.consumes || pair.verdict != Verdict::relayed) continue;
    for (std::size_t part = 0; part < pair.far_leaders.size(); ++part) {
      if (own_only && !in_links_.contains(pair.far_leaders[part])) continue;
      senders.push_back(pair.leaders[part % pair.leaders.size()]);
    }
  }
  return letters_of(std::move(senders), arrived, "deliveries, offers, expectations or tags");
}

}  // namespace vicinal

// Supersteps 1 to 3 of a negotiation: the region learns its loads, and leaders get their
// contributors' streams. The leaders of both sides of a region pair learn of each other through the
// contact ranks.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/scramble.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

/// Returns a link's term of a sum over a region pair. The sums of both sides are equal if all
/// counts agree, and (nearly) only then.
std::uint64_t fingerprint(int from, int to, Index count) {
  const auto ranks = (static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to);
  return scramble(scramble(ranks) ^ static_cast<std::uint64_t>(count));
}

std::uint64_t bit_of(int rank) { return std::uint64_t{1} << (static_cast<unsigned>(rank) % 64); }

/// Returns a stream as its leader gets it.
ContributedStream contributed(int rank, std::int64_t tag, const std::vector<int>& destinations,
                              const Stream& stream) {
  ContributedStream result{rank, tag, stream.count, destinations, {}, {}};
  result.runs.reserve(stream.runs.size());
  for (const StreamRun& run : stream.runs) {
    result.runs.push_back({run.count, run.occurrences.size()});
    result.occurrences.insert(result.occurrences.end(), run.occurrences.begin(),
                              run.occurrences.end());
  }
  return result;
}

}  // namespace

Task<Done> RelayNegotiation::tell_loads() {
  const ControlMessage message = message_to(rank_, summary());
  ControlMessages outbox;
  for (const int member : neighborhood_.active()) outbox.push_back({member, message.words});
  Expected expected(neighborhood_.active(), "summaries");
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  std::map<int, Summary> summaries;
  read<Summary>(inbox, [&](int member, Summary its) { summaries[member] = std::move(its); });
  agreed_ = faults_.status();
  view_ = request_.conversation.alike<RegionView>(neighborhood_.active().front(), [&] {
    return view_region(neighborhood_, policy_, options_, summaries);
  });
  find_parts();
  co_return Done{};
}

Summary RelayNegotiation::summary() const {
  Summary summary{faults_.status(), !neighborhood_.has_edges(), {}, {}};
  for (const OutPair& pair : out_) {
    Summary::Load& load = summary.out.emplace_back();
    load.link = pair.number;
    load.distinct = pair.stream.count;
    for (const int peer : pair.destinations) {
      const Index count = out_links_.at(peer).count;
      load.edges += count > 0 ? 1 : 0;
      load.elements += count;
      load.peers |= count > 0 ? bit_of(peer) : 0;
      load.fingerprint += fingerprint(rank_, peer, count);
    }
  }
  for (const InPair& pair : in_) {
    Summary::Load& load = summary.in.emplace_back();
    load.link = pair.number;
    for (const auto& [peer, link] : in_links_) {
      if (machine_.region_of(peer) != pair.link->region) continue;
      load.edges += link.count > 0 ? 1 : 0;
      load.elements += link.count;
      load.fingerprint += fingerprint(peer, rank_, link.count);
    }
    load.distinct = load.elements;  // only the senders know the distinct ones
  }
  return summary;
}

/// Finds the pairs in which this rank has a part, as its region sees them.
void RelayNegotiation::find_parts() {
  const auto find = [&](auto& pairs, const std::vector<RegionLink>& links,
                        const std::vector<LinkView>& views) {
    std::vector<std::size_t> mine;
    for (std::size_t number = 0; number < links.size(); ++number) {
      if (leads(views[number].leaders) || links[number].contact_here == rank_) {
        mine.push_back(number);
      }
    }
    pairs.reserve(pairs.size() + mine.size());
    for (const std::size_t number : mine) pair_of(pairs, links, number);
    for (auto& pair : pairs) pair.view = &views[pair.number];
  };
  find(out_, neighborhood_.out(), view_->out);
  find(in_, neighborhood_.in(), view_->in);
  for (OutPair& pair : out_) {
    const std::vector<int>& leaders = pair.view->leaders;
    for (std::size_t part = 0; part < leaders.size(); ++part) {
      if (leaders[part] == rank_) pair.led.push_back(part);
    }
  }
}

void RelayNegotiation::cut_parts(OutPair& pair) {
  const auto count = static_cast<Index>(pair.view->leaders.size());
  if (pair.view->by_contributor) {
    pair.own.push_back({pair.led.front(), std::exchange(pair.stream, {})});
    return;
  }
  // The streams of all contributors, laid end to end by rank, are cut into equal parts.
  const auto& members = pair.link->members;
  const auto own = std::find(members.begin(), members.end(), rank_) - members.begin();
  const std::vector<Index>& distinct = pair.view->distinct_of;
  const Index begin = std::accumulate(distinct.begin(), distinct.begin() + own, Index{0});
  const Index all = std::accumulate(distinct.begin() + own, distinct.end(), begin);
  const Stream whole = std::exchange(pair.stream, {});
  pair.own.reserve(static_cast<std::size_t>(count));
  for (Index part = 0; part < count; ++part) {
    const Index first = all * part / count - begin, last = all * (part + 1) / count - begin;
    pair.own.push_back({static_cast<std::size_t>(part), whole.part(first, last)});
  }
}

void RelayNegotiation::introduce(ControlMessages& outbox) const {
  const auto to_contact = [&](const auto& pair, bool sends) {
    const LinkView& view = *pair.view;
    if (view.leaders.front() != rank_) return;
    outbox.push_back(
        message_to(pair.link->contact_there,
                   Introduction{agreed_, sends, neighborhood_.region(), view.fingerprint,
                                view.edges, view.times, view.by_contributor, view.leaders}));
  };
  for (const OutPair& pair : out_) to_contact(pair, true);
  for (const InPair& pair : in_) to_contact(pair, false);
}

Task<Done> RelayNegotiation::hand_in_streams() {
  ControlMessages outbox;
  std::vector<int> contributors;
  for (OutPair& pair : out_) {
    const auto& members = pair.link->members;
    for (std::size_t part = 0; part < pair.led.size(); ++part) {
      if (pair.view->by_contributor) {
        contributors.push_back(rank_);
      } else {
        contributors.insert(contributors.end(), members.begin(), members.end());
      }
    }
    if (!pair.contributes) continue;
    cut_parts(pair);
    for (auto& [part, stream, tag] : pair.own) {
      const int leader = pair.view->leaders[part];
      if (leader != rank_ && !shares_memory_with(leader)) tag = new_tag();
      outbox.push_back(
          message_to(leader, Contribution{faults_.status(), pair.link->region, part,
                                          contributed(rank_, tag, pair.destinations, stream)}));
    }
  }
  introduce(outbox);
  Expected expected;
  expected.add(kind_of(Contribution::name), std::move(contributors), "streams");
  expect_introductions(expected);

  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<Contribution, Introduction>(
      inbox, Either{[&](int, Contribution it) {
                      out_pair(it.region).contributed[it.part].push_back(std::move(it.stream));
                    },
                    [&](int, Introduction it) { learn(std::move(it)); }});
  co_return Done{};
}

/// Introductions are expected without names: this rank does not know who introduces the other
/// region.
void RelayNegotiation::expect_introductions(Expected& expected) const {
  struct Unknown {
    int region;
    bool sends;
  };
  std::vector<Unknown> unknown;
  for (const OutPair& pair : out_) {
    if (pair.link->contact_here == rank_) unknown.push_back({pair.link->region, false});
  }
  for (const InPair& pair : in_) {
    if (pair.link->contact_here == rank_) unknown.push_back({pair.link->region, true});
  }
  const std::size_t count = unknown.size();
  expected.add_unnamed(kind_of(Introduction::name), count,
                       [unknown = std::move(unknown)](std::span<const ControlMessage> arrived) {
                         std::string text;
                         for (const auto& [region, sends] : unknown) {
                           const bool has_come = std::any_of(
                               arrived.begin(), arrived.end(), [&](const ControlMessage& it) {
                                 const auto theirs = contents_of<Introduction>(it);
                                 return theirs.region == region && theirs.from_sender == sends;
                               });
                           if (has_come) continue;
                           text += (text.empty() ? "" : ", ") +
                                   std::string("the introduction of region ") +
                                   std::to_string(region) +
                                   (sends ? ", which sends here" : ", which receives from here");
                         }
                         return text;
                       });
}

void RelayNegotiation::learn(Introduction far) {
  (far.from_sender ? in_pair(far.region).far : out_pair(far.region).far) = std::move(far);
}

Task<Done> RelayNegotiation::pass_introductions_on() {
  ControlMessages outbox;
  std::vector<int> contacts;
  const auto pass_on = [&](const auto& pair) {
    if (pair.link->contact_here != rank_) return;
    for (const int leader : pair.view->leaders) outbox.push_back(message_to(leader, pair.far));
  };
  for (const OutPair& pair : out_) {
    pass_on(pair);
    contacts.insert(contacts.end(), pair.led.size(), pair.link->contact_here);
  }
  for (const InPair& pair : in_) {
    pass_on(pair);
    if (leads(pair.view->leaders)) contacts.push_back(pair.link->contact_here);
  }
  Expected expected(std::move(contacts), "introductions");
  const ControlMessages inbox = co_await exchange(std::move(outbox), std::move(expected));
  read<Introduction>(inbox, [&](int, Introduction it) { learn(std::move(it)); });

  for (OutPair& pair : out_) {
    if (!pair.led.empty()) pair.verdict = reach_verdict(*pair.view, pair.far, true);
  }
  for (InPair& pair : in_) {
    if (leads(pair.view->leaders)) pair.verdict = reach_verdict(*pair.view, pair.far, false);
  }
  co_return Done{};
}

Verdict RelayNegotiation::reach_verdict(const LinkView& own, const Introduction& far,
                                        bool sends) const {
  // Both sides know these statuses of each other; later faults do not change the decision.
  if (!agreed_.good() || !far.status.good()) return Verdict::dead;
  // If counts differ, edges are sent directly, so that the ranks at their ends find the difference.
  if (own.fingerprint != far.fingerprint) return Verdict::straight;
  const auto parts = static_cast<Index>(sends ? own.leaders.size() : far.leaders.size());
  const Index edges = sends ? own.edges : far.edges;
  // One message for one edge relieves the rank of the edge, if another rank leads.
  const bool relieves =
      policy_.decision == RelayPolicy::Decision::cheaper && is_one_for_one(edges, parts);
  if (edges <= parts && !relieves) return Verdict::straight;
  if (policy_.decision == RelayPolicy::Decision::fewer_messages) return Verdict::relayed;
  const bool pays =
      sends ? relaying_pays(own.times, far.times) : relaying_pays(far.times, own.times);
  return pays ? Verdict::relayed : Verdict::straight;
}

}  // namespace vicinal

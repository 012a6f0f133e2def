// Supersteps 1 to 3 of a negotiation: the region learns its loads, leaders get their contributors'
// streams, and the leaders of either side of a region pair learn of each other through the gates.
#include <algorithm>
#include <numeric>

#include "base/scramble.hpp"
#include "planners/relay/negotiator.hpp"

namespace vicinal {

namespace {

/// Summed over the links of a region pair, equal on both sides if and (nearly) only if all counts
/// agree.
std::uint64_t fingerprint(int from, int to, Index count) {
  const auto ranks = (static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to);
  return scramble(scramble(ranks) ^ static_cast<std::uint64_t>(count));
}

void write_stream(Words& words, const Stream& stream) {
  words.push_back(stream.count);
  words.push_back(static_cast<std::int64_t>(stream.runs.size()));
  for (const StreamRun& run : stream.runs) {
    words.push_back(run.count);
    words.push_back(static_cast<std::int64_t>(run.occurrences.size()));
    for (const Occurrence& occurrence : run.occurrences) {
      words.push_back(occurrence.peer);
      words.push_back(occurrence.offset);
    }
  }
}

Introduction read_introduction(Reader& reader, bool from_sender) {
  Introduction result;
  reader.copy_status(result.status);
  result.fingerprint = static_cast<std::uint64_t>(reader.word());
  if (from_sender) {
    result.traffic.edges = reader.word();
    result.traffic.elements = reader.word();
    result.traffic.distinct = reader.word();
    result.traffic.contributors = reader.word();
  }
  while (reader.more()) result.leaders.push_back(reader.rank());
  return result;
}

}  // namespace

Negotiator::Negotiator(PlanRequest& request, const RelayPolicy& policy)
    : request_(request),
      policy_(policy),
      neighborhood_(request.neighborhood),
      machine_(*request.neighborhood.machine),
      rank_(request.neighborhood.rank),
      faults_(rank_, request.options.unit) {
  if (request.fault) {
    faults_.blame(*request.fault);
  } else {
    out_links_ = out_links(request.pattern, policy.identity && request.pattern.identity);
    in_links_ = in_links(request.pattern);
  }
  // Links exist by the graph's edges, whatever became of the pattern.
  for (const int peer : neighborhood_.destinations)
    out_links_.try_emplace(peer).first->second.peer = peer;
  for (const int peer : neighborhood_.sources)
    in_links_.try_emplace(peer).first->second.peer = peer;

  for (const RegionLink& link : neighborhood_.out) {
    OutPair& pair = out_.emplace_back();
    pair.link = &link;
    std::vector<const OutLink*> links;
    for (const auto& [peer, out] : out_links_) {
      if (machine_.region_of(peer) != link.region) continue;
      links.push_back(&out);
      pair.destinations.push_back(peer);
    }
    pair.contributes = !links.empty();
    if (policy.decision != RelayPolicy::Decision::never) pair.stream = merge(links);
  }
  for (const RegionLink& link : neighborhood_.in) {
    InPair& pair = in_.emplace_back();
    pair.link = &link;
    pair.consumes = std::binary_search(link.members.begin(), link.members.end(), rank_);
  }
}

bool Negotiator::takes_part() const {
  return !neighborhood_.destinations.empty() || !neighborhood_.sources.empty();
}

bool Negotiator::leads(const std::vector<int>& leaders) const {
  return std::find(leaders.begin(), leaders.end(), rank_) != leaders.end();
}

OutPair& Negotiator::out_pair(int region) {
  return *std::find_if(out_.begin(), out_.end(),
                       [&](const OutPair& pair) { return pair.link->region == region; });
}

InPair& Negotiator::in_pair(int region) {
  return *std::find_if(in_.begin(), in_.end(),
                       [&](const InPair& pair) { return pair.link->region == region; });
}

Letters Negotiator::write_summaries() const {
  Words words = begin_letter(LetterKind::summary, faults_.status());
  for (const OutPair& pair : out_) {
    Index edges = 0, elements = 0;
    std::uint64_t print = 0;
    for (const int peer : pair.destinations) {
      const Index count = out_links_.at(peer).count;
      edges += count > 0 ? 1 : 0;
      elements += count;
      print += fingerprint(rank_, peer, count);
    }
    for (const std::int64_t word : {edges, elements, pair.stream.count}) words.push_back(word);
    words.push_back(static_cast<std::int64_t>(print));
  }
  for (const InPair& pair : in_) {
    Index elements = 0;
    std::uint64_t print = 0;
    for (const auto& [peer, link] : in_links_) {
      if (machine_.region_of(peer) != pair.link->region) continue;
      elements += link.count;
      print += fingerprint(peer, rank_, link.count);
    }
    words.push_back(elements);
    words.push_back(static_cast<std::int64_t>(print));
  }
  Letters outbox;
  for (const int member : neighborhood_.active) outbox.push_back({member, words});
  return outbox;
}

void Negotiator::read_summaries(const Letters& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    reader.copy_status(faults_.status());
    for (OutPair& pair : out_) {
      const Index edges = reader.word(), elements = reader.word(), distinct = reader.word();
      pair.load.fingerprint += static_cast<std::uint64_t>(reader.word());
      const auto& members = pair.link->members;
      if (!std::binary_search(members.begin(), members.end(), letter.peer)) continue;
      pair.load.traffic.edges += edges;
      pair.load.traffic.elements += elements;
      pair.load.traffic.distinct += distinct;
      pair.load.traffic.contributors += edges > 0 ? 1 : 0;
      pair.load.distinct_of.push_back(distinct);
    }
    for (InPair& pair : in_) {
      pair.load.traffic.elements += reader.word();
      pair.load.fingerprint += static_cast<std::uint64_t>(reader.word());
    }
  }
  std::vector<LinkLoad> out, in;
  for (const OutPair& pair : out_) out.push_back(pair.load);
  for (const InPair& pair : in_) in.push_back(pair.load);
  const Leaders leaders = assign_leaders(neighborhood_, policy_, request_.options, out, in);
  for (std::size_t i = 0; i < out_.size(); ++i) {
    out_[i].leaders = leaders.out[i];
    for (std::size_t part = 0; part < leaders.out[i].size(); ++part) {
      if (leaders.out[i][part] == rank_) out_[i].led.push_back(part);
    }
  }
  for (std::size_t i = 0; i < in_.size(); ++i) in_[i].leaders = leaders.in[i];
}

void Negotiator::cut_parts(OutPair& pair) {
  const auto count = static_cast<Index>(pair.leaders.size());
  if (policy_.division == RelayPolicy::Division::contributor) {
    pair.sent_part[pair.led.front()] = pair.stream;
    return;
  }
  // The streams of all contributors, laid end to end by rank, are cut into equal parts.
  const auto& members = pair.link->members;
  const auto own = std::find(members.begin(), members.end(), rank_) - members.begin();
  const Index begin =
      std::accumulate(pair.load.distinct_of.begin(), pair.load.distinct_of.begin() + own, Index{0});
  const Index all = pair.load.traffic.distinct;
  for (Index part = 0; part < count; ++part) {
    const Index first = all * part / count - begin, last = all * (part + 1) / count - begin;
    pair.sent_part[static_cast<std::size_t>(part)] =
        count == 1 ? pair.stream : pair.stream.part(first, last);
  }
}

void Negotiator::write_own_introduction(Letters& outbox, const OutPair& pair) const {
  Words words =
      begin_letter(LetterKind::introduction, faults_.status(),
                   {1, neighborhood_.region(), static_cast<std::int64_t>(pair.load.fingerprint),
                    pair.load.traffic.edges, pair.load.traffic.elements, pair.load.traffic.distinct,
                    pair.load.traffic.contributors});
  words.insert(words.end(), pair.leaders.begin(), pair.leaders.end());
  outbox.push_back({pair.link->gate_there, std::move(words)});
}

void Negotiator::write_own_introduction(Letters& outbox, const InPair& pair) const {
  Words words =
      begin_letter(LetterKind::introduction, faults_.status(),
                   {0, neighborhood_.region(), static_cast<std::int64_t>(pair.load.fingerprint)});
  words.insert(words.end(), pair.leaders.begin(), pair.leaders.end());
  outbox.push_back({pair.link->gate_there, std::move(words)});
}

Letters Negotiator::write_streams_and_introductions() {
  Letters outbox;
  for (OutPair& pair : out_) {
    if (pair.contributes) {
      cut_parts(pair);
      for (auto& [part, stream] : pair.sent_part) {
        const int leader = pair.leaders[part];
        const std::int64_t tag = via(leader) == Via::message ? request_.site.new_tag() : -1;
        pair.sent_tag[part] = tag;
        Words words = begin_letter(LetterKind::stream, faults_.status(),
                                   {pair.link->region, static_cast<std::int64_t>(part), tag,
                                    static_cast<std::int64_t>(pair.destinations.size())});
        words.insert(words.end(), pair.destinations.begin(), pair.destinations.end());
        write_stream(words, stream);
        outbox.push_back({leader, std::move(words)});
      }
    }
    if (pair.leaders.front() == rank_) write_own_introduction(outbox, pair);
  }
  for (const InPair& pair : in_) {
    if (pair.leaders.front() == rank_) write_own_introduction(outbox, pair);
  }
  return outbox;
}

std::size_t Negotiator::expected_streams_and_introductions() const {
  const bool own_only = policy_.division == RelayPolicy::Division::contributor;
  std::size_t count = 0;
  for (const OutPair& pair : out_) {
    count += pair.led.size() * (own_only ? 1 : pair.link->members.size());
    count += pair.link->gate_here == rank_ ? 1 : 0;
  }
  for (const InPair& pair : in_) count += pair.link->gate_here == rank_ ? 1 : 0;
  return count;
}

void Negotiator::read_streams_and_introductions(const Letters& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    if (reader.kind() == LetterKind::introduction) {
      const bool from_sender = reader.word() != 0;
      const int region = reader.rank();
      (from_sender ? in_pair(region).far : out_pair(region).far) =
          read_introduction(reader, from_sender);
      continue;
    }
    OutPair& pair = out_pair(reader.rank());
    const std::size_t part = reader.size();
    ContributedStream stream;
    stream.rank = letter.peer;
    stream.tag = reader.word();
    for (std::size_t i = reader.size(); i > 0; --i) stream.destinations.push_back(reader.rank());
    stream.count = reader.word();
    reader.word();  // the number of runs, which the runs themselves tell
    while (reader.more()) stream.runs.push_back(reader.word());
    pair.contributed[part].push_back(std::move(stream));
  }
}

Letters Negotiator::forward_introductions() const {
  // A gate passes on what it heard, word by word, to those of its region who lead the pair.
  Letters outbox;
  const auto pass_on = [&](const Introduction& far, bool from_sender, int region,
                           const std::vector<int>& leaders) {
    Words words =
        begin_letter(LetterKind::introduction, far.status,
                     {from_sender ? 1 : 0, region, static_cast<std::int64_t>(far.fingerprint)});
    if (from_sender) {
      for (const std::int64_t word : {far.traffic.edges, far.traffic.elements, far.traffic.distinct,
                                      far.traffic.contributors}) {
        words.push_back(word);
      }
    }
    words.insert(words.end(), far.leaders.begin(), far.leaders.end());
    for (const int leader : leaders) outbox.push_back({leader, words});
  };
  for (const OutPair& pair : out_) {
    if (pair.link->gate_here == rank_) pass_on(pair.far, false, pair.link->region, pair.leaders);
  }
  for (const InPair& pair : in_) {
    if (pair.link->gate_here == rank_) pass_on(pair.far, true, pair.link->region, pair.leaders);
  }
  return outbox;
}

std::size_t Negotiator::expected_introductions() const {
  std::size_t count = 0;
  for (const OutPair& pair : out_) count += pair.led.size();
  for (const InPair& pair : in_) count += leads(pair.leaders) ? 1 : 0;
  return count;
}

void Negotiator::read_introductions(const Letters& inbox) {
  for (const Letter& letter : inbox) {
    Reader reader(letter);
    const bool from_sender = reader.word() != 0;
    const int region = reader.rank();
    (from_sender ? in_pair(region).far : out_pair(region).far) =
        read_introduction(reader, from_sender);
  }
  for (OutPair& pair : out_) {
    if (!pair.led.empty()) {
      pair.verdict =
          judge(pair.load, pair.far, pair.load.traffic, static_cast<Index>(pair.leaders.size()));
    }
  }
  for (InPair& pair : in_) {
    if (leads(pair.leaders)) {
      pair.verdict =
          judge(pair.load, pair.far, pair.far.traffic, static_cast<Index>(pair.far.leaders.size()));
    }
  }
  // Only now, so that all pairs were judged by what both of their sides have heard.
  for (const OutPair& pair : out_) pair.far.status.pass_on(faults_.status());
  for (const InPair& pair : in_) pair.far.status.pass_on(faults_.status());
}

Verdict Negotiator::judge(const LinkLoad& own, const Introduction& far, const PairTraffic& traffic,
                          Index parts) const {
  if (!faults_.good() || !far.status.good()) return Verdict::dead;
  // Counts that differ: the edges go straight, so that the ranks at their ends find out which.
  if (own.fingerprint != far.fingerprint) return Verdict::straight;
  if (traffic.edges <= parts) return Verdict::straight;
  if (policy_.decision == RelayPolicy::Decision::fewer_messages) return Verdict::relayed;
  const PlanOptions& options = request_.options;
  const double straight = straight_seconds(traffic, options.element_bytes, options.profile);
  const double relayed = relayed_seconds(traffic, parts, options.element_bytes, options.profile);
  return relayed < straight ? Verdict::relayed : Verdict::straight;
}

}  // namespace vicinal

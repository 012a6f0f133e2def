// Locality: algorithm 3 of Geyko and Bienz, with aggregation before anything leaves the region.
//
//   gather   Each rank gives what is for region R to its region's leader for R (a member that
//            follows from R's number, so leaders are spread), and what is for its own region to
//            the receiver.
//   between  The leader sends one message to the rank of R that leads R's traffic with this region:
//            both directions of a region pair are between the same two ranks. Either nonblocking,
//            with a consensus, and only where there is something; or one for each pair in any case.
//   scatter  What has come from other regions is given to its receivers.
//
// Cost per rank, for r regions of m ranks: two hand-overs (see region_team.hpp); at most one message for
// each region that it leads for, r/m of them; for the consensus log2(r) messages per region. Each
// byte is copied four times more than if it went straight, so payloads of `straight_bytes` do go
// straight: the record that announces them travels as above, and tells the receiver what to
// receive.
//
// Calls in a row, of this method or others, cannot mix, by the argument of flat_exchange.cpp: no
// rank leaves before all have entered. With one region, nobody is through the gathering before each
// member has posted, or given its counts. With several, a message of each pair is sent only after
// all of its region have gathered, and nobody is through the scattering before all members of its
// region have what was to come for them, one message from each other region; in the nonblocking
// case the consensus says so. So the messages between regions take the two discovery tags in turn,
// those of hand-overs two for each stage, and posts two places for each stage. Payloads that go
// straight need one tag: the receiver awaits each from a given rank, in the order of the records,
// and all of them before it leaves.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "discovery/consensus.hpp"
#include "discovery/methods.hpp"
#include "discovery/records.hpp"
#include "discovery/region_team.hpp"
#include "discovery/round.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {
namespace {

/// One exchange under way on this rank.
class LocalityExchange {
 public:
  LocalityExchange(mpi::Communicator& communicator, RegionTeam& team, bool flagged)
      : communicator_(communicator),
        team_(team),
        straight_(communicator, mpi::tag_straight),
        flagged_(flagged) {
    team_.begin_call();
  }

  void gather(const std::vector<Parcel>& outbox) {
    std::vector<Piece> pieces;
    pieces.reserve(outbox.size());
    for (const Parcel& parcel : outbox) {
      if (parcel.peer == communicator_.rank()) {
        arrivals_.add(parcel.peer, parcel.bytes);
        continue;
      }
      pieces.push_back({place_towards(parcel.peer), announce(parcel)});
    }
    flagged_ = team_.hand_over(0, pieces, flagged_, [&](const Record& record) {
      const int target = record.header.target;
      if (target == communicator_.rank()) {
        take(record);
      } else {
        append_record(message_for(team_.machine().region_of(target)), record);
      }
    });
  }

  /// A message for each region pair, so that all know how many come.
  void exchange_with_all_regions() {
    Round round(communicator_, discovery_tag(team_.turn()));
    const std::int64_t flag = flagged_ ? 1 : 0;
    for (const int region : team_.duties()) {
      std::vector<std::byte>& message = message_for(region);
      const auto word = std::as_bytes(std::span(&flag, 1));
      message.insert(message.end(), word.begin(), word.end());
      round.send({team_.counterpart(region), message}, false);
    }
    round.collect_from("ranks of other regions", team_.duties().size());
    round.finish_receives();
    round.finish_sends();
    const auto read = [&](std::span<const std::byte> bytes) {
      std::int64_t theirs = 0;
      const std::size_t records = bytes.size() - sizeof theirs;
      std::memcpy(&theirs, bytes.data() + records, sizeof theirs);
      flagged_ = flagged_ || theirs != 0;
      return bytes.first(records);
    };
    scatter(round.arrivals(), read);
  }

  void exchange_with_some_regions() {
    Round round(communicator_, discovery_tag(team_.turn()));
    for (const auto& [region, message] : leaving_) {
      round.send({team_.counterpart(region), message}, true);
    }
    Consensus consensus(communicator_, team_, flagged_);
    round.collect_until_sent();
    consensus.enter();
    mpi::poll_until(
        [&] {
          round.collect();
          return consensus.complete();
        },
        all_in_exchange);
    flagged_ = consensus.flagged();
    round.finish_receives();
    scatter(round.arrivals(), [](std::span<const std::byte> bytes) { return bytes; });
  }

  /// Whether any rank has a finding, once all is done.
  bool finish() {
    straight_.finish_receives();
    straight_.finish_sends();
    return flagged_;
  }

  Inbox inbox() { return arrivals_.take(); }

 private:
  [[nodiscard]] int place_towards(int peer) const {
    const int region = team_.machine().region_of(peer);
    return region == team_.region() ? team_.place_of(peer) : team_.leader_for(region);
  }

  std::vector<std::byte>& message_for(int region) { return leaving_[region]; }

  /// The record of a parcel, whose payload is sent off where it is large.
  Record announce(const Parcel& parcel) {
    Record record;
    record.header = {communicator_.rank(), parcel.peer,
                     static_cast<std::int64_t>(parcel.bytes.size())};
    if (parcel.bytes.size() < straight_bytes) {
      record.payload = parcel.bytes;
    } else {
      record.header.bytes = -record.header.bytes;
      straight_.send(parcel, false);
    }
    return record;
  }

  /// A record for this rank.
  void take(const Record& record) {
    const auto [source, target, bytes] = record.header;
    if (bytes >= 0) {
      arrivals_.add(source, record.payload);
      return;
    }
    straight_.receive(arrivals_, source, static_cast<std::size_t>(-bytes));
  }

  template <class Read>
  void scatter(const Arrivals& messages, Read records_of) {
    std::vector<Piece> pieces;
    messages.for_each([&](int, std::span<const std::byte> bytes) {
      for_each_record(records_of(bytes), [&](const Record& record) {
        pieces.push_back({team_.place_of(record.header.target), record});
      });
    });
    flagged_ = team_.hand_over(1, pieces, flagged_, [&](const Record& record) { take(record); });
  }

  mpi::Communicator& communicator_;
  RegionTeam& team_;
  Arrivals arrivals_;
  Round straight_;  ///< of payloads, into the arrivals above
  bool flagged_;
  std::map<int, std::vector<std::byte>> leaving_;  ///< by region
};

}  // namespace

Inbox exchange_by_locality(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const ExchangeOptions& options, const std::optional<Finding>& mine) {
  RegionTeam& team = RegionTeam::of(communicator, options);
  LocalityExchange exchange(communicator, team, mine.has_value());
  exchange.gather(outbox);
  if (team.machine().regions() > 1) {
    if (options.method == Method::locality_personalized) {
      exchange.exchange_with_all_regions();
    } else {
      exchange.exchange_with_some_regions();
    }
  }
  if (exchange.finish()) share_findings(communicator, mine);
  return exchange.inbox();
}

}  // namespace vicinal

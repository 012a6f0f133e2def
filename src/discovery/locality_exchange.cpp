// Locality: algorithm 3 of Geyko and Bienz, with aggregation inside the region first.
//
//   gather    Each rank gives data for region R to its own region's leader for R, and data for its
//             own region to the receiver. The number of R selects the leader, so leaders are
//             spread.
//   between   The leader sends one message to the rank of R that leads R's traffic with this
//             region. So both directions of a region pair use the same two ranks. Either
//             nonblocking, with a consensus, and only if there is data; or always one message per
//             pair.
//   scatter   The leaders give the data of other regions to their receivers.
//
// Cost per rank, for r regions of m ranks: two hand-overs (see region_team.hpp). A rank sends at
// most one message for each region that it leads for, r/m of them. The consensus costs log2(r)
// messages per region. Each byte is copied four times more than if it were sent directly. So
// payloads of at least `straight_bytes` are sent directly: their record travels as above, and
// announces them to the receiver.
//
// Successive calls, of this or other methods, cannot mix, as in exchange.cpp: no rank leaves
// before all have entered. With one region, no rank completes the gathering before each member has
// posted, or given its counts. With several, a message of a pair is sent only after all of its
// region have gathered. No rank completes the scattering before all members of its region have
// received their messages, one from each other region. In the nonblocking case the consensus
// ensures this. So the messages between regions alternate between the two discovery tags.
// Hand-overs alternate between two tags per stage, and posts between two places per stage. Direct
// payloads need one tag: the receiver names the sender of each, in the order of the records, and
// waits for all before it leaves.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "discovery/consensus.hpp"
#include "discovery/exchange.hpp"
#include "discovery/parcels.hpp"
#include "discovery/region_team.hpp"
#include "discovery/round.hpp"
#include "mpi/backoff.hpp"

namespace vicinal {
namespace {

/// One exchange in progress on this rank.
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

  /// Sends one message per region pair, so that each rank knows how many to expect.
  void exchange_with_all_regions() {
    Round round(communicator_, discovery_tag(team_.parity()));
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
    Round round(communicator_, discovery_tag(team_.parity()));
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

  /// Completes the direct payloads; returns whether any rank has a finding.
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

  /// Returns the record of a parcel; starts to send a large payload directly.
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

  /// Takes a record for this rank.
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
  Round straight_;  ///< direct payloads, into arrivals_
  bool flagged_;
  std::map<int, std::vector<std::byte>> leaving_;  ///< by region
};

}  // namespace

Inbox exchange_by_locality(mpi::Communicator& communicator, const std::vector<Parcel>& outbox,
                           const ExchangeOptions& options, const std::optional<Error>& mine) {
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
  if (exchange.finish()) agree(communicator, mine);
  return exchange.inbox();
}

}  // namespace vicinal

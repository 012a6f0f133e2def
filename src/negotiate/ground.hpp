// The common base of negotiations: this rank, the faults it knows of, the resources of the Site,
// and the resulting list of transfers. A negotiation is a Ground whose supersteps are coroutines.
// Each superstep writes its control messages, names the senders that it expects, and reads theirs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/conversation.hpp"
#include "negotiate/faults.hpp"
#include "negotiate/links.hpp"
#include "negotiate/planner.hpp"
#include "negotiate/transfers.hpp"

namespace vicinal {

using ControlMessages = std::vector<ControlMessage>;

/// From the receiver to the sender of a link, so that both detect differing counts.
struct Expectation {
  static constexpr std::string_view name = "expectation";
  Status status;
  Index count = 0;
};
void fields(auto&& take, Is<Expectation> auto& it) { take(it.status, it.count); }

class Ground {
 protected:
  explicit Ground(PlanRequest& request);

  /// Returns whether this rank participates. Otherwise it is done at once, and no rank waits for
  /// it.
  [[nodiscard]] bool takes_part() const { return neighborhood_.takes_part(); }
  [[nodiscard]] bool same_region(int other) const { return machine_.same_region(rank_, other); }
  /// Returns whether `other` is another rank that exchanges data with this one through slots.
  [[nodiscard]] bool shares_memory_with(int other) const {
    return other != rank_ && options_.shared_memory && machine_.same_host(rank_, other);
  }
  std::int64_t new_tag();
  /// Returns new slots; nothing if the host has no room left, so that messages are used.
  std::optional<SlotPair> new_slots(int peers);
  /// Returns a slot or a message of `extent` elements for one taker.
  Passage new_passage(int taker, Index extent);

  /// Runs one superstep.
  auto exchange(ControlMessages outbox, Expected expected) {
    return request_.conversation.exchange(std::move(outbox), std::move(expected));
  }
  /// Calls `visit` with the sender and the contents of each control message, and records their
  /// faults. The contents must be of one of the given types.
  template <class... Contents, class Visit>
  void read(const ControlMessages& inbox, Visit visit) {
    for (const ControlMessage& message : inbox) {
      open<Contents...>(message, [&](auto contents) {
        contents.status.pass_on(faults_.status());
        visit(message.peer, std::move(contents));
      });
    }
  }

  /// Makes links of all edges between this rank and each other rank. They follow from the graph, so
  /// they exist even if the pattern is faulty.
  void find_links(bool identity);
  /// Compares the count that a receiver expects with the link's, unless the receiver has failed.
  void compare(int receiver, const Expectation& expectation);

  /// Returns the negotiated plans, or throws the fault.
  Plans finish(std::string_view planner, std::string reason = {});

  PlanRequest& request_;
  const PlanOptions& options_;
  const Neighborhood& neighborhood_;
  const Machine& machine_;
  int rank_;
  FaultRecord faults_;
  std::map<int, OutLink> out_links_;
  std::map<int, InLink> in_links_;
  Transfers transfers_;
};

}  // namespace vicinal

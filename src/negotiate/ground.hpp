// What every negotiation stands on: who this rank is, what it knows of faults, what it draws from the place where it
// plans, and the list of transfers that it ends in. A negotiator is a Ground whose supersteps are coroutines: each writes its
// letters, says whose it expects, and reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/letters.hpp"
#include "planners/faults.hpp"
#include "planners/links.hpp"
#include "planners/planner.hpp"
#include "planners/transfers.hpp"

namespace vicinal {

using Letters = std::vector<Letter>;

/// Receiver to sender of a link, so that both find out where their counts differ.
struct Expectation {
  static constexpr std::string_view name = "expectation";
  Status status;
  Index count = 0;
};
void fields(auto&& take, Is<Expectation> auto& it) { take(it.status, it.count); }

class Ground {
 protected:
  explicit Ground(PlanRequest& request);

  /// A rank that does not is done at once, and nobody counts on it.
  [[nodiscard]] bool takes_part() const { return neighborhood_.takes_part(); }
  [[nodiscard]] bool same_region(int other) const { return machine_.same_region(rank_, other); }
  /// Whether another rank, not this one, hands over and takes through slots.
  [[nodiscard]] bool shares_memory_with(int other) const {
    return other != rank_ && options_.shared_memory && machine_.same_host(rank_, other);
  }
  std::int64_t new_tag();
  /// Nothing where the host has no room left; then messages serve.
  std::optional<SlotPair> new_slots(int peers);
  /// For one taker, of so many elements.
  Passage new_passage(int taker, Index extent);

  /// One superstep.
  auto exchange(Letters outbox, Expected expected) {
    return request_.conversation.exchange(std::move(outbox), std::move(expected));
  }
  /// Calls `visit` with the sender of each letter and what it holds, which must be one of these, and hears of faults.
  template <class... Contents, class Visit>
  void read(const Letters& inbox, Visit visit) {
    for (const Letter& letter : inbox) {
      open<Contents...>(letter, [&](auto contents) {
        contents.status.pass_on(faults_.status());
        visit(letter.peer, std::move(contents));
      });
    }
  }

  /// All edges between this rank and another, as links. They exist by the graph, whatever became of the pattern.
  void find_links(bool identity);
  /// The receiver of a link says how many it expects: compares, unless either end is at fault.
  void compare(int receiver, const Expectation& expectation);

  /// What the negotiation has come to, or the fault.
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

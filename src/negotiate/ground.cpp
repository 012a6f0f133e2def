// The parts that all negotiations share.
#include "negotiate/ground.hpp"

#include "negotiate/transfers.hpp"

namespace vicinal {

Ground::Ground(PlanRequest& request)
    : request_(request),
      options_(request.options),
      neighborhood_(request.neighborhood),
      machine_(*request.neighborhood.machine),
      rank_(request.neighborhood.rank),
      faults_(rank_, request.options.unit) {
  if (request.fault) faults_.blame(*request.fault);
}

std::int64_t Ground::new_tag() {
  return faults_.attempt(std::int64_t{-1}, [&] { return request_.site.new_tag(); });
}

std::optional<SlotPair> Ground::new_slots(int peers) {
  return faults_.attempt_if_room([&] {
    SlotPair slots{request_.site.new_slot(peers), -1};
    if (options_.with_reverse) slots.reverse = request_.site.new_slot(peers);
    return slots;
  });
}

Passage Ground::new_passage(int taker, Index extent) {
  const auto slots = shares_memory_with(taker) ? new_slots(1) : std::nullopt;
  return slots ? Passage{-1, *slots, 0, extent, 0} : Passage::message(new_tag(), extent);
}

void Ground::find_links(bool identity) {
  if (!request_.fault) {
    out_links_ = out_links(request_.pattern, identity && request_.pattern.identity);
    in_links_ = in_links(request_.pattern);
  }
  for (const int peer : neighborhood_.destinations) {
    out_links_.try_emplace(peer).first->second.peer = peer;
  }
  for (const int peer : neighborhood_.sources) {
    in_links_.try_emplace(peer).first->second.peer = peer;
  }
}

void Ground::compare(int receiver, const Expectation& expectation) {
  if (!expectation.status.good()) return;
  faults_.compare(rank_, receiver, out_links_.at(receiver).count, expectation.count);
}

Plans Ground::finish(std::string_view planner, std::string reason) {
  faults_.settle();
  return write_plans(std::move(transfers_), request_, planner, std::move(reason));
}

}  // namespace vicinal

// Agreeing on plans over MPI.
#include "execute/agreed_plan.hpp"

#include "mpi/drive.hpp"
#include "planners/plan_alike.hpp"

namespace vicinal {

AgreedSite::~AgreedSite() {
  for (const std::int64_t tag : tags_) communicator_->release_tag(tag);
}

std::int64_t AgreedSite::new_tag() {
  tags_.push_back(communicator_->acquire_tag());
  return tags_.back();
}

std::int64_t AgreedSite::new_slot(int peers) {
  auto header = std::make_shared<SlotHeader>(communicator_, peers);
  const std::int64_t slot = header->offset();
  headers_.emplace(slot, std::move(header));
  return slot;
}

const Plan& AgreedPlan::reverse() const {
  require(plans_.reverse.has_value(), Fault::request,
          "this plan was made for one direction only; it has no reverse");
  return *plans_.reverse;
}

Channel& AgreedPlan::channel(bool reverse, int index) {
  auto& channel = channels_[reverse ? 1 : 0][static_cast<std::size_t>(index)];
  if (!channel) {
    const Plan& plan = reverse ? this->reverse() : forward();
    std::vector<std::shared_ptr<SlotHeader>> headers;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.space == Space::shared && buffer.peer_index < 0) {
        headers.push_back(site_.header(buffer.slot));
      }
    }
    channel = std::make_unique<Channel>(communicator_, plan, headers, index);
  }
  return *channel;
}

std::shared_ptr<AgreedPlan> agree(const std::shared_ptr<mpi::Communicator>& communicator,
                                  mpi::ConversationKey key, const Planner& planner,
                                  const Neighborhood& neighborhood, const Pattern& pattern,
                                  const PlanOptions& options, std::optional<Error> fault) {
  AgreedSite site(communicator);
  Conversation conversation;
  Task<Plans> task = plan_alike(
      planner, PlanRequest{conversation, site, neighborhood, pattern, options, std::move(fault)});
  try {
    Plans plans = mpi::drive(*communicator, key, conversation, task);
    return std::make_shared<AgreedPlan>(communicator, key, neighborhood.company(), std::move(site),
                                        std::move(plans));
  } catch (...) {
    // Another rank may have its plan, start it, and look into these slots before it hears of the fault:
    // nothing else must ever be announced there.
    if (site.has_slots()) new AgreedSite(std::move(site));
    throw;
  }
}

}  // namespace vicinal

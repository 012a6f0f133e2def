// Resources of a plan, and giving a plan up.
#include "execute/agreed_plan.hpp"

namespace vicinal {

AgreedSite::~AgreedSite() {
  for (const std::int64_t tag : tags_) communicator_->release_tag(tag);
}

std::int64_t AgreedSite::new_tag() {
  tags_.push_back(communicator_->acquire_tag());
  return tags_.back();
}

std::int64_t AgreedSite::new_slot(int peers) {
  std::shared_ptr<SlotHeader> header;
  try {
    header = std::make_shared<SlotHeader>(communicator_, peers, channels_);
  } catch (const Error&) {
    communicator_->note_lack_of_room();
    throw;
  }
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
  require(index < site_.channels(), Fault::internal, "channel ", index, " of a plan made for ",
          site_.channels());
  const Lock lock(mutex_);
  auto& channel = channels_[reverse ? 1 : 0][static_cast<std::size_t>(index)];
  if (!channel) {
    const Plan& plan = reverse ? this->reverse() : forward();
    std::vector<std::shared_ptr<SlotHeader>> headers;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.space == Space::shared && buffer.peer_index < 0) {
        headers.push_back(site_.header(buffer.slot));
      }
    }
    channel =
        std::make_unique<Channel>(*this, plan, headers, index, device_choices_[reverse ? 1 : 0]);
    channel->enter_dump();
  }
  return *channel;
}

void AgreedPlan::let_go() noexcept {
  for (const bool reverse : {false, true}) {
    for (int index = 0; index < site_.channels(); ++index) {
      if (Channel* const channel = made(reverse, index)) channel->let_go();
    }
  }
}

/// Returns the channel, or null if nobody has asked for it yet.
Channel* AgreedPlan::made(bool reverse, int index) noexcept {
  const Lock lock(mutex_);
  return channels_[reverse ? 1 : 0][static_cast<std::size_t>(index)].get();
}

/// In relays, peers need not be neighbors or in one region.
void AgreedPlan::add_dependents(const Plan& plan) {
  for (const Operation& it : plan.operations) {
    if (it.peer >= 0 && it.peer != plan.rank) dependents_.insert(it.peer);
  }
}

std::optional<Error> notice_of(const AgreedPlan& plan) {
  plan.communicator().mailbox().collect();
  try {
    mpi::check_notices(plan.communicator(), plan.key());
  } catch (const Error& error) {
    if (error.origin() < 0) throw;
    return error;
  }
  return std::nullopt;
}

void abandon_plan(const std::shared_ptr<AgreedPlan>& plan, int origin) noexcept {
  mpi::give_notice(plan->communicator(), plan->key(), origin, plan->dependents());
  plan->let_go();
  new (std::nothrow) std::shared_ptr<AgreedPlan>(plan);
}

}  // namespace vicinal

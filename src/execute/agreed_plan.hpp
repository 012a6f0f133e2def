// A plan that this rank has agreed on with others, with the tags and slot headers that it holds for as
// long as it lives, and the channels in which it is executed.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/guarded.hpp"
#include "execute/channel.hpp"
#include "execute/slots.hpp"
#include "mpi/communicator.hpp"
#include "mpi/drive.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// Tags and slots from a communicator, given back with this object.
class AgreedSite final : public Site {
 public:
  /// For plans that are executed in so many channels.
  AgreedSite(std::shared_ptr<mpi::Communicator> communicator, int channels)
      : communicator_(std::move(communicator)), channels_(channels) {}
  AgreedSite(AgreedSite&& other) noexcept = default;
  AgreedSite& operator=(AgreedSite&&) = delete;
  ~AgreedSite() override;
  std::int64_t new_tag() override;
  std::int64_t new_slot(int peers) override;
  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] bool has_slots() const { return !headers_.empty(); }
  [[nodiscard]] const std::shared_ptr<SlotHeader>& header(std::int64_t slot) const {
    return headers_.at(slot);
  }

 private:
  std::shared_ptr<mpi::Communicator> communicator_;
  int channels_;
  std::vector<std::int64_t> tags_;
  std::map<std::int64_t, std::shared_ptr<SlotHeader>> headers_;
};

class AgreedPlan {
 public:
  AgreedPlan(std::shared_ptr<mpi::Communicator> communicator, mpi::ConversationKey key,
             std::set<int> dependents, AgreedSite site, Plans plans,
             std::array<DeviceChoice, 2> device_choices)
      : communicator_(std::move(communicator)),
        key_(key),
        dependents_(std::move(dependents)),
        site_(std::move(site)),
        plans_(std::move(plans)),
        device_choices_(device_choices) {
    add_dependents(plans_.forward);
    if (plans_.reverse) add_dependents(*plans_.reverse);
  }

  [[nodiscard]] const Plan& forward() const { return plans_.forward; }
  /// A request fault where the plan was made without a reverse.
  [[nodiscard]] const Plan& reverse() const;
  [[nodiscard]] bool has_reverse() const { return plans_.reverse.has_value(); }
  [[nodiscard]] const Plans& plans() const { return plans_; }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }

  /// The conversation in which it was agreed on.
  [[nodiscard]] mpi::ConversationKey key() const { return key_; }
  /// The ranks that may wait for this one while the plan executes: whoever it exchanges anything with, and those that it was given.
  [[nodiscard]] const std::set<int>& dependents() const { return dependents_; }

  /// Channel `index` of a direction, made when first asked for, and there as long as the plan. Local; by any thread. The
  /// ranks of a plan must use the channels of each direction in the same order.
  Channel& channel(bool reverse, int index);
  /// Has channels that execute nothing let go of what other ranks own. By any thread.
  void let_go() noexcept;

 private:
  Channel* made(bool reverse, int index) noexcept;
  void add_dependents(const Plan& plan);

  std::shared_ptr<mpi::Communicator> communicator_;
  mpi::ConversationKey key_;
  std::set<int> dependents_;
  AgreedSite site_;
  Plans plans_;
  std::array<DeviceChoice, 2> device_choices_;  ///< forward, reverse
  Mutex mutex_;
  std::array<std::array<std::unique_ptr<Channel>, mpi::channels_per_plan>, 2> channels_
      VICINAL_GUARDED_BY(mutex_);
};

/// What another rank has said of this plan: that it has none, or has lost it.
std::optional<mpi::FaultElsewhere> notice_of(const AgreedPlan& plan);

/// This rank will not execute the plan any more, because of a fault that began on rank `origin`: tells
/// those that may wait for it. Messages may still arrive, so the plan's memory is kept for good.
void abandon_plan(const std::shared_ptr<AgreedPlan>& plan, int origin) noexcept;

}  // namespace vicinal

// A plan on which this rank has agreed with other ranks. It owns the plan's tags and slot headers,
// and the channels that execute it.
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
#include "negotiate/planner.hpp"

namespace vicinal {

/// Tags and slots of a communicator; released with this object.
class AgreedSite final : public Site {
 public:
  /// `channels`: number of channels that execute the plan.
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

class AgreedPlan : public std::enable_shared_from_this<AgreedPlan> {
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
  /// Throws a request fault if the plan was made without a reverse.
  [[nodiscard]] const Plan& reverse() const;
  [[nodiscard]] bool has_reverse() const { return plans_.reverse.has_value(); }
  [[nodiscard]] const Plans& plans() const { return plans_; }
  [[nodiscard]] mpi::Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] const std::shared_ptr<mpi::Communicator>& shared_communicator() const {
    return communicator_;
  }

  /// Key of the conversation in which the ranks agreed on the plan.
  [[nodiscard]] mpi::ConversationKey key() const { return key_; }
  /// Ranks that may wait for this rank while the plan executes: its peers in the plan, and the
  /// given ones.
  [[nodiscard]] const std::set<int>& dependents() const { return dependents_; }

  /// Returns channel `index` of a direction, and creates it on first use; it lives as long as the
  /// plan. Local and thread-safe. All ranks of a plan must use the channels of each direction in
  /// the same order.
  Channel& channel(bool reverse, int index);
  /// Closes other ranks' memory in all channels that execute nothing. Thread-safe.
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

/// Returns the notice of another rank that it has no such plan, or has lost it; nothing if there is
/// none.
std::optional<Error> notice_of(const AgreedPlan& plan);

/// Gives the plan up on this rank, because of a fault that began on rank `origin`. Tells the ranks
/// that may wait for it. Never frees the plan, because messages into its memory may still arrive.
void abandon_plan(const std::shared_ptr<AgreedPlan>& plan, int origin) noexcept;

}  // namespace vicinal

// A call with counts (the v and w forms), which goes by a plan with capacities, or straight.
//
// Each edge carries a word per call: how many bytes come with it, or that the data come as a message of their own, since
// they do not fit, or that nothing comes, because of a fault. The word alone tells the receiver, never what it expects
// itself: so both ends always do the same, whatever their arguments say. Messages of their own have tags that no other
// call has, and meet in the order of edges.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/call.hpp"
#include "collectives/direct_call.hpp"
#include "collectives/review.hpp"

namespace vicinal {

class CountedCall final : public Call {
 public:
  /// Tags: of a call that goes straight, and of messages of their own.
  struct Tags {
    int straight;
    int departed;
  };
  /// What must be over before: a call by the same channel of a plan, and where it goes straight, one with the same tag.
  struct After {
    std::shared_ptr<const Call> channel;
    std::shared_ptr<const Call> tag;
  };
  /// Without data it is the call of a rank at fault.
  CountedCall(std::shared_ptr<const DirectRoute> route, Tags tags, std::int64_t number, int channel,
              std::shared_ptr<Review> review, std::optional<CallData> data, After after);
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
  ~CountedCall() override { leave_dump(); }
  void name_what_is_due(std::ostream& out) const override;

 private:
  bool may_begin() override;
  Fetch look_at_fetch() noexcept override {
    if (!data_ || !data_->is_fetched()) return Fetch::nothing;
    return data_->is_fetching() ? Fetch::under_way : Fetch::over;
  }
  void begin() override;
  bool poll(Polls polls) override;
  [[nodiscard]] bool wants_progress() const override { return true; }
  [[nodiscard]] bool holds_tags() const override { return straight_ && straight_->holds_up(); }

  void go_straight();
  void execute();
  void write_pieces();
  void send_departed();
  void read_words();
  void read_word(std::size_t edge);

  std::shared_ptr<const DirectRoute> route_;
  const Tags tags_;
  const std::int64_t number_;  ///< among the calls of its kind
  const int channel_;
  std::shared_ptr<Review> review_;
  std::optional<CallData> data_;
  std::shared_ptr<const Call> after_tag_;
  std::vector<mpi::KeptType> types_;
  std::shared_ptr<DirectCall> straight_;
  std::shared_ptr<CapacityPlan> plan_;
  bool executing_ = false;
  mpi::MessageBatch sent_;  ///< of what has departed
  mpi::MessageBatch received_;
  std::vector<mpi::Stray> strays_;
  std::exception_ptr refused_;  ///< the first thing that has failed
};

}  // namespace vicinal

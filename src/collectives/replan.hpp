// Whether, and by which plan, the calls with counts of a graph go: the ranks of a component find it out together in
// the background, and it holds from a call on whose number all know beforehand.
//
// Counts may change on one edge without the others knowing, so a plan for such calls has room for so many bytes on each
// edge, its capacity: what was seen of it lately, and a little more where it changed. What does not fit goes as a
// message of its own (counted_call.hpp). A review adds up over the ranks how often that was, and how much of the room was
// needed; then all give the same ruling, the senders tell the receivers the new capacities, and all plan anew.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "choose/joining.hpp"
#include "collectives/capacity_plan.hpp"
#include "collectives/edge_data.hpp"
#include "execute/planning.hpp"

namespace vicinal {

/// What the edges of a rank have been asked to carry since the last review. Not for several threads.
class SizeRecord {
 public:
  /// `capacities`: of the plan by which the call goes; null where it goes straight, or that is not known yet.
  void note(const EdgeData& sent, const std::vector<std::int64_t>* capacities);

  /// What a review adds up.
  struct Figures {
    std::int64_t pieces = 0;  ///< of all calls
    std::int64_t too_large =
        0;  ///< those that did not fit; where there was no room, that were the largest yet
    std::int64_t needed = 0;   ///< bytes of the largest pieces, by edge
    std::int64_t room = 0;     ///< bytes of the capacities
    std::int64_t gaining = 0;  ///< ranks for which a plan may do more than messages
  };
  [[nodiscard]] Figures figures() const { return figures_; }
  /// What the next plan is to have room for, by piece. Where the sizes changed, a quarter more than the largest.
  [[nodiscard]] std::vector<std::int64_t> capacities(std::size_t pieces) const;
  /// Bytes of the largest piece.
  [[nodiscard]] std::int64_t largest() const;
  /// What follows is of the next review.
  void forget();

 private:
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<Range> ranges_;  ///< by piece; empty before the first call
  Figures figures_;
};

enum class Ruling : std::uint8_t { keep, plan, straight };

/// What follows from what all ranks have noted, and from how calls went so far.
enum class Way : std::uint8_t { unknown, straight, measured_straight, planned, planned_anew };
Ruling ruling_on(const SizeRecord::Figures& all, Way so_far);

class Review final : public Activity {
 public:
  struct Task {
    PlanningTask planning;     ///< its pattern is made when the capacities are known
    mpi::ConversationKey key;  ///< used for nothing else
    std::int64_t first = 0;    ///< the number of the first call for which it holds
    bool may_contest = false;  ///< whether all calls from then on may go by a plan
    bool one_block = false;
    SizeRecord sizes;
    std::shared_ptr<Review> before;  ///< null for the first
  };

  /// Begins. Never waits.
  static std::shared_ptr<Review> begin(Task task);
  explicit Review(Task task);
  Review(const Review&) = delete;
  Review& operator=(const Review&) = delete;
  ~Review() override { leave_dump(); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;
  /// Whether it is over; progresses it. From then on the next three may be called without a claim.
  bool test();
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// By what calls go from now on; null where straight. Throws the fault for which ranks have come to no verdict.
  [[nodiscard]] const std::shared_ptr<CapacityPlan>& plan() const;
  /// The verdict that calls go straight.
  [[nodiscard]] bool has_no_plan() const { return !fault_ && !plan_; }
  /// Once it is over: frees the plans that are not used any more. Not under a claim, since other things may progress
  /// meanwhile; not by several threads at once.
  void let_go() { discarded_ = {}; }
  /// Goes on with a sentence: for whom it waits.
  void name_awaited(std::ostream& out);

 private:
  enum class Stage : std::uint8_t { waiting, adding_up, planning, weighing };

  bool advance_stage();
  vicinal::Task<Done> add_up();
  vicinal::Task<Done> weigh();
  void decide();
  void begin_planning();
  void end_planning();
  void end_weighing();
  void do_without(const SettledFault& fault);
  void go_straight();
  void discard_plan() noexcept;
  [[nodiscard]] std::size_t out_pieces() const;
  [[nodiscard]] bool is_served_by_messages() const;
  [[nodiscard]] Pattern pattern() const;
  void leave_with(std::exception_ptr fault, int origin) noexcept;
  void write_awaited(std::ostream& out) const;

  Task task_;
  const std::shared_ptr<mpi::Communicator> communicator_;
  const Neighborhood neighborhood_;
  Stage stage_ = Stage::waiting;
  Conversation conversation_;
  mpi::Driver driver_;
  std::optional<vicinal::Task<Done>> talk_;
  Ruling ruling_ = Ruling::keep;
  bool is_measured_ = false;  ///< that a message per edge is quicker
  bool is_worth_it_ = false;  ///< what has been planned, to some rank
  Way way_ = Way::unknown;
  std::vector<std::int64_t> in_;  ///< what senders have said of their edges
  std::shared_ptr<Planning> planning_;
  std::optional<PlanningTask> contested_;  ///< of the contest, where the plan is to have one
  std::shared_ptr<CapacityPlan> plan_;
  std::pair<std::shared_ptr<CapacityPlan>, std::shared_ptr<CapacityPlan>>
      discarded_;  ///< that of the review before, and one that came to nothing
  std::exception_ptr fault_;
  std::atomic<bool> over_ = false;
};

}  // namespace vicinal

// A call whose edges carry data of their own: by one message per edge, or by a plan with capacities
// (capacity_plan.hpp).
//
// A direct call posts one message per edge when it begins, between the users' buffers. All messages
// of a call have one tag, and MPI keeps their order. So the k-th message between two ranks matches
// the k-th receive.
//
// With a plan, each edge carries a header per call. It gives the number of bytes that follow, or
// announces an overflow message, for data that exceed the capacity. Or it tells that nothing
// follows, because the sender has failed. The receiver obeys the header alone, never its own count,
// so both ends do the same, whatever their arguments say. No other call in progress has the tags of
// the overflow messages, which match in the order of edges.
//
// A rank whose call has failed sends an empty message, or an empty header, along each edge, and
// discards what arrives. So other ranks complete, and detect that data are missing. No later call
// may receive with the tags of this one until all discard receives are posted.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/call.hpp"
#include "collectives/call_data.hpp"
#include "collectives/replan.hpp"
#include "mpi/messages.hpp"

namespace vicinal {

/// The edges of a graph, and its tags. Calls share them, since calls may outlive the graph.
struct EdgeRoute {
  std::shared_ptr<mpi::Communicator> communicator;
  std::shared_ptr<const GraphTags> tags;
  std::vector<int> sources;
  std::vector<int> destinations;
};

class EdgeCall final : public Call {
 public:
  struct Tags {
    int direct;
    int overflow = 0;  ///< for calls with a replan
  };
  /// Earlier calls to wait for. The last one of the same plan channel must be over. The last one
  /// with the same direct tag must not hold that tag.
  struct After {
    std::shared_ptr<const Call> channel;
    std::shared_ptr<const Call> tag;
  };
  /// The replan that decides whether the call uses a plan; null for a direct call.
  struct ByPlan {
    std::shared_ptr<Replan> replan;
    std::int64_t number = 0;  ///< among calls of its kind
    int channel = 0;
  };
  /// Without `data`, the call of a rank that has failed. A direct call copies the data of edges
  /// from this rank to itself here, or only checks their sizes if the data are not ready. Throws if
  /// the arguments of the two ends differ.
  EdgeCall(std::shared_ptr<const EdgeRoute> route, Tags tags, std::optional<CallData> data,
           const After& after, ByPlan by_plan);
  EdgeCall(const EdgeCall&) = delete;
  EdgeCall& operator=(const EdgeCall&) = delete;
  ~EdgeCall() override { leave_dump(); }
  void name_what_is_due(std::ostream& out) const override;

 private:
  bool may_begin() override;
  Fetch look_at_fetch() noexcept override {
    if (!data_ || !data_->is_fetched()) return Fetch::nothing;
    return data_->is_fetching() ? Fetch::in_progress : Fetch::over;
  }
  void begin() override;
  bool poll(Polls polls) override;
  [[nodiscard]] bool wants_progress() const override {
    return by_plan_.replan != nullptr || !discards_.empty();
  }
  [[nodiscard]] bool holds_tags() const override;

  void keep(EdgeData& side, bool without_gaps_too);
  void serve_own_edges(bool only_check);
  void post_all();
  void post_receive(const EdgePiece& piece, std::int64_t without, int peer, int tag);
  void post_send(const EdgePiece& piece, int peer, int tag);
  void send_nothing(int peer, int tag);
  void discard(int peer, int tag);
  void execute();
  void write_pieces();
  void read_headers();
  void read_header(std::size_t edge);
  void refuse_with_current() {
    if (!refused_) refused_ = std::current_exception();
  }
  [[nodiscard]] CapacityPlan::ChannelState& channel() const {
    return plan_->channels[static_cast<std::size_t>(by_plan_.channel)];
  }

  std::shared_ptr<const EdgeRoute> route_;
  const Tags tags_;
  ByPlan by_plan_;
  std::optional<CallData> data_;
  bool own_are_served_ = false;
  std::shared_ptr<const Call> after_tag_;
  /// copies, if the user may free theirs before the call uses them
  std::vector<mpi::KeptType> types_;
  std::shared_ptr<CapacityPlan> plan_;
  bool executing_ = false;
  mpi::MessageBatch messages_;  ///< with a plan: receives of overflow messages
  mpi::MessageBatch overflow_;  ///< sends of overflow messages
  std::vector<mpi::DiscardReceive> discards_;
  std::exception_ptr refused_;  ///< the first failure
};

}  // namespace vicinal

// Plans that a graph keeps for its blocking and nonblocking calls, so that these plan once and then
// only bind. All ranks call in the same order, and the block sizes are the same on all, so they
// agree without a word on which plan a call uses and on the channel of the execution: the next in
// turn, however far the earlier ones have come.
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "execute/execution.hpp"

namespace vicinal {

/// A call that holds one of a kept plan's executions while it is in flight.
class TurnHolder {
 public:
  /// Does what can be done now; true once the execution is complete, or has failed, and is held no
  /// longer. Called with the turn's mutex held.
  virtual bool advance() = 0;

 protected:
  ~TurnHolder() = default;
};

class KeptPlan {
 public:
  enum class Use : std::uint8_t {
    tags,       ///< a direct plan, for the tag that it gives each pair of ranks
    alltoall,   ///< a block on each edge
    allgather,  ///< the same block on all out-edges
  };
  struct Kind {
    Use use = Use::tags;
    int size_class = 0;  ///< of the block
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };

  /// One of the plan's executions. A request may be tested by one thread while another begins a
  /// call.
  struct Turn {
    Turn(std::shared_ptr<AgreedPlan> plan, int channel)
        : execution(std::move(plan), false, channel) {}
    std::mutex mutex;
    TurnHolder* holder = nullptr;
    Execution execution;
  };

  /// With `turns` executions.
  KeptPlan(std::shared_ptr<AgreedPlan> plan, int turns);
  /// One that could not be made.
  explicit KeptPlan(const Error& fault) : fault_(fault) {}

  [[nodiscard]] const std::shared_ptr<AgreedPlan>& plan() const { return plan_; }
  /// The MPI tags of messages between this rank and another, of a plan for tags.
  [[nodiscard]] int send_tag(int peer) const { return send_tags_.at(peer); }
  [[nodiscard]] int receive_tag(int peer) const { return receive_tags_.at(peer); }
  Turn& next_turn() { return *turns_[started_++ % turns_.size()]; }

  /// An execution has failed: the ranks no longer agree on anything here.
  void spoil(const Error& error);
  /// Throws what spoilt it, if anything has.
  void require_sound();

 private:
  std::shared_ptr<AgreedPlan> plan_;
  std::map<int, int> send_tags_;
  std::map<int, int> receive_tags_;
  std::vector<std::unique_ptr<Turn>> turns_;
  std::size_t started_ = 0;
  std::mutex mutex_;
  std::optional<Error> fault_;
};

/// The plans used last, by the sizes of their blocks.
class RecentPlans {
 public:
  /// The plan for these sizes, null where there is none (any more); it is now the one used last, and
  /// the one longest unused is forgotten if there are too many.
  std::shared_ptr<KeptPlan>& find(const std::vector<Index>& bytes);

 private:
  static constexpr std::size_t most = 16;
  std::list<std::pair<std::vector<Index>, std::shared_ptr<KeptPlan>>>
      plans_;  ///< the last used first
};

}  // namespace vicinal

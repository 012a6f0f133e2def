// A request whose executions are those of a plan, in one of its channels.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <utility>

#include "collectives/request.hpp"
#include "execute/execution.hpp"

namespace vicinal {

class ExecutionRequest : public Request {
 public:
  [[nodiscard]] bool in_flight() const final { return execution_->in_flight(); }
  void name_awaited(std::ostream& out) const final { execution_->name_awaited(out); }
  [[nodiscard]] const AgreedPlan& plan() const { return execution_->plan(); }

 protected:
  using Request::Request;
  /// For the end of a constructor: what is to be executed, and where.
  void execute(const std::shared_ptr<AgreedPlan>& plan, bool reverse, int channel) {
    execution_.emplace(plan, reverse, channel);
  }
  /// For the beginning of a destructor: waits for an execution in flight, which uses what is destroyed next.
  void end() noexcept { execution_.reset(); }
  [[nodiscard]] Execution& execution() { return *execution_; }

 private:
  /// All that was due has come.
  virtual void take() = 0;
  bool advance() final {
    if (!execution_->advance()) return false;
    take();
    return true;
  }
  void finish() final {
    execution_->wait();
    take();
  }

  std::optional<Execution> execution_;
};

}  // namespace vicinal

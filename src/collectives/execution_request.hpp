// A request whose executions are those of a plan, or of several while the quickest is being found, in one of their
// channels.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <utility>

#include "choose/executions.hpp"
#include "collectives/request.hpp"

namespace vicinal {

class ExecutionRequest : public Request {
 public:
  [[nodiscard]] bool in_flight() const final { return executions_->in_flight(); }
  void name_awaited(std::ostream& out) const final { executions_->name_awaited(out); }
  /// By which the last execution went, or the next will go.
  [[nodiscard]] const AgreedPlan& plan() const { return executions_->plan(); }

 protected:
  using Request::Request;
  /// For the end of a constructor: what is to be executed, and where.
  void execute(const Chosen& chosen, bool reverse, int channel) {
    executions_.emplace(chosen, reverse, channel);
  }
  /// For the beginning of a destructor: waits for an execution in flight, which uses what is destroyed next.
  void end() noexcept { executions_.reset(); }
  [[nodiscard]] Executions& executions() { return *executions_; }

 private:
  /// All that was due has come.
  virtual void take() = 0;
  bool advance() final {
    if (!executions_->advance()) return false;
    take();
    return true;
  }
  void finish() final {
    executions_->wait();
    take();
  }

  void finish_on(std::uintptr_t stream) final {
    executions_->wait_on(stream);
    take();
  }

  std::optional<Executions> executions_;
};

}  // namespace vicinal

// Names in plans, for reports, JSON and error messages.
#include "plan/plan.hpp"

namespace vicinal {

const char* name(Space space) {
  switch (space) {
    case Space::source: return "source";
    case Space::target: return "target";
    case Space::staging: return "staging";
    case Space::shared: return "shared";
  }
  return "unknown";
}

const char* name(OperationKind kind) {
  switch (kind) {
    case OperationKind::copy: return "copy";
    case OperationKind::reduce: return "reduce";
    case OperationKind::send: return "send";
    case OperationKind::receive: return "receive";
    case OperationKind::signal: return "signal";
    case OperationKind::await: return "await";
    case OperationKind::trigger: return "trigger";
    case OperationKind::notify: return "notify";
  }
  return "unknown";
}

const char* name(Phase phase) {
  switch (phase) {
    case Phase::direct: return "direct";
    case Phase::local: return "local";
    case Phase::gather: return "gather";
    case Phase::non_local: return "non-local";
    case Phase::scatter: return "scatter";
    case Phase::halving: return "halving";
  }
  return "unknown";
}

}  // namespace vicinal

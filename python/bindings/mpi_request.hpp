// A request in Python. It keeps its buffers alive as long as it exists.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "collectives/execution_request.hpp"
#include "mpi.hpp"

namespace vicinal::python {

class PythonRequest : public Pending {
 public:
  vicinal::Request* request() override { return request_.get(); }
  void start();
  bool test();
  void wait(nanobind::handle stream);
  void mark_ready(int neighbor, int first, int last);
  bool has_arrived(int neighbor, int partition);
  void free();
  [[nodiscard]] const AgreedPlan& plan();
  [[nodiscard]] virtual const Plan& executed() { return plan().forward(); }

 protected:
  PythonRequest() = default;
  /// Waits for an execution in flight without the GIL, which another thread may need. Derived
  /// destructors call it first, since their arrays may be in use.
  void end();
  void own(std::unique_ptr<vicinal::Request> call) { request_ = std::move(call); }
  /// Takes a persistent request.
  void own(std::unique_ptr<ExecutionRequest> planned) {
    planned_ = planned.get();
    request_ = std::move(planned);
  }

 private:
  /// Called when the request moves no more data.
  virtual void release_arrays() = 0;
  vicinal::Request& alive();

  const ExecutionRequest* planned_ = nullptr;  ///< request_, if it is persistent
  std::unique_ptr<vicinal::Request> request_;
};

}  // namespace vicinal::python

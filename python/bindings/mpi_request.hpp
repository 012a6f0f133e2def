// A request in Python: what it moves is kept alive as long as it is there.
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
  /// For the beginning of a destructor, whose arrays may be in use: waits for what is in flight, for which another thread may need the
  /// GIL.
  void end();
  void own(std::unique_ptr<vicinal::Request> call) { request_ = std::move(call); }
  /// A persistent one.
  void own(std::unique_ptr<ExecutionRequest> planned) {
    planned_ = planned.get();
    request_ = std::move(planned);
  }

 private:
  /// It moves nothing any more.
  virtual void release_arrays() = 0;
  vicinal::Request& alive();

  const ExecutionRequest* planned_ = nullptr;  ///< the same, where it is a persistent one
  std::unique_ptr<vicinal::Request> request_;
};

}  // namespace vicinal::python

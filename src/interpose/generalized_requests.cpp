// The table of the program's generalized requests, by MPI handle.
#include "interpose/generalized_requests.hpp"

#include <cstddef>
#include <ostream>
#include <unordered_map>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "interpose/guarded_as.hpp"
#include "mpi/environment.hpp"

namespace vicinal::interpose {
namespace {

/// Never destroyed: the program may end MPI with some of them left.
struct GeneralizedRequests {
  Mutex mutex;
  std::unordered_map<MPI_Request, std::shared_ptr<GeneralizedRequest>> all
      VICINAL_GUARDED_BY(mutex);
  std::atomic<std::size_t> count = 0;
};

GeneralizedRequests& generalized_requests() noexcept {
  // Waiting needs the table, and cannot report a failed allocation.
  static NoDestructor<GeneralizedRequests> it;
  return *it;
}

void remember(MPI_Request request, const std::shared_ptr<GeneralizedRequest>& its) {
  const Lock lock(generalized_requests().mutex);
  generalized_requests().all[request] = its;
  generalized_requests().count = generalized_requests().all.size();
}

/// Removes the entry of a handle; with `only`, only if it is the entry of that request.
void take_out(MPI_Request request, const GeneralizedRequest* only) {
  if (generalized_requests().count.load(std::memory_order_relaxed) == 0) return;
  std::shared_ptr<GeneralizedRequest> last;  // destroyed after the lock is released
  const Lock lock(generalized_requests().mutex);
  const auto found = generalized_requests().all.find(request);
  if (found == generalized_requests().all.end() || (only != nullptr && found->second.get() != only))
    return;
  last = std::move(found->second);
  generalized_requests().all.erase(found);
  generalized_requests().count = generalized_requests().all.size();
}

class CallAsRequest final : public GeneralizedRequest {
 public:
  [[nodiscard]] MPI_Request handle() const { return mpis_.handle(); }
  [[nodiscard]] bool is_persistent() const override { return false; }

 private:
  /// Removes the entry only when MPI's request is complete, so that a waiting thread finds it and
  /// waits for its lock. In MPICH 4.0, MPI_Waitall ends the program if a generalized request is not
  /// complete yet. By then the program may have seen the completion, and the handle may be that of
  /// another request.
  void complete(int code) noexcept override {
    const MPI_Request request = mpis_.handle();
    mpis_.complete(code);
    take_out(request, this);
  }
  mpi::SingleUseRequest mpis_;
};

class ExecutionsAsRequest final : public GeneralizedRequest {
 public:
  explicit ExecutionsAsRequest(mpi::Communicator& communicator) : mpis_(communicator) {}
  [[nodiscard]] MPI_Request handle() const { return mpis_.handle(); }
  [[nodiscard]] bool is_persistent() const override { return true; }

 private:
  void complete(int code) noexcept override { mpis_.complete(code != MPI_SUCCESS); }
  mpi::RestartableRequest mpis_;
};

}  // namespace

bool GeneralizedRequest::advance() noexcept {
  if (!in_progress_) return true;
  bool over = false;
  const int code = guarded_as(errors_.ours, error_communicator(), [&] { over = request_->poll(); });
  if (code == MPI_SUCCESS && !over) return false;
  end(code);
  return true;
}

void GeneralizedRequest::finish() noexcept {
  const ActivityLock lock(*this);
  if (!in_progress_) return;
  end(guarded_as(errors_.ours, error_communicator(), [&] { request_->wait(); }));
}

int GeneralizedRequest::start() noexcept {
  const ActivityLock lock(*this);
  in_progress_ = true;
  const int code = guarded_as(errors_.ours, error_communicator(), [&] {
    request_->start();
    activate(shared_from_this());
  });
  if (code != MPI_SUCCESS) end(code);
  return code;
}

void GeneralizedRequest::end(int code) noexcept {
  in_progress_ = false;
  complete(code);
}

void GeneralizedRequest::describe(std::ostream& out) const {
  if (!in_progress_) return;
  out << "vicinal: " << mpi::name_of_rank() << ": a request of the program waits for ";
  request_->name_awaited(out);
  out << '\n';
}

MPI_Comm GeneralizedRequest::error_communicator() const {
  const MPI_Comm user = errors_.handling->communicator.load(std::memory_order_relaxed);
  return user != MPI_COMM_NULL ? user : request_->error_communicator();
}

namespace {

template <class OfKind, class... Arguments>
std::shared_ptr<OfKind> remembered_request(Arguments&... arguments) {
  auto its = std::make_shared<OfKind>(arguments...);
  remember(its->handle(), its);
  return its;
}

}  // namespace

MPI_Request request_for_call(Errors errors, std::unique_ptr<Request> request) {
  const auto its = remembered_request<CallAsRequest>();
  its->stand_for(std::move(request), std::move(errors), true);
  activate(its);
  return its->handle();
}

MPI_Request request_for_executions(Errors errors, std::unique_ptr<Request> request) {
  const auto its = remembered_request<ExecutionsAsRequest>(request->communicator());
  its->stand_for(std::move(request), std::move(errors), false);
  return its->handle();
}

std::shared_ptr<GeneralizedRequest> generalized_request_behind(MPI_Request request) {
  if (generalized_requests().count.load(std::memory_order_relaxed) == 0) return nullptr;
  const Lock lock(generalized_requests().mutex);
  const auto found = generalized_requests().all.find(request);
  return found != generalized_requests().all.end() ? found->second : nullptr;
}

void forget_generalized_request(MPI_Request request) { take_out(request, nullptr); }

}  // namespace vicinal::interpose

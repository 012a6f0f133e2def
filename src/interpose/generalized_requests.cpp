// Tokens by the requests that the program has.
#include "interpose/tokens.hpp"

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
struct Tokens {
  Mutex mutex;
  std::unordered_map<MPI_Request, std::shared_ptr<Token>> all VICINAL_GUARDED_BY(mutex);
  std::atomic<std::size_t> count = 0;
};

Tokens& tokens() noexcept {
  // Waiting asks for it, which cannot say that there is no memory.
  static NoDestructor<Tokens> it;
  return *it;
}

void remember(MPI_Request request, const std::shared_ptr<Token>& token) {
  const Lock lock(tokens().mutex);
  tokens().all[request] = token;
  tokens().count = tokens().all.size();
}

/// Takes out what stands behind the request; with `token`, only if it is that one.
void take_out(MPI_Request request, const Token* token) {
  if (tokens().count.load(std::memory_order_relaxed) == 0) return;
  std::shared_ptr<Token> last;  // destroyed after the lock
  const Lock lock(tokens().mutex);
  const auto found = tokens().all.find(request);
  if (found == tokens().all.end() || (token != nullptr && found->second.get() != token)) return;
  last = std::move(found->second);
  tokens().all.erase(found);
  tokens().count = tokens().all.size();
}

class CallToken final : public Token {
 public:
  [[nodiscard]] MPI_Request handle() const { return token_.handle(); }
  [[nodiscard]] bool is_persistent() const override { return false; }

 private:
  /// Who waits finds it here until MPI's request is complete, and waits for the claim: MPICH 4.0 has generalized requests
  /// that are not complete yet end a program in MPI_Waitall. By then the program may have seen it, and the handle be another's.
  void complete(int code) noexcept override {
    const MPI_Request request = token_.handle();
    token_.complete(code);
    take_out(request, this);
  }
  mpi::SingleToken token_;
};

class ExecutionToken final : public Token {
 public:
  explicit ExecutionToken(mpi::Communicator& communicator) : token_(communicator) {}
  [[nodiscard]] MPI_Request handle() const { return token_.handle(); }
  [[nodiscard]] bool is_persistent() const override { return true; }

 private:
  void complete(int code) noexcept override { token_.complete(code != MPI_SUCCESS); }
  mpi::PersistentToken token_;
};

}  // namespace

bool Token::advance() noexcept {
  if (!under_way_) return true;
  bool over = false;
  const int code = guarded_as(errors_.ours, error_communicator(), [&] { over = request_->look(); });
  if (code == MPI_SUCCESS && !over) return false;
  end(code);
  return true;
}

void Token::finish() noexcept {
  const Claim claim(*this);
  if (!under_way_) return;
  end(guarded_as(errors_.ours, error_communicator(), [&] { request_->wait(); }));
}

int Token::start() noexcept {
  const Claim claim(*this);
  under_way_ = true;
  const int code = guarded_as(errors_.ours, error_communicator(), [&] {
    request_->start();
    activate(shared_from_this());
  });
  if (code != MPI_SUCCESS) end(code);
  return code;
}

void Token::end(int code) noexcept {
  under_way_ = false;
  complete(code);
}

void Token::describe(std::ostream& out) const {
  if (!under_way_) return;
  out << "vicinal: " << mpi::name_of_rank() << ": a request of the program waits for ";
  request_->name_awaited(out);
  out << '\n';
}

MPI_Comm Token::error_communicator() const {
  const MPI_Comm user = errors_.handling->communicator.load(std::memory_order_relaxed);
  return user != MPI_COMM_NULL ? user : request_->error_communicator();
}

namespace {

/// The others have theirs, and count on this rank.
template <class OfKind, class... Arguments>
std::shared_ptr<OfKind> remembered_token(Arguments&... arguments) {
  std::shared_ptr<OfKind> token;
  mpi::with_memory([&] {
    if (!token) token = std::make_shared<OfKind>(arguments...);
    remember(token->handle(), token);
  });
  return token;
}

}  // namespace

MPI_Request token_for_call(Errors errors, std::unique_ptr<Request> request) {
  const auto token = remembered_token<CallToken>();
  token->stand_for(std::move(request), std::move(errors), true);
  activate(token);
  return token->handle();
}

MPI_Request token_for_executions(Errors errors, std::unique_ptr<Request> request) {
  const auto token = remembered_token<ExecutionToken>(request->communicator());
  token->stand_for(std::move(request), std::move(errors), false);
  return token->handle();
}

std::shared_ptr<Token> token_behind(MPI_Request request) {
  if (tokens().count.load(std::memory_order_relaxed) == 0) return nullptr;
  const Lock lock(tokens().mutex);
  const auto found = tokens().all.find(request);
  return found != tokens().all.end() ? found->second : nullptr;
}

void forget_token(MPI_Request request) { take_out(request, nullptr); }

}  // namespace vicinal::interpose

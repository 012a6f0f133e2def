// Deadlock freedom. Sends complete only together with their receives, the strictest behavior that
// MPI allows. A program that ends here also ends if messages are buffered. Three executions run:
// the second is the first that awaits acknowledgements, and the third shows that the second left
// the flags unchanged.
#include <utility>

#include "plan/progress.hpp"
#include "plan/verify.hpp"

namespace vicinal::detail {

namespace {

constexpr int executions = 3;

/// Runs every operation as soon as it may begin.
class Run {
 public:
  explicit Run(const Program& program) : program_(program), progress_(program, executions) {
    order_.reserve(program.operations());
  }

  std::vector<int> to_the_end() {
    while (!progress_.ready.empty()) {
      const int id = progress_.ready.back();
      progress_.ready.pop_back();
      begin(id);
    }
    progress_.require_end();
    return std::move(order_);
  }

 private:
  void begin(int id) {
    switch (program_.operation(id).kind) {
      case OperationKind::copy:
      case OperationKind::reduce:
      // An outside event depends on no operation of the plans.
      case OperationKind::trigger:
      case OperationKind::notify: complete(id); break;
      case OperationKind::send: meet(id, id, program_.counterpart[id]); break;
      case OperationKind::receive: meet(id, program_.counterpart[id], id); break;
      case OperationKind::signal:
        progress_.raise(id);
        complete(id);
        progress_.for_each_over(id, [this](int await) { complete(await); });
        break;
      case OperationKind::await:
        if (progress_.await(id)) complete(id);
        break;
    }
  }

  void meet(int id, int send, int receive) {
    if (!progress_.meet(id)) return;
    complete(send);
    complete(receive);
  }

  void complete(int id) {
    if (progress_.execution(program_.rank_of[id]) == 1) order_.push_back(id);
    progress_.complete(id);
  }

  const Program& program_;
  Progress progress_;
  std::vector<int> order_;
};

}  // namespace

std::vector<int> run_to_the_end(const Program& program) { return Run(program).to_the_end(); }

}  // namespace vicinal::detail

// Writes all plans as a program for LogGOPSim (Hoefler et al. 2010), which knows sends, receives
// and computations. A signal becomes an empty message to each rank that awaits it in the same
// execution. An await of the previous execution costs nothing, since the program has only one
// execution. Tags are renumbered for each pair of ranks, because the simulator keeps only 32 bits
// of them. No line begins with blanks, which its scanner rejects.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "plan/checks.hpp"
#include "plan/program.hpp"

namespace vicinal {

namespace {

struct Message {
  int sender;
  int receiver;
  int from_operation;
  int to_operation;
  int tag = 0;
};

class Goal {
 public:
  Goal(std::ostream& out, const Program& program, Index element_bytes, double bytes_per_nanosecond,
       GoalSignals signals)
      : out_(out),
        program_(program),
        element_bytes_(element_bytes),
        rate_(bytes_per_nanosecond),
        signals_(signals) {
    list_messages();
  }

  void write() {
    out_ << "num_ranks " << program_.ranks() << "\n\n";
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      label_ = 0;
      labels_.clear();
      out_ << "rank " << rank << " {\n";
      for (int id = program_.first_operation[rank]; id < program_.first_operation[rank + 1]; ++id) {
        write_operation(id);
      }
      out_ << "}\n\n";
    }
  }

 private:
  void list_messages() {
    sends_.resize(program_.operations());
    receive_.assign(program_.operations(), -1);
    for (int id = 0; id < program_.operations(); ++id) {
      const Operation& it = program_.operation(id);
      const bool awaits = it.kind == OperationKind::await && it.lag == 0;
      if (!awaits && it.kind != OperationKind::receive) continue;
      const int other = program_.counterpart[id];
      if (program_.rank_of[other] == program_.rank_of[id]) continue;
      if (signals_ == GoalSignals::left_out && it.count == 0) continue;
      messages_.push_back({program_.rank_of[other], program_.rank_of[id], other, id});
    }
    std::sort(messages_.begin(), messages_.end(), [](const Message& a, const Message& b) {
      return std::tie(a.sender, a.receiver, a.from_operation, a.to_operation) <
             std::tie(b.sender, b.receiver, b.from_operation, b.to_operation);
    });
    for (int i = 0; i < static_cast<int>(messages_.size()); ++i) {
      Message& it = messages_[i];
      const bool same_pair =
          i > 0 && messages_[i - 1].sender == it.sender && messages_[i - 1].receiver == it.receiver;
      it.tag = same_pair ? messages_[i - 1].tag + 1 : 0;
      sends_[it.from_operation].push_back(i);
      receive_[it.to_operation] = i;
    }
  }

  void write_operation(int id) {
    const Operation& it = program_.operation(id);
    const int first = label_ + 1;
    const Index bytes = it.count * element_bytes_;
    for (const int which : sends_[id]) {
      const Message& message = messages_[which];
      next_label() << "send " << bytes << "b to " << message.receiver << " tag " << message.tag
                   << '\n';
    }
    if (receive_[id] >= 0) {
      const Message& message = messages_[receive_[id]];
      next_label() << "recv " << bytes << "b from " << message.sender << " tag " << message.tag
                   << '\n';
    } else if (sends_[id].empty()) {
      const auto moved = static_cast<double>(total(it.runs) * element_bytes_);
      next_label() << "calc " << static_cast<Index>(std::llround(moved / rate_)) << '\n';
    }
    for (int label = first; label <= label_; ++label) {
      for (const int before : it.after) {
        for (int earlier = labels_[before].first; earlier <= labels_[before].second; ++earlier) {
          out_ << "l" << label << " requires l" << earlier << '\n';
        }
      }
    }
    labels_.emplace_back(first, label_);
  }

  std::ostream& next_label() { return out_ << "l" << ++label_ << ": "; }

  std::ostream& out_;
  const Program& program_;
  Index element_bytes_;
  double rate_;
  GoalSignals signals_;
  std::vector<Message> messages_;
  std::vector<std::vector<int>> sends_;  ///< by operation: the messages that it sends
  std::vector<int> receive_;             ///< by operation: the message that it receives, or -1
  int label_ = 0;
  std::vector<std::pair<int, int>> labels_;  ///< by operation of the rank: first and last label
};

}  // namespace

void write_goal(std::ostream& out, std::span<const Plan> plans, Index element_bytes,
                double bytes_per_nanosecond, GoalSignals signals) {
  require(element_bytes >= 0 && bytes_per_nanosecond > 0, Fault::argument, "an element size of ",
          element_bytes, " bytes and a copy rate of ", bytes_per_nanosecond,
          " bytes per nanosecond were given; the size must not be negative, the rate be positive");
  Goal(out, Program(plans), element_bytes, bytes_per_nanosecond, signals).write();
}

}  // namespace vicinal

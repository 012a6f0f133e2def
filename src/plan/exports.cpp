// Plans as others read them. The statistics count the data that an execution moves, from the plan
// alone. The text is for human readers: one self-contained line per buffer and operation.
//
// The JSON is for programs (docs/versioning.md describes changes of the format). It contains all
// fields, under the names of plan.hpp. Fields without meaning for a kind of buffer or operation are
// omitted. Runs are triples (source, target, count).
//
// GOAL describes all plans as a program for LogGOPSim (Hoefler et al. 2010), which knows sends,
// receives and computations. A signal becomes an empty message to each rank that awaits it in the
// same execution. An await of the previous execution costs nothing, since the program has only one
// execution. Tags are renumbered for each pair of ranks, because the simulator keeps only 32 bits
// of them. No line begins with blanks, which its scanner rejects.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "plan/checks.hpp"
#include "plan/program.hpp"

namespace vicinal {

namespace {

void add(Traffic& traffic, Index elements) {
  ++traffic.messages;
  traffic.elements += elements;
}

}  // namespace

Statistics statistics(const Plan& plan) {
  Statistics result;
  // The peers of a slot count its data, at the copy between the slot and their memory.
  const auto far = [&](int buffer) {
    const Buffer& it = plan.buffers[static_cast<std::size_t>(buffer)];
    return it.space == Space::shared && it.peer_index >= 0;
  };
  for (const Operation& it : plan.operations) {
    if (it.kind == OperationKind::send) {
      add(it.local ? result.local : result.non_local, it.count);
      add(result.sent_in_phase[name(it.phase)], it.count);
    } else if (it.kind == OperationKind::copy || it.kind == OperationKind::reduce) {
      const bool crosses = far(it.from) || far(it.to);
      (crosses ? result.shared_elements : result.copied_elements) += total(it.runs);
    }
  }
  return result;
}

namespace {

constexpr std::size_t runs_shown = 4;

void write_flag(std::ostream& out, int flag) {
  if (flag < 0) {
    out << "the owner's flag";
  } else {
    out << "the flag of peer " << flag;
  }
}

void write_buffer(std::ostream& out, const Plan& plan, std::size_t index) {
  const Buffer& it = plan.buffers[index];
  out << "  buffer " << index << ": " << name(it.space) << ", " << it.extent << " elements";
  if (it.space == Space::shared) {
    out << ", slot " << it.slot << " of rank " << it.owner;
    if (it.peer_index < 0) {
      out << " (this rank), " << it.peers << " peers";
    } else {
      out << ", as peer " << it.peer_index;
    }
  }
  out << '\n';
}

void write_runs(std::ostream& out, const Operation& it) {
  out << total(it.runs) << " elements from buffer " << it.from << " to buffer " << it.to << ':';
  for (std::size_t i = 0; i < it.runs.size() && i < runs_shown; ++i) {
    const CopyRun& run = it.runs[i];
    out << (i > 0 ? ", " : " ") << run.source << "->" << run.target << " x" << run.count;
  }
  if (it.runs.size() > runs_shown) out << ", and " << it.runs.size() - runs_shown << " more runs";
}

void write_operation(std::ostream& out, const Plan& plan, std::size_t index) {
  const Operation& it = plan.operations[index];
  out << "  " << index << ": " << name(it.kind) << " [" << name(it.phase) << "] ";
  switch (it.kind) {
    case OperationKind::copy:
    case OperationKind::reduce: write_runs(out, it); break;
    case OperationKind::send:
      out << it.count << " elements at " << it.offset << " of buffer " << it.from << " to "
          << (it.local ? "local" : "non-local") << " rank " << it.peer << ", tag " << it.tag;
      break;
    case OperationKind::receive:
      out << it.count << " elements at " << it.offset << " of buffer " << it.to << " from "
          << (it.local ? "local" : "non-local") << " rank " << it.peer << ", tag " << it.tag;
      break;
    case OperationKind::signal:
      write_flag(out, it.flag);
      out << " of buffer " << it.from;
      break;
    case OperationKind::await:
      write_flag(out, it.flag);
      out << " of buffer " << it.from;
      if (it.lag > 0) out << ", " << it.lag << " execution" << (it.lag > 1 ? "s" : "") << " back";
      break;
    case OperationKind::trigger:
      out << "event " << it.event << ", a partition for rank " << it.peer;
      break;
    case OperationKind::notify:
      out << "event " << it.event << ", a partition from rank " << it.peer;
      break;
  }
  for (std::size_t i = 0; i < it.after.size(); ++i) {
    out << (i > 0 ? ", " : "; after ") << it.after[i];
  }
  out << '\n';
}

}  // namespace

void write_text(std::ostream& out, const Plan& plan) {
  out << "rank " << plan.rank << " of " << plan.size << ", " << plan.planner
      << (plan.reverse ? ", reverse" : "") << '\n';
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) write_buffer(out, plan, i);
  for (std::size_t i = 0; i < plan.operations.size(); ++i) write_operation(out, plan, i);
}

namespace {

void write_buffer(JsonWriter& json, const Buffer& it) {
  json.begin_object().key("space").value(name(it.space)).key("extent").value(it.extent);
  if (it.space == Space::shared) {
    json.key("slot").value(it.slot).key("owner").value(it.owner);
    json.key("peer_index").value(it.peer_index).key("peers").value(it.peers);
  }
  json.end_object();
}

void write_fields(JsonWriter& json, const Operation& it) {
  switch (it.kind) {
    case OperationKind::copy:
    case OperationKind::reduce:
      json.key("from").value(it.from).key("to").value(it.to).key("runs").begin_array();
      for (const CopyRun& run : it.runs) {
        json.begin_array().value(run.source).value(run.target).value(run.count).end_array();
      }
      json.end_array();
      break;
    case OperationKind::send:
    case OperationKind::receive: {
      const bool sends = it.kind == OperationKind::send;
      json.key("local").value(it.local);
      json.key(sends ? "from" : "to").value(sends ? it.from : it.to);
      json.key("offset").value(it.offset).key("count").value(it.count);
      json.key("peer").value(it.peer).key("tag").value(it.tag);
      break;
    }
    case OperationKind::signal:
    case OperationKind::await:
      json.key("from").value(it.from).key("flag").value(it.flag);
      if (it.kind == OperationKind::await) json.key("lag").value(it.lag);
      break;
    case OperationKind::trigger:
    case OperationKind::notify: json.key("event").value(it.event).key("peer").value(it.peer); break;
  }
}

void write_operation(JsonWriter& json, const Operation& it) {
  json.begin_object().key("kind").value(name(it.kind)).key("phase").value(name(it.phase));
  write_fields(json, it);
  json.key("after").begin_array();
  for (const int before : it.after) json.value(before);
  json.end_array().end_object();
}

}  // namespace

void write_json(std::ostream& out, const Plan& plan) {
  JsonWriter json(out);
  json.begin_object().key("format").value(1).key("rank").value(plan.rank).key("size").value(
      plan.size);
  json.key("planner").value(plan.planner).key("reverse").value(plan.reverse);
  json.key("buffers").begin_array();
  for (const Buffer& it : plan.buffers) write_buffer(json, it);
  json.end_array().key("operations").begin_array();
  for (const Operation& it : plan.operations) write_operation(json, it);
  json.end_array().end_object();
}

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

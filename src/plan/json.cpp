// Writes a plan as JSON, for programs (docs/versioning.md describes changes of the format). It
// contains all fields, under the names of plan.hpp. Fields without meaning for a kind of buffer or
// operation are omitted. Runs are triples (source, target, count).
#include "base/json.hpp"

#include "plan/checks.hpp"

namespace vicinal {

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

}  // namespace vicinal

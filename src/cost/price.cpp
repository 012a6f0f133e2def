// The event loop. Each operation has moments at which a part of it is over. Each moment records the
// moment that it waited for last, so the chain behind the last one shows where the time went.
#include "cost/price.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "cost/cores.hpp"
#include "cost/links.hpp"
#include "cost/steps.hpp"
#include "plan/placement.hpp"
#include "plan/progress.hpp"

namespace vicinal {

namespace {

using namespace detail;

std::vector<int> receives_of(std::span<const Plan> plans) {
  std::vector<int> result;
  for (const Plan& plan : plans) {
    result.push_back(static_cast<int>(
        std::count_if(plan.operations.begin(), plan.operations.end(),
                      [](const Operation& it) { return it.kind == OperationKind::receive; })));
  }
  return result;
}

class TimedRun {
 public:
  TimedRun(const Program& program, const Machine& machine, const Profile& profile,
           Index element_bytes, OnDevice on_device, DeviceTransport transport)
      : program_(program),
        profile_(profile),
        progress_(program, 1),
        steps_(program, machine, profile, element_bytes, on_device, transport),
        processors_(machine, profile),
        devices_(machine, profile),
        links_(program, machine, profile, steps_, agenda_),
        posted_(profile.search > 0 ? receives_of(program.plans) : std::vector<int>()) {
    if (profile.gap) serial_.emplace(program.ranks(), *profile.gap, steps_, agenda_);
    price_.busy.assign(program.plans.size(), 0.0);
    price_.finished.assign(program.plans.size(), 0.0);
  }

  Price run() {
    begin_ready();
    occupy_processors();
    while (!agenda_.empty()) {
      do {
        happen(agenda_.next());
        begin_ready();
      } while (agenda_.more_now());
      // Not earlier: of tasks that become ready at one time, a processor begins with the first
      // operation.
      occupy_processors();
    }
    progress_.require_end();
    follow_chain();
    const auto most = std::max_element(price_.busy.begin(), price_.busy.end());
    price_.busiest = static_cast<int>(most - price_.busy.begin());
    return std::move(price_);
  }

  [[nodiscard]] const Steps& steps() const { return steps_; }
  /// The moment at which everything is over, or -1.
  [[nodiscard]] int last() const { return last_; }

 private:
  static int done(int id) { return Steps::done(id); }
  static int gone(int id) { return Steps::gone(id); }
  [[nodiscard]] int rank_of(int id) const { return steps_[id].rank; }

  void happen(const Event& event) {
    switch (event.what) {
      case Happening::processed: end_task(event.which); break;
      case Happening::agreed: links_.join(event.which); break;
      case Happening::passed: links_.look_at_port(event.which); break;
      case Happening::left: leave(event.which); break;
      case Happening::reached: serial_->take_in(event.which); break;
      case Happening::arrived:
        if (progress_.meet(event.which)) take_in(event.which);
        break;
      case Happening::seen: show(event.which); break;
      case Happening::served: complete(event.which, gone(event.which)); break;
    }
  }

  void begin_ready() {
    // In the order in which they became ready, which is the order of posted receives. Beginning one
    // may make others ready.
    for (std::size_t i = 0; i < progress_.ready.size(); ++i) begin(progress_.ready[i]);
    progress_.ready.clear();
  }

  void begin(int id) {
    switch (steps_[id].kind) {
      case OperationKind::trigger:
      case OperationKind::notify: complete(id, done(id)); break;
      case OperationKind::await:
        if (!progress_.await(id)) break;
        if (program_.operation(id).lag > 0) {
          complete(id, done(id));  // an acknowledgement that came long ago
        } else {
          notice(id);
        }
        break;
      case OperationKind::receive: post(id); break;
      default: enqueue(id); break;
    }
  }

  void complete(int id, int moment) {
    const std::size_t before = progress_.ready.size();
    progress_.complete(id);
    for (std::size_t i = before; i < progress_.ready.size(); ++i) {
      steps_.cause(done(progress_.ready[i])) = moment;
    }
    steps_.time(moment) = agenda_.now();
    price_.finished[rank_of(id)] = agenda_.now();
    last_ = moment;
  }

  // ---- processors -------------------------------------------------------------------------------

  void enqueue(int id) {
    processors_.add(rank_of(id), {agenda_.now(), id});
    touched_.push_back(processors_.number(rank_of(id)));
  }

  void occupy_processors() {
    for (const int number : touched_) {
      Processor& it = processors_[number];
      if (!it.has_work()) continue;
      const auto [task, has_changed] = it.take();
      const int id = it.running = task.operation;
      if (task.ready < agenda_.now()) steps_.cause(done(id)) = done(it.previous);
      // A rank that has waited has left its core to other ranks, or idle.
      const double idle_since = it.previous < 0 ? 0 : steps_.time(done(it.previous));
      const double switching = has_changed || idle_since < agenda_.now() ? switch_seconds(id) : 0;
      const double seconds = (switching + begin_work(id)) / processors_.speed(number);
      steps_[id].begun = agenda_.now();
      price_.busy[rank_of(id)] += seconds;
      steps_.time(done(id)) = agenda_.now() + seconds;
      agenda_.foresee(agenda_.now() + seconds, Happening::processed, number);
    }
    touched_.clear();
  }

  [[nodiscard]] double switch_seconds(int id) const {
    if (!processors_.scarce(rank_of(id))) return 0;
    return profile_.turn + (steps_[id].kind == OperationKind::receive ? profile_.poll : 0);
  }

  /// Returns the time of the work on a processor of full speed.
  double begin_work(int id) {
    const Step& step = steps_[id];
    switch (step.kind) {
      case OperationKind::send: return steps_.cost(id).sending(step.bytes);
      case OperationKind::receive: return steps_.cost(id).receiving(step.bytes) + search(id);
      case OperationKind::copy:
      case OperationKind::reduce:
        if (step.device == DeviceTask::lent) return 0;
        if (is_gpus(step.device)) return devices_.processor_seconds(step.device);
        return static_cast<double>(step.bytes) * profile_.copy_seconds_per_byte;
      case OperationKind::await: return profile_.handover;
      default: return 0;
    }
  }

  void end_task(int number) {
    Processor& processor = processors_[number];
    const int id = processor.previous = processor.running;
    processor.running = -1;
    touched_.push_back(number);
    if (steps_[id].kind == OperationKind::send) {
      inject(id);
      return;
    }
    if (is_gpus(steps_[id].device)) {
      give_device(id);
      return;
    }
    if (steps_[id].kind == OperationKind::signal) {
      const double in_transit = processors_.scarce(rank_of(id)) ? 0 : profile_.handover;
      agenda_.foresee(agenda_.now() + in_transit, Happening::seen, id);
    }
    complete(id, done(id));
  }

  void give_device(int id) {
    const Step& step = steps_[id];
    const Devices::Completion completion =
        devices_.take(step.rank, id, step.device, step.bytes, agenda_.now());
    steps_.cause(gone(id)) = completion.behind >= 0 ? gone(completion.behind) : done(id);
    agenda_.foresee(completion.done, Happening::served, id);
  }

  // ---- messages ---------------------------------------------------------------------------------

  void inject(int send) {
    steps_.cause(gone(send)) = done(send);
    if (serial_) {
      const int before = serial_->join(send);
      if (before >= 0) steps_.cause(gone(send)) = gone(before);
    } else if (!steps_.protocol(send).rendezvous) {
      links_.join(send);
    } else if (progress_.meet(send)) {
      agree(send);
    }
  }

  void post(int receive) {
    if (profile_.search > 0) steps_[receive].place = posted_.post(rank_of(receive));
    if (!progress_.meet(receive)) return;
    const int send = steps_[receive].counterpart;
    if (steps_.protocol(send).rendezvous) {
      steps_.cause(gone(send)) = steps_.cause(done(receive));
      agree(send);
    } else {
      enqueue(receive);
    }
  }

  void agree(int send) {
    const double latency = steps_.protocol(send).latency;
    agenda_.foresee(agenda_.now() + latency, Happening::agreed, send);
  }

  void leave(int send) {
    if (serial_) {
      complete(send, gone(send));
      return;
    }
    const int after = links_.leave(send);
    if (after >= 0) steps_.cause(gone(after)) = gone(send);
    complete(send, gone(send));
    const Protocol& protocol = steps_.protocol(send);
    if (protocol.rendezvous) {
      take_in(send);
    } else {
      agenda_.foresee(agenda_.now() + protocol.latency, Happening::arrived, send);
    }
  }

  /// Takes in a message whose receive was posted before it came.
  void take_in(int send) {
    const int receive = steps_[send].counterpart;
    steps_.cause(done(receive)) = gone(send);
    enqueue(receive);
  }

  /// Removes the receive from the posted ones; returns the time of the search.
  double search(int receive) {
    if (profile_.search == 0) return 0;
    return posted_.take(rank_of(receive), steps_[receive].place) * profile_.search;
  }

  // ---- flags ------------------------------------------------------------------------------------

  void show(int signal) {
    progress_.raise(signal);
    progress_.for_each_over(signal, [&](int await) {
      steps_.cause(done(await)) = done(signal);
      notice(await);
    });
  }

  /// Handles an await whose flag is set.
  void notice(int await) {
    if (processors_.scarce(rank_of(await))) {
      enqueue(await);
    } else {
      complete(await, done(await));
    }
  }

  void follow_chain() {
    if (last_ < 0) return;
    price_.seconds = steps_.time(last_);
    for (int at = last_; at >= 0; at = steps_.cause(at)) {
      const int before = steps_.cause(at);
      const double since = before < 0 ? 0 : steps_.time(before);
      const Phase phase = program_.operation(Steps::operation(at)).phase;
      price_.phases[static_cast<std::size_t>(phase)] += steps_.time(at) - since;
    }
  }

  const Program& program_;
  const Profile& profile_;
  Progress progress_;
  Agenda agenda_;
  Steps steps_;
  Processors processors_;
  Devices devices_;
  Links links_;
  std::optional<SerialPorts> serial_;  ///< instead of the links, by LogGP
  PostedReceives posted_;
  std::vector<int> touched_;  ///< processors that may be idle
  int last_ = -1;             ///< the last moment
  Price price_;
};

void check(std::span<const Plan> plans, const Machine& machine, Index element_bytes) {
  require(plans.size() == static_cast<std::size_t>(machine.size()), Fault::argument, "there are ",
          plans.size(), " plans, but the machine has ", machine.size(), " ranks");
  require(element_bytes >= 1, Fault::argument, "elements of ", element_bytes,
          " bytes were given; they must have at least one");
}

}  // namespace

Price price(std::span<const Plan> plans, const Machine& machine, const Profile& profile,
            Index element_bytes, OnDevice on_device, DeviceTransport transport) {
  check(plans, machine, element_bytes);
  std::vector<Plan> staged;
  if (on_device.any()) {
    require(profile.device.has_value(), Fault::argument, "the profile ", profile.name,
            " says nothing of GPUs, in whose memory the buffers are to lie; `vicinal calibrate` on "
            "a machine that has some makes one that does");
    require(!transport.shared || profile.device->peer, Fault::argument, "the profile ",
            profile.name,
            " says nothing of ranks that reach into each other's GPU's memory; `vicinal calibrate` "
            "with two ranks on a host makes one that does");
    require(!transport.direct || profile.device->levels, Fault::argument, "the profile ",
            profile.name,
            " says nothing of messages between GPUs' memory; `vicinal calibrate` with an MPI that "
            "takes its addresses makes one that does");
    if (!transport.direct) {
      for (const Plan& plan : plans) staged.push_back(with_staged(plan, Staged::messages));
      plans = staged;
    }
  }
  const Program program(plans);
  return TimedRun(program, machine, profile, element_bytes, on_device, transport).run();
}

Simulation simulate(std::span<const Plan> plans, const Machine& machine, const Profile& profile,
                    Index element_bytes) {
  check(plans, machine, element_bytes);
  const Program program(plans);
  TimedRun run(program, machine, profile, element_bytes, {}, staged_transport);
  Price price = run.run();
  return {std::move(price), timeline_of(program, run.steps(), run.last())};
}

}  // namespace vicinal

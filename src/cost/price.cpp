// The event loop. Each operation has moments at which something of it is over; each moment knows the one that it
// waited for last, so that the chain behind the last one tells where the time went.
#include "cost/price.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>

#include "base/error.hpp"
#include "base/product.hpp"
#include "cost/port.hpp"
#include "cost/posted_receives.hpp"
#include "cost/processors.hpp"
#include "plan/progress.hpp"

namespace vicinal {

namespace {

using detail::Port;
using detail::PostedReceives;
using detail::Processor;
using detail::Processors;
using detail::Progress;

enum class Happening : std::uint8_t {
  processed,  ///< a processor has done what it was at
  agreed,     ///< rendezvous: the sender knows that the receive is posted
  passed,     ///< a port may have a message through
  left,       ///< the message that a rank is sending has left
  arrived,    ///< a message has come to its receiver
  seen,       ///< a signal shows
};

struct Event {
  double time;
  std::uint64_t number;  ///< of those at one time the first that was foreseen is first
  Happening what;
  int which;
  friend bool operator>(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }
};

/// What leaves a rank, one message after another.
struct Link {
  std::vector<int> waiting;  ///< sends
  std::size_t next = 0;      ///< in `waiting`
  int sending = -1;
  int ports = 0;        ///< that do not have it through
  double let_past = 0;  ///< when the link itself does
};

struct Message {
  Level level;
  const LevelCost& cost;
  const Protocol& protocol;
  std::int64_t bytes;
};

std::vector<int> receives_of(std::span<const Plan> plans) {
  std::vector<int> result;
  for (const Plan& plan : plans) {
    result.push_back(static_cast<int>(
        std::count_if(plan.operations.begin(), plan.operations.end(),
                      [](const Operation& it) { return it.kind == OperationKind::receive; })));
  }
  return result;
}

class Execution {
 public:
  Execution(const Program& program, const Machine& machine, const Profile& profile,
            Index element_bytes)
      : program_(program),
        machine_(machine),
        profile_(profile),
        element_bytes_(element_bytes),
        progress_(program, 1),
        processors_(machine, profile.cores),
        links_(program.plans.size()),
        ports_(2 * static_cast<std::size_t>(machine.hosts())),
        time_(2 * static_cast<std::size_t>(program.operations()), 0.0),
        cause_(2 * static_cast<std::size_t>(program.operations()), -1) {
    price_.busy.assign(program.plans.size(), 0.0);
    price_.finished.assign(program.plans.size(), 0.0);
    if (profile_.search == 0) return;
    posted_ = PostedReceives(receives_of(program.plans));
    place_.resize(static_cast<std::size_t>(program.operations()));
  }

  Price run() {
    begin_ready();
    occupy_processors();
    while (!events_.empty()) {
      // Of what becomes ready at one time, a processor begins with the first operation.
      for (now_ = events_.top().time; !events_.empty() && events_.top().time == now_;) {
        const Event event = events_.top();
        events_.pop();
        happen(event);
        begin_ready();
      }
      occupy_processors();
    }
    progress_.require_end();
    follow_chain();
    const auto most = std::max_element(price_.busy.begin(), price_.busy.end());
    price_.busiest = static_cast<int>(most - price_.busy.begin());
    return std::move(price_);
  }

 private:
  // The moments of an operation: its processor's part is over, and with that all but a send; a send's
  // bytes have left.
  static int done(int id) { return 2 * id; }
  static int gone(int send) { return done(send) + 1; }
  [[nodiscard]] int rank_of(int id) const { return program_.rank_of[id]; }
  [[nodiscard]] OperationKind kind(int id) const { return program_.operation(id).kind; }

  [[nodiscard]] Message message(int id) const {
    const Operation& it = program_.operation(id);
    const Level level = machine_.level(rank_of(id), it.peer);
    const LevelCost& cost = profile_.at(level);
    const std::int64_t bytes = product(it.count, element_bytes_);
    return {level, cost, cost.protocol(bytes), bytes};
  }

  void foresee(double time, Happening what, int which) {
    events_.push({time, foreseen_++, what, which});
  }

  void happen(const Event& event) {
    switch (event.what) {
      case Happening::processed: end_task(processors_[event.which], event.which); break;
      case Happening::agreed: join_link(event.which); break;
      case Happening::passed: look_at_port(event.which); break;
      case Happening::left: leave(event.which); break;
      case Happening::arrived: arrive(event.which); break;
      case Happening::seen: show(event.which); break;
    }
  }

  void begin_ready() {
    // In the order in which they became ready, in which receives are posted; beginning one may make others ready.
    for (std::size_t i = 0; i < progress_.ready.size(); ++i) begin(progress_.ready[i]);
    progress_.ready.clear();
  }

  void begin(int id) {
    switch (kind(id)) {
      case OperationKind::trigger:
      case OperationKind::notify: complete(id, done(id)); break;
      case OperationKind::await:
        if (!progress_.await(id)) break;
        if (program_.operation(id).lag > 0) {
          complete(id, done(id));  // an acknowledgement that came long ago
        } else {
          take_over(id);
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
      cause_[done(progress_.ready[i])] = moment;
    }
    time_[moment] = now_;
    price_.finished[rank_of(id)] = now_;
    last_ = moment;
  }

  // ---- processors -------------------------------------------------------------------------------

  void enqueue(int id) {
    const int number = processors_.number(rank_of(id));
    processors_[number].add({now_, id});
    touched_.push_back(number);
  }

  void occupy_processors() {
    for (const int number : touched_) {
      Processor& it = processors_[number];
      if (!it.has_work()) continue;
      const detail::Task task = it.take();
      const int id = it.running = task.operation;
      if (task.ready < now_) cause_[done(id)] = done(it.previous);
      const double seconds = work(id) / it.speed;
      price_.busy[rank_of(id)] += seconds;
      foresee(now_ + seconds, Happening::processed, number);
    }
    touched_.clear();
  }

  /// Of a processor of full speed.
  double work(int id) {
    const Operation& it = program_.operation(id);
    switch (it.kind) {
      case OperationKind::send: return message(id).cost.send_overhead;
      case OperationKind::receive: return message(id).cost.receive_overhead + search(id);
      case OperationKind::copy:
      case OperationKind::reduce:
        return static_cast<double>(product(total(it.runs), element_bytes_)) *
               profile_.copy_seconds_per_byte;
      case OperationKind::await: return profile_.handover;
      default: return 0;
    }
  }

  /// Takes it out of those that are posted.
  double search(int receive) {
    if (profile_.search == 0) return 0;
    const int before = posted_.take(rank_of(receive), place_[receive]);
    return before * profile_.search;
  }

  void end_task(Processor& processor, int number) {
    const int id = processor.previous = processor.running;
    processor.running = -1;
    touched_.push_back(number);
    time_[done(id)] = now_;
    if (kind(id) == OperationKind::send) {
      inject(id);
      return;
    }
    if (kind(id) == OperationKind::signal) {
      const double on_the_way = processors_.scarce(rank_of(id)) ? 0 : profile_.handover;
      foresee(now_ + on_the_way, Happening::seen, id);
    }
    complete(id, done(id));
  }

  // ---- messages ---------------------------------------------------------------------------------

  void inject(int send) {
    cause_[gone(send)] = done(send);
    if (!message(send).protocol.rendezvous) {
      join_link(send);
    } else if (progress_.meet(send)) {
      agree(send);
    }
  }

  void post(int receive) {
    if (profile_.search > 0) {
      place_[receive] = posted_.post(rank_of(receive));
    }
    if (!progress_.meet(receive)) return;
    const int send = program_.counterpart[receive];
    if (message(send).protocol.rendezvous) {
      cause_[gone(send)] = cause_[done(receive)];
      agree(send);
    } else {
      enqueue(receive);
    }
  }

  void agree(int send) { foresee(now_ + message(send).protocol.latency, Happening::agreed, send); }

  void join_link(int send) {
    Link& its = links_[rank_of(send)];
    if (its.sending < 0) {
      move(send);
    } else {
      its.waiting.push_back(send);
    }
  }

  void move(int send) {
    const int rank = rank_of(send);
    const Message it = message(send);
    Link& its = links_[rank];
    const auto bytes = static_cast<double>(it.bytes);
    its.sending = send;
    its.let_past = now_ + bytes * it.protocol.seconds_per_byte;
    if (it.level != Level::network) {
      foresee(its.let_past, Happening::left, rank);
      return;
    }
    its.ports = 2;
    const int out = 2 * machine_.host_of(rank);
    const int in = 2 * machine_.host_of(program_.operation(send).peer) + 1;
    for (const int number : {out, in}) {
      ports_[number].enter(now_, rank, bytes * profile_.port_seconds_per_byte);
      foresee_port(number);
    }
  }

  /// A port's next job may be through later than foreseen, when others have come: then that is looked at again.
  void foresee_port(int number) {
    Port& port = ports_[number];
    const double next = port.next();
    if (next >= port.looked_at) return;
    port.looked_at = std::max(next, now_);
    foresee(port.looked_at, Happening::passed, number);
  }

  void look_at_port(int number) {
    Port& port = ports_[number];
    for (int rank = port.leave(now_); rank >= 0; rank = port.leave(now_)) {
      Link& its = links_[rank];
      if (--its.ports == 0) foresee(std::max(now_, its.let_past), Happening::left, rank);
    }
    if (port.looked_at <= now_) port.looked_at = std::numeric_limits<double>::infinity();
    foresee_port(number);
  }

  void leave(int rank) {
    Link& its = links_[rank];
    const int send = its.sending;
    complete(send, gone(send));
    const Message it = message(send);
    if (it.protocol.rendezvous) {
      take_in(send);
    } else {
      foresee(now_ + it.protocol.latency, Happening::arrived, send);
    }
    if (its.next == its.waiting.size()) {
      its.waiting.clear();
      its.next = 0;
      its.sending = -1;
      return;
    }
    const int after = its.waiting[its.next++];
    cause_[gone(after)] = gone(send);
    move(after);
  }

  void arrive(int send) {
    if (progress_.meet(send)) take_in(send);
  }

  /// The receive was posted before.
  void take_in(int send) {
    const int receive = program_.counterpart[send];
    cause_[done(receive)] = gone(send);
    enqueue(receive);
  }

  // ---- flags ------------------------------------------------------------------------------------

  void show(int signal) {
    progress_.raise(signal);
    progress_.for_each_over(signal, [&](int await) {
      cause_[done(await)] = done(signal);
      take_over(await);
    });
  }

  void take_over(int await) {
    if (processors_.scarce(rank_of(await))) {
      enqueue(await);
    } else {
      complete(await, done(await));
    }
  }

  void follow_chain() {
    if (last_ < 0) return;
    price_.seconds = time_[last_];
    for (int moment = last_; moment >= 0; moment = cause_[moment]) {
      const double since = cause_[moment] < 0 ? 0 : time_[cause_[moment]];
      const Phase phase = program_.operation(moment / 2).phase;
      price_.phases[static_cast<std::size_t>(phase)] += time_[moment] - since;
    }
  }

  const Program& program_;
  const Machine& machine_;
  const Profile& profile_;
  Index element_bytes_;
  Progress progress_;
  Processors processors_;
  std::vector<Link> links_;  ///< by rank
  std::vector<Port> ports_;  ///< by host: out, in
  PostedReceives posted_{std::span<const int>()};
  std::vector<int> place_;  ///< by operation: of receives, in `posted_`
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t foreseen_ = 0;
  double now_ = 0;
  std::vector<int> touched_;  ///< processors that may have nothing to do
  std::vector<double> time_;  ///< by moment
  std::vector<int> cause_;    ///< by moment: the one that it waited for last, or -1
  int last_ = -1;             ///< the last moment
  Price price_;
};

}  // namespace

Price price(std::span<const Plan> plans, const Machine& machine, const Profile& profile,
            Index element_bytes) {
  require(plans.size() == static_cast<std::size_t>(machine.size()), Fault::argument, "there are ",
          plans.size(), " plans, but the machine has ", machine.size(), " ranks");
  require(element_bytes >= 1, Fault::argument, "elements of ", element_bytes,
          " bytes were given; they must have at least one");
  const Program program(plans);
  return Execution(program, machine, profile, element_bytes).run();
}

}  // namespace vicinal

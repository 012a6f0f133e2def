// The stages of a replan, and their results.
#include "collectives/replan.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "base/conversation.hpp"
#include "base/log.hpp"
#include "choose/choose.hpp"

namespace vicinal {

namespace {

/// From the sender of edges to their receiver: the bytes to reserve for each edge.
struct Capacities {
  static constexpr std::string_view name = "capacities";
  std::vector<std::int64_t> bytes;
};
void fields(auto&& take, Is<Capacities> auto& it) { take(it.bytes); }

/// Larger pieces are sent as overflow messages in any case, so they need no memory besides the
/// user's.
constexpr std::int64_t largest_by_plan = std::int64_t{1} << 18;

/// Limits of edges and bytes for ranks that only communicate nearby. Up to them, one message per
/// edge costs less than the beginning and end of a plan (docs/architecture.md, "Calls in loops").
constexpr std::size_t few_edges = 2;
constexpr std::int64_t tiny_piece = 256;

constexpr const char* purpose = "replanning calls with counts";

}  // namespace

void SizeRecord::note(const EdgeData& sent, const std::vector<std::int64_t>* capacities) {
  const std::size_t pieces = sent.pieces.size();
  const bool first = ranges_.empty();
  if (first) ranges_.resize(pieces);
  figures_.needed = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::int64_t bytes = sent.pieces[i].bytes();
    Range& range = ranges_[i];
    const bool largest = !first && bytes > range.most;
    if (capacities != nullptr ? bytes > (*capacities)[i] : largest) ++figures_.too_large;
    range.least = first ? bytes : std::min(range.least, bytes);
    range.most = first ? bytes : std::max(range.most, bytes);
    figures_.needed += range.most;
  }
  figures_.pieces += static_cast<std::int64_t>(pieces);
}

std::vector<std::int64_t> SizeRecord::capacities(std::size_t pieces) const {
  std::vector<std::int64_t> result(pieces, 0);
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[i];
    const std::int64_t wanted =
        range.least == range.most ? range.most : range.most + range.most / 4;
    result[i] = range.most > largest_by_plan ? 0 : wanted;
  }
  return result;
}

std::int64_t SizeRecord::largest() const {
  std::int64_t bytes = 0;
  for (const Range& range : ranges_) bytes = std::max(bytes, range.most);
  return bytes;
}

void SizeRecord::forget() {
  ranges_.clear();
  figures_ = {};
}

Ruling ruling_on(const SizeRecord::Figures& all, CallMethod so_far) {
  if (all.gaining == 0) return Ruling::straight;
  // If one piece in eight overflows, the overflow messages cost about as much as the plan saves.
  const bool often_too_large = all.too_large * 8 > all.pieces;
  switch (so_far) {
    case CallMethod::unknown: return Ruling::plan;
    case CallMethod::measured_straight: return Ruling::straight;
    case CallMethod::straight: return often_too_large ? Ruling::straight : Ruling::plan;
    case CallMethod::planned_anew:
      if (often_too_large) return Ruling::straight;
      break;
    case CallMethod::planned:
      if (often_too_large) return Ruling::plan;
      break;
  }
  return all.needed * 2 < all.room ? Ruling::plan : Ruling::keep;
}

std::shared_ptr<Replan> Replan::begin(Task task) {
  auto replan = std::make_shared<Replan>(std::move(task));
  replan->enter_dump();
  const ActivityLock lock(*replan);
  if (!replan->advance()) activate(replan);
  return replan;
}

Replan::Replan(Task task)
    : task_(std::move(task)),
      communicator_(task_.planning.communicator),
      neighborhood_(task_.planning.neighborhood),
      driver_(*communicator_, task_.key, conversation_) {
  conversation_.set_purpose(purpose);
}

bool Replan::advance() noexcept {
  if (over_) return true;
  try {
    while (!over_) {
      if (!advance_stage()) return false;
    }
  } catch (...) {
    const int origin = current_fault().origin();
    leave_with(std::current_exception(), origin >= 0 ? origin : neighborhood_.rank);
  }
  return true;
}

/// Returns whether a stage has ended, so that the next one has begun or all is over.
bool Replan::advance_stage() {
  switch (stage_) {
    case Stage::waiting:
      if (task_.before && !task_.before->test()) return false;
      if (const auto before = std::exchange(task_.before, nullptr)) {
        plan_ = before->plan();
        method_ = before->method_;
      }
      talk_.emplace(add_up());
      stage_ = Stage::adding_up;
      return true;
    case Stage::adding_up:
      if (!driver_.advance(*talk_)) return false;
      talk_->result();
      decide();
      return true;
    case Stage::planning:
      if (!planning_->test()) return false;
      end_planning();
      return true;
    case Stage::weighing:
      if (!driver_.advance(*talk_)) return false;
      end_weighing();
      return true;
  }
  return false;
}

std::size_t Replan::out_pieces() const {
  return task_.one_block ? 1 : neighborhood_.destinations.size();
}

/// Returns whether a plan cannot help this rank, which exchanges only a few small pieces with one
/// or two ranks of its host.
bool Replan::is_served_by_messages() const {
  if (task_.planning.planner->name != "automatic") return false;  // the user wants this planner
  const int own = neighborhood_.rank;
  for (const std::vector<int>* side : {&neighborhood_.destinations, &neighborhood_.sources}) {
    const auto others = static_cast<std::size_t>(
        std::count_if(side->begin(), side->end(), [&](int rank) { return rank != own; }));
    const bool all_near = std::all_of(side->begin(), side->end(), [&](int rank) {
      return neighborhood_.machine->same_region(own, rank) &&
             neighborhood_.machine->same_host(own, rank);
    });
    if (others > few_edges || !all_near) return false;
  }
  return task_.sizes.largest() <= tiny_piece;
}

/// Adds up the figures of all ranks. If the ruling is to plan, senders then tell receivers the new
/// capacities.
vicinal::Task<Done> Replan::add_up() {
  SizeRecord::Figures mine = task_.sizes.figures();
  if (plan_) {
    for (const std::int64_t bytes : plan_->out.capacities) mine.room += bytes;
  }
  FaultRecord faults(neighborhood_.rank, "figures", purpose);
  const bool is_measured = plan_ && plan_->is_better_direct(neighborhood_);
  mine.gaining = is_measured || is_served_by_messages() ? 0 : 1;
  Joining joining(
      {mine.pieces, mine.too_large, mine.needed, mine.room, mine.gaining, is_measured ? 1 : 0},
      Joining::sum);
  vicinal::Task<Done> allreduce =
      tree_allreduce(conversation_, neighborhood_.tree, faults, joining);
  co_await allreduce;
  faults.settle();
  const Numbers sums = joining.take();
  ruling_ = ruling_on({sums[0], sums[1], sums[2], sums[3], sums[4]}, method_);
  is_measured_ = sums[5] > 0 || method_ == CallMethod::measured_straight;
  if (ruling_ != Ruling::plan) co_return Done{};

  std::map<int, Capacities> to;
  const std::vector<std::int64_t> capacities = task_.sizes.capacities(out_pieces());
  for (std::size_t edge = 0; edge < neighborhood_.destinations.size(); ++edge) {
    to[neighborhood_.destinations[edge]].bytes.push_back(capacities[task_.one_block ? 0 : edge]);
  }
  std::vector<ControlMessage> outbox;
  for (const auto& [rank, contents] : to) outbox.push_back(message_to(rank, contents));
  const std::set<int> senders(neighborhood_.sources.begin(), neighborhood_.sources.end());
  const std::vector<ControlMessage> inbox = co_await conversation_.exchange(
      std::move(outbox), Expected({senders.begin(), senders.end()}, "capacities"));
  std::map<int, std::vector<std::int64_t>> from;
  for (const ControlMessage& message : inbox)
    from[message.peer] = contents_of<Capacities>(message).bytes;
  std::map<int, std::size_t> next;
  for (const int source : neighborhood_.sources) in_.push_back(from.at(source).at(next[source]++));
  co_return Done{};
}

void Replan::decide() {
  switch (ruling_) {
    case Ruling::keep:
      method_ = CallMethod::planned;
      over_.store(true, std::memory_order_release);
      return;
    case Ruling::straight: go_straight(); return;
    case Ruling::plan: begin_planning();
  }
}

void Replan::go_straight() {
  discard_plan();
  method_ = is_measured_ ? CallMethod::measured_straight : CallMethod::straight;
  over_.store(true, std::memory_order_release);
}

/// Takes the plan out of use. Its destruction may progress other activities, and must not happen
/// under this lock.
void Replan::discard_plan() noexcept {
  (discarded_.first ? discarded_.second : discarded_.first) = std::exchange(plan_, nullptr);
}

void Replan::begin_planning() {
  method_ = plan_ ? CallMethod::planned_anew : CallMethod::planned;
  discard_plan();
  const auto channels = static_cast<std::size_t>(task_.planning.channels);
  plan_ = std::make_shared<CapacityPlan>(
      CapacityPlan{CapacityPlan::Rooms(task_.sizes.capacities(out_pieces())),
                   CapacityPlan::Rooms(in_),
                   task_.first,
                   {},
                   std::vector<CapacityPlan::ChannelState>(channels)});
  task_.planning.pattern = pattern();
  if (task_.may_contest && is_contested(task_.planning)) contested_ = task_.planning;
  planning_ = Planning::begin(std::move(task_.planning));
  stage_ = Stage::planning;
}

Pattern Replan::pattern() const {
  Pattern pattern;
  pattern.identity = task_.one_block;
  for (std::size_t edge = 0; edge < neighborhood_.destinations.size(); ++edge) {
    const std::size_t piece = plan_->out.piece_of(edge);
    const Index place = plan_->out.places[piece];
    pattern.out.push_back(
        {neighborhood_.destinations[edge], {{place, place, plan_->out.size(piece)}}});
  }
  for (std::size_t edge = 0; edge < neighborhood_.sources.size(); ++edge) {
    const Index words = plan_->in.size(edge);
    pattern.in.push_back(
        {neighborhood_.sources[edge], words, {{0, plan_->in.places[edge], words}}});
  }
  return pattern;
}

void Replan::end_planning() {
  const auto planning = std::exchange(planning_, nullptr);
  try {
    plan_->chosen = chosen_of(planning->plan(), contested_);
    contested_.reset();
  } catch (const Error& fault) {
    if (!fault.is_on_all_ranks()) throw;
    do_without(fault);
    return;
  }
  talk_.emplace(weigh());
  stage_ = Stage::weighing;
}

/// Agrees whether the plan does more on any rank than one message per edge; if not, messages serve
/// as well.
vicinal::Task<Done> Replan::weigh() {
  const AgreedPlan& made = *plan_->chosen.plan;
  FaultRecord faults(neighborhood_.rank, "figures", purpose);
  try {
    plan_->make_channels();
  } catch (const std::exception& fault) {
    faults.blame(fault);
  }
  const bool is_worth_it =
      plan_->chosen.contest || is_more_than_direct(made.forward(), neighborhood_);
  Joining joining({is_worth_it ? 1 : 0}, Joining::sum);
  vicinal::Task<Done> allreduce =
      tree_allreduce(conversation_, neighborhood_.tree, faults, joining);
  co_await allreduce;
  faults.settle();
  is_worth_it_ = joining.take().front() > 0;
  co_return Done{};
}

void Replan::end_weighing() {
  try {
    talk_->result();
  } catch (const Error& fault) {
    if (!fault.is_on_all_ranks()) throw;
    do_without(fault);
    return;
  }
  if (!is_worth_it_) {
    go_straight();
  } else {
    over_.store(true, std::memory_order_release);
  }
}

/// Continues without a plan. All ranks know of the fault, and one message per edge always works.
void Replan::do_without(const Error& fault) {
  log_line(LogLevel::warn, [&](std::ostream& line) {
    line << "calls with counts go one message per edge, since there is no plan for them: "
         << fault.what();
  });
  go_straight();
}

/// Leaves the conversation in the middle, before this rank has sent control messages for which
/// other ranks wait.
void Replan::leave_with(std::exception_ptr fault, int origin) noexcept {
  fault_ = std::move(fault);
  mpi::give_notice(*communicator_, task_.key, origin, [&] { return neighborhood_.dependents(); });
  discard_plan();
  over_.store(true, std::memory_order_release);
}

bool Replan::test() {
  if (over()) return true;
  const ActivityLock lock(*this);
  return advance();
}

void Replan::name_awaited(std::ostream& out) {
  if (const ReportLock lock(*this); lock) {
    write_awaited(out);
  } else {
    out << "a replan on which another thread works";
  }
}

void Replan::write_awaited(std::ostream& out) const {
  if (over_) {
    out << "nothing: it has just been made";
  } else if (stage_ == Stage::waiting) {
    out << "the replan before it";
  } else if (stage_ == Stage::planning) {
    planning_->name_awaited(out);
  } else {
    driver_.describe(out);
  }
}

void Replan::describe(std::ostream& out) const {
  if (over_ || stage_ == Stage::planning) return;
  out << "vicinal: rank " << neighborhood_.rank << " waits for ";
  write_awaited(out);
  out << "\n";
}

const std::shared_ptr<CapacityPlan>& Replan::plan() const {
  if (fault_) std::rethrow_exception(fault_);
  return plan_;
}

}  // namespace vicinal

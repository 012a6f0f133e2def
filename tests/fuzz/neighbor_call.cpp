#include "neighbor_call.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

namespace fuzz {
namespace {

constexpr const char* op_names[] = {"alltoall", "alltoallv", "alltoallw", "allgather",
                                    "allgatherv"};
constexpr const char* form_names[] = {"blocking", "nonblocking", "persistent"};
constexpr const char* wrong_names[] = {"", "a negative count", "a null buffer", "a null datatype",
                                       "a count that the other end does not expect"};

/// Returns the smallest multiple of `step` that is at least `least`.
MPI_Aint up_to(MPI_Aint least, MPI_Aint step) {
  const MPI_Aint steps = least >= 0 ? (least + step - 1) / step : -(-least / step);
  return steps * step;
}

/// Places the messages one after the other, in random order and with random gaps.
void lay_out(std::vector<Piece>& pieces, bool in_bytes, Random& random) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random.chance(70)) random.shuffle(order);
  MPI_Aint cursor = random.chance(20) ? -random.below(100) : 0;
  for (const std::size_t i : order) {
    Piece& piece = pieces[i];
    const Layout& layout = *piece.layout;
    const MPI_Aint step = in_bytes ? 16 : layout.extent();
    piece.offset = 0;
    if (piece.bytes() == 0 || step <= 0) continue;
    piece.offset = up_to(cursor - layout.lowest(), step);
    cursor = piece.offset + (piece.count - 1) * layout.extent() + layout.highest() + 1;
    if (random.chance(50)) cursor += random.below(40);
  }
}

}  // namespace

NeighborCall::NeighborCall(Trial& trial, const TestedGraph& graph, int rank, CallPlan plan)
    : trial_(trial),
      graph_(graph),
      rank_(rank),
      plan_(std::move(plan)),
      large_(trial.own().chance(30)) {
  const Op op = plan_.op;
  const auto& destinations = graph.wiring.destinations[static_cast<std::size_t>(rank)];
  const auto& origins = graph.wiring.origins[static_cast<std::size_t>(rank)];
  std::vector<int> sent, received;
  if (gathers(op)) {
    sent.push_back(plan_.units(rank, 0));
  } else {
    for (std::size_t e = 0; e < destinations.size(); ++e) {
      sent.push_back(plan_.units(rank, static_cast<int>(e)));
    }
  }
  for (const Wiring::End& end : origins) {
    // An entry that is no rank also has a position in the buffer.
    received.push_back(end.rank >= 0 || has_equal_blocks(op)
                           ? plan_.units(end.rank >= 0 ? end.rank : rank, end.entry)
                           : units_at_once);
  }
  absolute_ = op == Op::alltoallw && trial.own().chance(15);
  send_ = place(sent, has_equal_blocks(op) || gathers(op), op == Op::alltoallw);
  receive_ = place(received, has_equal_blocks(op), op == Op::alltoallw);
  if (plan_.one_source) {
    for (Piece& piece : send_) piece.offset = send_.front().layout->extent();
  }
  source_ = Image(send_, trial.own().next());
  target_ = Image(receive_, trial.own().next());
}

std::vector<Piece> NeighborCall::place(const std::vector<int>& units, bool in_blocks,
                                       bool by_bytes) {
  Random& own = trial_.own();
  const bool nothing = std::all_of(units.begin(), units.end(), [](int n) { return n == 0; });
  const auto choose = [&](bool empty) -> Layouts {
    if (empty && plan_.derived && own.chance(50)) return Layout::empty(own);
    return plan_.derived ? Layout::derived(plan_.unit, own) : Layout::plain(plan_.unit);
  };
  const Layouts common = choose(nothing);
  std::vector<Piece> pieces;
  for (const int count : units) {
    Piece piece;
    piece.layout = by_bytes ? choose(count == 0) : common;
    piece.count = piece.layout->units() == 0 ? own.below(3) : count / piece.layout->units();
    if (in_blocks && !pieces.empty()) piece.count = pieces.front().count;
    pieces.push_back(std::move(piece));
  }
  const auto put = [&] {
    if (!in_blocks) return lay_out(pieces, by_bytes, own);
    MPI_Aint next = 0;
    for (Piece& piece : pieces) {
      piece.offset = next;
      next += piece.count * piece.layout->extent();
    }
  };
  put();
  const bool interleaves = std::any_of(
      pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.layout->interleaves(); });
  if (!interleaves || are_apart(pieces)) return pieces;
  for (Piece& piece : pieces) {
    if (piece.layout->units() > 0) {
      piece.layout = Layout::dense(plan_.unit, piece.layout->units());
    }
  }
  if (!by_bytes) {
    for (Piece& piece : pieces) piece.layout = pieces.front().layout;
  }
  put();
  return pieces;
}

Origin NeighborCall::origin(int rank, int edge) const {
  const int label = gathers(plan_.op) || plan_.one_source ? 0 : edge;
  return {rank, label, plan_.number + static_cast<std::uint64_t>(round_)};
}

std::string NeighborCall::text() const {
  std::ostringstream text;
  text << "call " << plan_.number << ": " << form_names[static_cast<int>(plan_.form)] << ' '
       << op_names[static_cast<int>(plan_.op)] << (large_ ? "_c" : "");
  if (absolute_) text << " by address";
  if (graph_.whole != MPI_COMM_NULL) text << " of all ranks";
  if (plan_.in_place) text << " in place";
  if (plan_.one_source) text << " from one place";
  const auto list = [&](const char* what, const std::vector<Piece>& pieces) {
    text << ", " << what;
    const bool alike = plan_.op != Op::alltoallw && !pieces.empty();
    if (alike) text << " " << pieces.front().layout->text() << " x";
    for (const Piece& piece : pieces) {
      text << ' ' << piece.count;
      if (!alike) text << " x " << piece.layout->text();
      text << '@' << piece.offset;
    }
  };
  list("sends", send_);
  list("receives", receive_);
  if (plan_.wrong != Wrong::nothing) {
    text << ", rank " << plan_.failed_rank << " gives "
         << wrong_names[static_cast<int>(plan_.wrong)];
  }
  return text.str();
}

void NeighborCall::fill(int round) {
  round_ = round;
  source_.clear();
  target_.clear();
  const auto& destinations = graph_.wiring.destinations[static_cast<std::size_t>(rank_)];
  const auto& origins = graph_.wiring.origins[static_cast<std::size_t>(rank_)];
  for (std::size_t e = 0; e < send_.size(); ++e) {
    if (gathers(plan_.op) || destinations[e] >= 0) {
      source_.put(send_[e], origin(rank_, static_cast<int>(e)));
    }
  }
  // A receive block in place also holds the data to send.
  for (std::size_t e = 0; plan_.in_place && e < receive_.size(); ++e) {
    const bool own = e == static_cast<std::size_t>(rank_);
    if (!gathers(plan_.op) || own) target_.put(receive_[e], origin(rank_, static_cast<int>(e)));
  }
  for (std::size_t e = 0; e < receive_.size(); ++e) {
    if (origins[e].rank >= 0)
      target_.expect(receive_[e], origin(origins[e].rank, origins[e].entry));
  }
}

NeighborCall::Arguments NeighborCall::arguments() {
  Arguments result;
  result.from = source_.base();
  result.to = target_.base();
  const auto read = [&](const std::vector<Piece>& pieces, const void* base, auto& counts,
                        auto& places, auto& types) {
    MPI_Aint address = 0;
    if (absolute_) MPI_Get_address(base, &address);
    for (const Piece& piece : pieces) {
      const MPI_Aint extent = piece.layout->extent();
      counts.push_back(piece.count);
      types.push_back(piece.layout->type());
      places.push_back(plan_.op == Op::alltoallw ? address + piece.offset
                       : extent == 0             ? 0
                                                 : piece.offset / extent);
    }
  };
  read(send_, result.from, result.send_counts, result.send_places, result.send_types);
  read(receive_, result.to, result.receive_counts, result.receive_places, result.receive_types);
  if (absolute_) {
    result.from = MPI_BOTTOM;
    result.to = MPI_BOTTOM;
  }
  if (plan_.in_place) {
    result.from = MPI_IN_PLACE;
    result.send_counts = {0};
    result.send_places = {0};
    result.send_types = {MPI_DATATYPE_NULL};
  }
  return result;
}

/// Inserts the error, on a side on which this rank has neighbors.
void NeighborCall::spoil(Arguments& arguments) const {
  const auto& destinations = graph_.wiring.destinations[static_cast<std::size_t>(rank_)];
  const bool sends = !plan_.in_place && std::any_of(destinations.begin(), destinations.end(),
                                                    [](int rank) { return rank >= 0; });
  const auto real = [&](std::size_t e) {
    if (!sends) return graph_.wiring.origins[static_cast<std::size_t>(rank_)][e].rank >= 0;
    return gathers(plan_.op) || destinations[e] >= 0;
  };
  auto& counts = sends ? arguments.send_counts : arguments.receive_counts;
  auto& types = sends ? arguments.send_types : arguments.receive_types;
  for (std::size_t e = 0; e < counts.size(); ++e) {
    if (!real(e) && !has_equal_blocks(plan_.op)) continue;
    switch (plan_.wrong) {
      case Wrong::nothing: return;
      case Wrong::negative_count: counts[e] = -1; break;
      case Wrong::null_type:
        std::fill(types.begin(), types.end(), MPI_DATATYPE_NULL);
        if (counts[e] == 0) counts[e] = 1;  // with a count of 0, any type is valid
        break;
      case Wrong::other_count: counts[e] += units_at_once; break;
      case Wrong::null_buffer:
        if (sends) arguments.from = nullptr;
        if (!sends) arguments.to = nullptr;
        break;
    }
    // Equal blocks share one count, the first.
    if (has_equal_blocks(plan_.op)) std::fill(counts.begin(), counts.end(), counts[e]);
    return;
  }
}

int NeighborCall::call(MPI_Info info, vicinal_request* request) {
  Arguments given = arguments();
  if (must_fail()) {
    spoil(given);
    trial_.owes = true;
  }
  if (graph_.whole != MPI_COMM_NULL) {
    return whole_vicinal(plan_.op, plan_.form, large_, given, graph_.whole, info, request);
  }
  return call_vicinal(plan_.op, plan_.form, large_, given, graph_.graph, info, request);
}

int NeighborCall::call_by_mpi(MPI_Request* request) {
  by_mpi_ = std::make_shared<const MpiCall>(arguments());
  return by_mpi(*by_mpi_, plan_.form, request);
}

int NeighborCall::by_mpi(const MpiCall& call, Form form, MPI_Request* request) const {
  if (graph_.whole != MPI_COMM_NULL) {
    return call.over_all(plan_.op, form, large_, graph_.whole, request);
  }
  return call.over_graph(plan_.op, form, large_, graph_.reference, request);
}

void NeighborCall::refer() {
  if (released_) return;
  std::vector<std::uint8_t> theirs = target_.copy();
  Arguments given = arguments();
  if (absolute_) {
    MPI_Aint mine = 0, copied = 0;
    MPI_Get_address(target_.base(), &mine);
    MPI_Get_address(theirs.data() + target_.zero(), &copied);
    for (MPI_Aint& place : given.receive_places) place += copied - mine;
  } else {
    given.to = theirs.data() + target_.zero();
  }
  const int code = by_mpi(MpiCall(given), Form::blocking, nullptr);
  if (code != MPI_SUCCESS) {
    trial_.fail("MPI's own fails: ", text());
    return;
  }
  ++trial_.references;
  const std::string fault = target_.fault_of(theirs);
  if (!fault.empty())
    trial_.fail("MPI's own delivers something else than expected: ", fault, "; ", text());
}

void NeighborCall::returned(int code, const char* by) {
  if (code == MPI_SUCCESS) return;
  failed_ = true;
  if (plan_.wrong != Wrong::nothing) return;
  trial_.fail(by, " returned error ", code, ": ", vicinal_error_message(), "; ", text());
}

void NeighborCall::check() {
  if (must_fail() && !failed_) trial_.fail("a call at fault has succeeded: ", text());
  std::string fault = source_.fault();
  if (!fault.empty()) trial_.fail("the send buffer was written: ", fault, "; ", text());
  if (failed_) return;
  ++trial_.calls;
  fault = target_.fault();
  if (!fault.empty()) {
    trial_.fail("the receive buffer, execution ", round_, ": ", fault, "; ", text());
  }
}

void NeighborCall::check_refused() {
  bool expected = must_fail();
  if (plan_.wrong == Wrong::other_count) {
    const auto& theirs = graph_.wiring.destinations[static_cast<std::size_t>(plan_.failed_rank)];
    const auto edge =
        std::find_if(theirs.begin(), theirs.end(), [](int rank) { return rank >= 0; });
    expected = expected || *edge == rank_;
  }
  if (expected && !failed_) trial_.fail("a plan at fault was made: ", text());
}

void NeighborCall::release_types() {
  released_ = true;
  for (auto* pieces : {&send_, &receive_}) {
    for (const Piece& piece : *pieces) piece.layout->release();
  }
}

}  // namespace fuzz

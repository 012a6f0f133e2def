// The neighborhood collectives under test. Expected data follow from the graph's edges alone, not
// from what the library reports.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "world.hpp"

namespace vicinal::testing {

enum class Op { alltoall, alltoallv, alltoallw, allgather, allgatherv };
enum class Form { blocking, nonblocking, persistent };
constexpr Op all_ops[] = {Op::alltoall, Op::alltoallv, Op::alltoallw, Op::allgather,
                          Op::allgatherv};

inline bool gathers(Op op) { return op == Op::allgather || op == Op::allgatherv; }
inline bool has_equal_blocks(Op op) { return op == Op::alltoall || op == Op::allgather; }
inline const char* name_of(Op op) {
  const char* names[] = {"alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"};
  return names[static_cast<int>(op)];
}

/// A datatype of 64-bit integers: their places, in the order in which they are sent.
class Kind {
 public:
  /// Stands for MPI_INT64_T.
  Kind() : type_(MPI_INT64_T), places_{0}, extent_(1) {}
  Kind(std::vector<int> places, int extent) : places_(std::move(places)), extent_(extent) {
    MPI_Datatype numbers = MPI_DATATYPE_NULL;
    const std::vector<int> ones(places_.size(), 1);
    MPI_Type_indexed(static_cast<int>(places_.size()), ones.data(), places_.data(), MPI_INT64_T,
                     &numbers);
    MPI_Type_create_resized(numbers, 0, extent * MPI_Aint{8}, &type_);
    MPI_Type_free(&numbers);
    MPI_Type_commit(&type_);
  }
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
  ~Kind() {
    if (type_ != MPI_INT64_T) MPI_Type_free(&type_);
  }
  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] int numbers() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] int extent() const { return extent_; }
  /// Returns the place of number `i` in a piece that begins at `offset`.
  [[nodiscard]] std::size_t place(int offset, int i) const {
    return static_cast<std::size_t>(offset + i / numbers() * extent_) +
           static_cast<std::size_t>(places_[static_cast<std::size_t>(i % numbers())]);
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::vector<int> places_;
  int extent_;
};

/// Four kinds: plain numbers, a vector with gaps, reordered numbers, two numbers without a gap.
struct Kinds {
  Kind plain, gaps{{0, 2}, 4}, reordered{{3, 1}, 5}, dense{{0, 1}, 2};
  [[nodiscard]] const Kind& operator[](int i) const {
    const Kind* all[] = {&plain, &gaps, &reordered, &dense};
    return *all[around(i, 4)];
  }
};

/// One side's arguments and buffer, which has room for the requested numbers of each entry.
struct SideUnderTest {
  std::vector<const Kind*> kinds;
  std::vector<int> counts, offsets;  ///< elements; start of each piece, in numbers
  std::vector<std::int64_t> data;
  int numbers_without_edges = 0;  ///< block size in MPI_INT64_T that a rank without edges gives

  /// Lays pieces out consecutively if `in_blocks`, else in descending order with gaps.
  SideUnderTest(std::vector<const Kind*> of, const std::vector<int>& numbers, bool in_blocks,
                std::int64_t fill)
      : kinds(std::move(of)), counts(numbers.size()), offsets(numbers.size()) {
    int next = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const std::size_t i = in_blocks ? k : numbers.size() - 1 - k;
      counts[i] = numbers[i] / kinds[i]->numbers();
      const int extent = kinds[i]->extent();
      // A displacement is a whole number of extents.
      offsets[i] = in_blocks ? next : (next + extent - 1) / extent * extent + extent;
      next = offsets[i] + counts[i] * extent;
    }
    data.assign(static_cast<std::size_t>(next) + 1, fill);
  }
  std::int64_t& at(std::size_t entry, int i) {
    return data[kinds[entry]->place(offsets[entry], i)];
  }

  template <class Count>
  [[nodiscard]] std::vector<Count> counts_as() const {
    return {counts.begin(), counts.end()};
  }
  template <class Displacement>
  [[nodiscard]] std::vector<Displacement> displacements() const {
    std::vector<Displacement> result;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      result.push_back(static_cast<Displacement>(offsets[i] / kinds[i]->extent()));
    }
    return result;
  }
  [[nodiscard]] std::vector<MPI_Aint> bytes() const {
    std::vector<MPI_Aint> result;
    for (const int offset : offsets) result.push_back(offset * MPI_Aint{8});
    return result;
  }
  [[nodiscard]] std::vector<MPI_Datatype> types() const {
    std::vector<MPI_Datatype> result;
    for (const Kind* kind : kinds) result.push_back(kind->type());
    return result;
  }
  [[nodiscard]] MPI_Datatype type() const { return kinds.empty() ? MPI_INT64_T : kinds[0]->type(); }
  template <class Count>
  [[nodiscard]] Count count() const {
    return static_cast<Count>(counts.empty() ? numbers_without_edges : counts[0]);
  }
};

/// The edges of all ranks, known to every rank. An entry that is MPI_PROC_NULL is -1.
struct Wiring {
  /// Origin of a source entry: a rank, and an index into its destinations. -1 where the entry is no
  /// rank.
  struct Origin {
    int rank = -1;
    int entry = -1;
  };
  std::vector<std::vector<int>> destinations;  ///< by rank
  std::vector<std::vector<Origin>> origins;    ///< by rank

  /// Pairs the k-th edge from p to q at p with the k-th edge from p to q at q.
  static Wiring paired(std::vector<std::vector<int>> destinations,
                       const std::vector<std::vector<int>>& sources) {
    Wiring wiring{std::move(destinations), {}};
    const auto size = static_cast<int>(sources.size());
    for (int rank = 0; rank < size; ++rank) {
      auto& origins = wiring.origins.emplace_back();
      std::vector<int> next(sources.size(), 0);  // by origin: first entry not yet paired
      for (const int from : sources[static_cast<std::size_t>(rank)]) {
        const auto& theirs = wiring.destinations[static_cast<std::size_t>(from)];
        int& entry = next[static_cast<std::size_t>(from)];
        while (theirs.at(static_cast<std::size_t>(entry)) != rank) ++entry;
        origins.push_back({from, entry++});
      }
    }
    return wiring;
  }
  [[nodiscard]] const std::vector<int>& mine() const {
    return destinations[static_cast<std::size_t>(world_rank())];
  }
  [[nodiscard]] const std::vector<Origin>& my_origins() const {
    return origins[static_cast<std::size_t>(world_rank())];
  }
};

/// One collective on a graph with the given edges, which checks its own result.
class Collective {
 public:
  /// `salt` varies types and counts.
  Collective(const Wiring& wiring, const Kinds& kinds, Op op, int salt)
      : wiring_(wiring),
        op_(op),
        salt_(salt),
        send_(side(kinds, op, wiring.mine(), salt)),
        receive_(side(kinds, op, wiring.my_origins(), salt)) {
    for (SideUnderTest* side : {&send_, &receive_}) side->numbers_without_edges = numbers(0, 0);
  }

  [[nodiscard]] Op op() const { return op_; }

  void fill(int round) {
    round_ = round;
    for (std::size_t e = 0; e < send_.counts.size(); ++e) {
      for (int i = 0; i < numbers(world_rank(), static_cast<int>(e)); ++i) {
        send_.at(e, i) = value(world_rank(), static_cast<int>(e), i);
      }
    }
    receive_.data.assign(receive_.data.size(), untouched);
  }

  /// Calls the collective in any form; the blocking form ignores the request.
  int call(Form form, bool large, vicinal_graph graph, MPI_Info info, vicinal_request* request) {
    return large ? call_large(form, graph, info, request) : call_plain(form, graph, info, request);
  }

  /// Throws if the buffer differs from what was sent, or if any other place was written.
  void verify(const std::string& what) {
    std::vector<std::int64_t> expected(receive_.data.size(), untouched);
    expected.swap(receive_.data);
    for (std::size_t e = 0; e < receive_.counts.size(); ++e) {
      const auto [rank, entry] = wiring_.my_origins()[e];
      if (rank < 0) continue;
      for (int i = 0; i < numbers(rank, entry); ++i) receive_.at(e, i) = value(rank, entry, i);
    }
    expected.swap(receive_.data);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (receive_.data[i] == expected[i]) continue;
      fail_check(__FILE__, __LINE__, what, ": ", name_of(op_), ", salt ", salt_, ", round ", round_,
                 ": number ", i, " of the receive buffer is ", receive_.data[i], ", not ",
                 expected[i]);
    }
  }

 private:
  static constexpr std::int64_t untouched = -77;

  /// Returns how many numbers travel along an edge.
  [[nodiscard]] static int numbers(Op op, int salt, int rank, int entry) {
    if (has_equal_blocks(op)) return 2 * (1 + salt % 3);
    return 2 * ((rank * 3 + (gathers(op) ? 0 : entry) * 5 + salt) % 4);  // sometimes none
  }
  [[nodiscard]] int numbers(int rank, int entry) const { return numbers(op_, salt_, rank, entry); }
  [[nodiscard]] std::int64_t value(int rank, int entry, int i) const {
    const std::int64_t edge = gathers(op_) ? 0 : entry;
    return (((std::int64_t{rank} * 100 + edge) * 100 + i) * 100 + salt_ % 100) * 10000 + round_;
  }

  static SideUnderTest side(const Kinds& kinds, Op op, const std::vector<int>& destinations,
                            int salt) {
    const std::size_t entries = gathers(op) ? 1 : destinations.size();
    std::vector<const Kind*> types;
    std::vector<int> counts;
    for (std::size_t e = 0; e < entries; ++e) {
      types.push_back(&kinds[op == Op::alltoallw ? salt + static_cast<int>(e) : salt]);
      counts.push_back(numbers(op, salt, world_rank(), static_cast<int>(e)));
    }
    return {types, counts, op == Op::alltoall || gathers(op), untouched};
  }
  static SideUnderTest side(const Kinds& kinds, Op op, const std::vector<Wiring::Origin>& origins,
                            int salt) {
    std::vector<const Kind*> types;
    std::vector<int> counts;
    for (std::size_t e = 0; e < origins.size(); ++e) {
      const auto [rank, entry] = origins[e];
      types.push_back(&kinds[salt / 4 + (op == Op::alltoallw ? static_cast<int>(e) : 0)]);
      // Entries that are no ranks have a place in the buffer as well.
      counts.push_back(rank >= 0 || has_equal_blocks(op) ? numbers(op, salt, rank, entry) : 4);
    }
    return {types, counts, has_equal_blocks(op), untouched};
  }

  int call_plain(Form form, vicinal_graph graph, MPI_Info info, vicinal_request* request);
  int call_large(Form form, vicinal_graph graph, MPI_Info info, vicinal_request* request);

  const Wiring& wiring_;
  Op op_;
  int salt_;
  int round_ = 0;
  SideUnderTest send_, receive_;
};

/// Calls the function of the given form.
template <class Blocking, class Nonblocking, class Persistent, class... Arguments>
int call_in_form(Form form, vicinal_graph graph, MPI_Info info, vicinal_request* request,
                 Blocking blocking, Nonblocking nonblocking, Persistent persistent,
                 Arguments... arguments) {
  if (form == Form::blocking) return blocking(arguments..., graph);
  if (form == Form::nonblocking) return nonblocking(arguments..., graph, request);
  return persistent(arguments..., graph, info, request);
}

inline int Collective::call_plain(Form form, vicinal_graph graph, MPI_Info info,
                                  vicinal_request* request) {
  const auto counts = send_.counts_as<int>(), receive_counts = receive_.counts_as<int>();
  const auto places = send_.displacements<int>(), receive_places = receive_.displacements<int>();
  const auto bytes = send_.bytes(), receive_bytes = receive_.bytes();
  const auto types = send_.types(), receive_types = receive_.types();
  const void* const from = send_.data.data();
  void* const to = receive_.data.data();
  const auto in_form = [&](auto blocking, auto nonblocking, auto persistent, auto... arguments) {
    return call_in_form(form, graph, info, request, blocking, nonblocking, persistent,
                        arguments...);
  };
  switch (op_) {
    case Op::alltoall:
      return in_form(vicinal_neighbor_alltoall, vicinal_ineighbor_alltoall,
                     vicinal_neighbor_alltoall_init, from, send_.count<int>(), send_.type(), to,
                     receive_.count<int>(), receive_.type());
    case Op::alltoallv:
      return in_form(vicinal_neighbor_alltoallv, vicinal_ineighbor_alltoallv,
                     vicinal_neighbor_alltoallv_init, from, counts.data(), places.data(),
                     send_.type(), to, receive_counts.data(), receive_places.data(),
                     receive_.type());
    case Op::alltoallw:
      return in_form(vicinal_neighbor_alltoallw, vicinal_ineighbor_alltoallw,
                     vicinal_neighbor_alltoallw_init, from, counts.data(), bytes.data(),
                     types.data(), to, receive_counts.data(), receive_bytes.data(),
                     receive_types.data());
    case Op::allgather:
      return in_form(vicinal_neighbor_allgather, vicinal_ineighbor_allgather,
                     vicinal_neighbor_allgather_init, from, send_.count<int>(), send_.type(), to,
                     receive_.count<int>(), receive_.type());
    case Op::allgatherv:
      return in_form(vicinal_neighbor_allgatherv, vicinal_ineighbor_allgatherv,
                     vicinal_neighbor_allgatherv_init, from, send_.count<int>(), send_.type(), to,
                     receive_counts.data(), receive_places.data(), receive_.type());
  }
  return MPI_ERR_INTERN;
}

inline int Collective::call_large(Form form, vicinal_graph graph, MPI_Info info,
                                  vicinal_request* request) {
  const auto counts = send_.counts_as<MPI_Count>(),
             receive_counts = receive_.counts_as<MPI_Count>();
  const auto places = send_.displacements<MPI_Aint>(),
             receive_places = receive_.displacements<MPI_Aint>();
  const auto bytes = send_.bytes(), receive_bytes = receive_.bytes();
  const auto types = send_.types(), receive_types = receive_.types();
  const void* const from = send_.data.data();
  void* const to = receive_.data.data();
  const auto in_form = [&](auto blocking, auto nonblocking, auto persistent, auto... arguments) {
    return call_in_form(form, graph, info, request, blocking, nonblocking, persistent,
                        arguments...);
  };
  switch (op_) {
    case Op::alltoall:
      return in_form(vicinal_neighbor_alltoall_c, vicinal_ineighbor_alltoall_c,
                     vicinal_neighbor_alltoall_init_c, from, send_.count<MPI_Count>(), send_.type(),
                     to, receive_.count<MPI_Count>(), receive_.type());
    case Op::alltoallv:
      return in_form(vicinal_neighbor_alltoallv_c, vicinal_ineighbor_alltoallv_c,
                     vicinal_neighbor_alltoallv_init_c, from, counts.data(), places.data(),
                     send_.type(), to, receive_counts.data(), receive_places.data(),
                     receive_.type());
    case Op::alltoallw:
      return in_form(vicinal_neighbor_alltoallw_c, vicinal_ineighbor_alltoallw_c,
                     vicinal_neighbor_alltoallw_init_c, from, counts.data(), bytes.data(),
                     types.data(), to, receive_counts.data(), receive_bytes.data(),
                     receive_types.data());
    case Op::allgather:
      return in_form(vicinal_neighbor_allgather_c, vicinal_ineighbor_allgather_c,
                     vicinal_neighbor_allgather_init_c, from, send_.count<MPI_Count>(),
                     send_.type(), to, receive_.count<MPI_Count>(), receive_.type());
    case Op::allgatherv:
      return in_form(vicinal_neighbor_allgatherv_c, vicinal_ineighbor_allgatherv_c,
                     vicinal_neighbor_allgatherv_init_c, from, send_.count<MPI_Count>(),
                     send_.type(), to, receive_counts.data(), receive_places.data(),
                     receive_.type());
  }
  return MPI_ERR_INTERN;
}

}  // namespace vicinal::testing

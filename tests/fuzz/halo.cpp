// Halos over random distributions of indices, forward and in reverse. Values are integers that
// identify index, vector, position and round, so that sums are exact in every type and order.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "completion.hpp"
#include "families.hpp"
#include "halo_values.hpp"
#include "image.hpp"
#include "wiring.hpp"

namespace fuzz {
namespace {

class Sweep;

class HaloCase {
 public:
  HaloCase(Trial& trial, const Team& team)
      : trial_(trial), team_(team), indices_(trial, team.size()) {}

  void run() {
    Random& common = trial_.common();
    if (!create()) return;
    const int phases = common.between(1, 4);
    for (int phase = 0; phase < phases; ++phase) run_phase();
    trial_.succeeds(vicinal_halo_free(&halo_), "vicinal_halo_free");
  }

 private:
  friend class Sweep;

  Settings settings() {
    static const std::vector<std::string> strategies{
        "automatic", "direct",          "nearest-first",
        "aggregate", "aggregate-plain", "two-step",
        "split",     "common-neighbor", "distance-halving-pruned",
        "cascade"};
    Random& common = trial_.common();
    Settings all;
    if (common.chance(80)) all.emplace_back("vicinal_strategy", common.pick(strategies));
    if (common.chance(85)) {
      all.emplace_back("vicinal_regions", random_regions(common, team_.size()));
    }
    if (common.chance(20)) all.emplace_back("vicinal_local", "messages");
    if (common.chance(20)) {
      all.emplace_back("vicinal_split_bytes", std::to_string(common.between(1, 100)));
    }
    in_flight_ = common.chance(50) ? common.between(1, 8) : 4;
    if (in_flight_ != 4) all.emplace_back("vicinal_in_flight", std::to_string(in_flight_));
    return all;
  }

  bool create() {
    const Settings all = settings();
    const Info info(all);
    const auto& owned = indices_.owned[at(team_.rank())];
    std::vector<std::int64_t> needed = indices_.needed[at(team_.rank())];
    const int variant = trial_.common().below(3);
    const bool faulty = trial_.common().chance(10) && trial_.options().faults;
    const int failed_rank = trial_.common().below(team_.size());
    trial_.note("halo:", text_of(all), ", way ", variant, ", owns ", owned.size(), ", needs ",
                needed.size(), faulty ? ", at fault: " : "", faulty ? failed_rank : -1);
    std::vector<int> owners;
    for (const std::int64_t index : needed) owners.push_back(indices_.owner.at(index));
    if (faulty && failed_rank == team_.rank()) {
      // An index without owner: in a gap, or beyond all indices.
      needed.push_back(unowned());
      owners.push_back(trial_.own().below(team_.size()));
    }
    const auto count = static_cast<std::int64_t>(needed.size());
    const auto mine = static_cast<std::int64_t>(owned.size());
    int code = MPI_SUCCESS;
    if (indices_.ranges && variant == 0) {
      const std::int64_t first = owned.empty() ? 0 : owned.front();
      code = vicinal_halo_create(team_.comm(), first, first + mine, count, needed.data(),
                                 info.get(), &halo_);
    } else if (variant == 2) {
      code = vicinal_halo_create_with_owners(team_.comm(), mine, owned.data(), count, needed.data(),
                                             owners.data(), info.get(), &halo_);
    } else {
      code = vicinal_halo_create_indexed(team_.comm(), mine, owned.data(), count, needed.data(),
                                         info.get(), &halo_);
    }
    if (!faulty) return trial_.succeeds(code, "creation of the halo");
    if (code == MPI_SUCCESS) {
      trial_.fail("a halo that needs index ", unowned(), ", which nobody owns, was formed");
      vicinal_halo_free(&halo_);
    }
    return false;
  }

  [[nodiscard]] std::int64_t unowned() const {
    std::int64_t index = indices_.owner.empty() ? 5 : indices_.owner.begin()->first;
    while (indices_.owner.contains(index)) ++index;
    return index;
  }

  void run_phase();

  Trial& trial_;
  const Team& team_;
  Distribution indices_;
  vicinal_halo halo_ = VICINAL_HALO_NULL;
  int in_flight_ = 4;
  std::int64_t round_ = 0;
};

/// One exchange of a halo, forward or in reverse.
class Sweep {
 public:
  Sweep(HaloCase& of, bool reverse, std::int64_t round)
      : halo_(of), trial_(of.trial_), reverse_(reverse), round_(round) {
    static const std::vector<Number> numbers{{MPI_DOUBLE, 8, "double"},
                                             {MPI_INT64_T, 8, "int64"},
                                             {MPI_INT, 4, "int"},
                                             {MPI_BYTE, 1, "byte"}};
    static const std::vector<MPI_Op> operators{MPI_SUM, MPI_MAX, MPI_MIN, MPI_REPLACE, MPI_BXOR};
    Random& common = trial_.common();
    op_ = common.pick(operators);
    number_ = numbers[at(common.below(reverse ? 3 : 4))];
    if (op_ == MPI_BXOR && number_.type == MPI_DOUBLE) op_ = MPI_SUM;
    values_ = common.pick(std::vector<int>{1, 1, 2, 3, 17});
    vectors_ = !reverse && common.chance(25) ? common.between(1, 3) : 0;
    joined_ = !reverse && vectors_ == 0 && common.chance(40);
    trial_.note(reverse ? "reverse" : "forward", " ", round, ": ", values_, " ", number_.name,
                ", vectors ", vectors_, joined_ ? ", in one array" : "", ", operator ",
                op_ == MPI_SUM       ? "sum"
                : op_ == MPI_MAX     ? "max"
                : op_ == MPI_MIN     ? "min"
                : op_ == MPI_REPLACE ? "replace"
                                     : "xor");
    fill();
  }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  vicinal_request request = VICINAL_REQUEST_NULL;

  int start() {
    void* const ghosts = ghost_address();
    if (reverse_) {
      return vicinal_halo_reverse_start(halo_.halo_, owned_.base(), ghosts, values_, number_.type,
                                        op_, &request);
    }
    if (vectors_ > 0) {
      return vicinal_halo_start_vectors(halo_.halo_, owned_.base(), owned_shape_.stride, ghosts,
                                        ghost_shape_.stride, vectors_, values_, number_.type,
                                        &request);
    }
    return vicinal_halo_start(halo_.halo_, owned_.base(), ghosts, values_, number_.type, &request);
  }

  /// Starts and waits in one call.
  int run() {
    void* const ghosts = ghost_address();
    if (reverse_) {
      return vicinal_halo_reverse(halo_.halo_, owned_.base(), ghosts, values_, number_.type, op_);
    }
    if (vectors_ > 0) {
      const int code = start();
      return code == MPI_SUCCESS ? vicinal_wait(&request) : code;
    }
    return vicinal_halo_exchange(halo_.halo_, owned_.base(), ghosts, values_, number_.type);
  }

  void check() {
    if (reverse_ && op_ == MPI_REPLACE) settle_replaced();
    for (const auto& [image, what] : {std::pair(&owned_, "owned"), std::pair(&ghosts_, "ghost")}) {
      const std::string fault = image->fault();
      if (!fault.empty()) {
        trial_.fail("the ", what, " values of exchange ", round_, reverse_ ? " (reverse)" : "",
                    ": ", fault);
      }
    }
    ++trial_.calls;
  }

 private:
  [[nodiscard]] const std::vector<std::int64_t>& owned() const {
    return halo_.indices_.owned[at(halo_.team_.rank())];
  }
  [[nodiscard]] const std::vector<std::int64_t>& needed(int rank) const {
    return halo_.indices_.needed[at(rank)];
  }
  [[nodiscard]] void* ghost_address() {
    return joined_ ? static_cast<std::uint8_t*>(owned_.base()) + own_bytes() : ghosts_.base();
  }
  [[nodiscard]] std::int64_t own_bytes() const {
    return static_cast<std::int64_t>(owned().size()) * values_ * number_.bytes;
  }

  void fill() {
    Random& own = trial_.own();
    const int rank = halo_.team_.rank();
    const auto owned_count = static_cast<std::int64_t>(owned().size());
    const auto ghost_count = static_cast<std::int64_t>(needed(rank).size());
    const std::int64_t layers = std::max(vectors_, 1);
    owned_shape_ = {values_, layers, owned_count * values_ + own.below(4)};
    ghost_shape_ = {values_, layers, ghost_count * values_ + own.below(4)};
    const std::int64_t owned_size = layers * owned_shape_.stride;
    const std::int64_t ghost_size = layers * ghost_shape_.stride;
    const std::int64_t bytes = number_.bytes;
    owned_ =
        Image((joined_ ? (owned_count + ghost_count) * values_ : owned_size) * bytes, own.next());
    ghosts_ = Image(joined_ ? 0 : ghost_size * bytes, own.next());
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (int k = 0; k < values_; ++k) {
        const std::int64_t inner = layer * 100 + k;
        for (std::int64_t i = 0; i < owned_count; ++i) {
          const std::int64_t place = owned_shape_.place(i, layer, k) * bytes;
          const std::int64_t before = value_of(owned()[at(i)], inner, round_, -1);
          store(owned_, place, before, true);
          if (reverse_) store(owned_, place, combined(owned()[at(i)], inner, before), false);
        }
        for (std::int64_t i = 0; i < ghost_count; ++i) {
          const std::int64_t index = needed(rank)[at(i)];
          const std::int64_t place =
              ghost_shape_.place(i, layer, k) * bytes + (joined_ ? own_bytes() : 0);
          Image& image = joined_ ? owned_ : ghosts_;
          if (reverse_) {
            store(image, place, ghost_value(rank, i, inner), true);
          } else {
            store(image, place, value_of(index, inner, round_, -1), false);
          }
        }
      }
    }
  }

  /// Returns the value that a rank added to its `i`-th ghost.
  [[nodiscard]] std::int64_t ghost_value(int rank, std::int64_t i, std::int64_t inner) const {
    return value_of(i * 64 + rank, inner, round_, rank);
  }
  [[nodiscard]] std::vector<std::pair<int, std::int64_t>> ghosts_of(std::int64_t index) const {
    const auto found = halo_.indices_.ghosts.find(index);
    return found == halo_.indices_.ghosts.end() ? std::vector<std::pair<int, std::int64_t>>()
                                                : found->second;
  }

  /// Returns the owned value, combined with all ghosts of the index.
  [[nodiscard]] std::int64_t combined(std::int64_t index, std::int64_t inner,
                                      std::int64_t value) const {
    if (op_ == MPI_REPLACE) return value;  // see settle_replaced
    for (const auto& [rank, i] : ghosts_of(index)) {
      const std::int64_t other = ghost_value(rank, i, inner);
      if (op_ == MPI_SUM) value += other;
      if (op_ == MPI_MAX) value = std::max(value, other);
      if (op_ == MPI_MIN) value = std::min(value, other);
      if (op_ == MPI_BXOR) value ^= other;
    }
    return value;
  }

  void store(Image& image, std::int64_t place, std::int64_t value, bool given) const {
    std::uint8_t bytes[8] = {};
    number_.write(bytes, value);
    for (int i = 0; i < number_.bytes; ++i) {
      if (given) image.put(static_cast<MPI_Aint>(place + i), bytes[i]);
      if (!given) image.expect(static_cast<MPI_Aint>(place + i), bytes[i]);
    }
  }

  /// Of several ghosts of an index, any may be the last, but it is the same for all values.
  void settle_replaced() {
    for (std::size_t i = 0; i < owned().size(); ++i) {
      const auto ghosts = ghosts_of(owned()[i]);
      if (ghosts.empty()) continue;
      const auto expect = [&](const std::pair<int, std::int64_t>& ghost) {
        for (int k = 0; k < values_; ++k) {
          const std::int64_t place = owned_shape_.place(static_cast<std::int64_t>(i), 0, k);
          store(owned_, place * number_.bytes, ghost_value(ghost.first, ghost.second, k), false);
        }
      };
      const std::int64_t begin =
          owned_shape_.place(static_cast<std::int64_t>(i), 0, 0) * number_.bytes;
      const auto last = std::find_if(ghosts.begin(), ghosts.end(), [&](const auto& ghost) {
        expect(ghost);
        return owned_.holds(begin, values_ * number_.bytes);
      });
      if (last == ghosts.end()) expect(ghosts.front());
    }
  }

  HaloCase& halo_;
  Trial& trial_;
  bool reverse_, joined_ = false;
  std::int64_t round_;
  MPI_Op op_ = MPI_SUM;
  Number number_{MPI_DOUBLE, 8, "double"};
  int values_ = 1, vectors_ = 0;
  Shape owned_shape_, ghost_shape_;
  Image owned_, ghosts_;
};

/// Runs some exchanges in either direction, begun in the same order by all ranks.
void HaloCase::run_phase() {
  Random& common = trial_.common();
  int begun[2] = {0, 0};
  std::vector<std::unique_ptr<Sweep>> sweeps;
  std::vector<InFlight> in_flight;
  for (int steps = common.between(1, 8); steps > 0; --steps) {
    const bool reverse = common.chance(40);
    const bool blocking = common.chance(30);
    // At most as many of a direction as may be in flight.
    if (begun[reverse ? 1 : 0]++ >= in_flight_) continue;
    Sweep& sweep = *sweeps.emplace_back(std::make_unique<Sweep>(*this, reverse, round_++));
    if (blocking) {
      trial_.succeeds(sweep.run(), "a blocking exchange of a halo");
      sweep.check();
    } else if (trial_.succeeds(sweep.start(), "the start of an exchange of a halo")) {
      in_flight.push_back({&sweep.request, [this, &sweep](int code, const char* by) {
                             if (trial_.succeeds(code, by)) sweep.check();
                           }});
    }
    if (trial_.own().chance(20)) test_some(trial_, in_flight);
  }
  complete_all(trial_, in_flight);
}

}  // namespace

void run_halo(Trial& trial) {
  const Team team(make_comm(trial));
  for (int halos = trial.common().between(1, 3); halos > 0; --halos) HaloCase(trial, team).run();
}

}  // namespace fuzz

#include "memory/device/script.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "memory/device/kernels.hpp"

namespace vicinal::device {

namespace {

constexpr std::size_t table_alignment = 16;
/// Longer runs are split, so that teams have equal work.
constexpr std::int64_t longest_piece = 16 * 1024;

using Runs = std::vector<CopyRun>;

/// Largest power of two, up to largest_part, that divides all offsets.
class Alignment {
 public:
  void take(std::int64_t offset) { all_ = std::gcd(all_, offset); }
  template <class Offsets>
  void take_all(const Offsets& offsets) {
    for (const auto offset : offsets) take(offset);
  }
  [[nodiscard]] std::int64_t value() const { return all_; }

 private:
  std::int64_t all_ = largest_part;
};

/// Returns the nonempty runs without overlapping targets: of several runs for one target, the last
/// one keeps it.
Runs last_wins(std::span<const CopyRun> runs) {
  Runs result;
  for (const CopyRun& run : runs) append_run(result, run);
  Runs by_target = result;
  const auto before = [](const CopyRun& a, const CopyRun& b) { return a.target < b.target; };
  std::sort(by_target.begin(), by_target.end(), before);
  const auto overlap = [](const CopyRun& a, const CopyRun& b) {
    return a.target + a.count > b.target;
  };
  if (std::adjacent_find(by_target.begin(), by_target.end(), overlap) == by_target.end())
    return result;
  Runs elements;
  for (const CopyRun& run : result) {
    for (Index i = 0; i < run.count; ++i) elements.push_back({run.source + i, run.target + i, 1});
  }
  std::stable_sort(elements.begin(), elements.end(), before);
  result.clear();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool last = i + 1 == elements.size() || elements[i + 1].target != elements[i].target;
    if (last) append_run(result, elements[i]);
  }
  return result;
}

/// Packs: copies the sources of the runs to consecutive places, in the order of the runs.
Runs packed(std::span<const CopyRun> runs) {
  Runs result;
  Index place = 0;
  for (const CopyRun& run : runs) {
    append_run(result, {run.source, place, run.count});
    place += run.count;
  }
  return result;
}
/// Unpacks: copies from consecutive places to the targets.
Runs unpacked(std::span<const CopyRun> runs) { return reversed(packed(reversed(runs))); }

/// Returns runs from the targets, each once and in ascending order, to consecutive places.
Runs distinct_targets(std::span<const CopyRun> runs) {
  Runs by_target(runs.begin(), runs.end());
  std::sort(by_target.begin(), by_target.end(),
            [](const CopyRun& a, const CopyRun& b) { return a.target < b.target; });
  Runs result;
  Index place = 0;
  for (const CopyRun& run : by_target) {
    if (run.count == 0) continue;
    const Index known = result.empty() ? 0 : result.back().source + result.back().count;
    const Index first = result.empty() ? run.target : std::max(run.target, known);
    const Index count = std::max<Index>(run.target + run.count - first, 0);
    append_run(result, {first, place, count});
    place += count;
  }
  return result;
}

/// Returns the consecutive place of a target in `distinct`.
Index place_of(const Runs& distinct, Index target) {
  const auto after =
      std::upper_bound(distinct.begin(), distinct.end(), target,
                       [](Index wanted, const CopyRun& run) { return wanted < run.source; });
  const CopyRun& run = *std::prev(after);
  return run.target + target - run.source;
}

struct ValuePair;

class Writer {
 public:
  explicit Writer(std::size_t element_bytes)
      : element_bytes_(static_cast<std::int64_t>(element_bytes)) {}

  void move(Spot from, Spot to, std::span<const CopyRun> runs);
  Spot gathered(Part from, std::span<const CopyRun> runs, bool in_device);
  void cross(std::span<const CopyRun> runs, Sides inside);
  void reduce(Spot from, std::span<const ValuePair> pairs, const ValueType& type, ReduceOp op);
  void reduce_without_kernels(std::span<const CopyRun> runs, Sides inside, ReduceOp op,
                              ElementType type);

  /// Copies each run separately, by the driver.
  void transfer_each(Spot from, Spot to, std::span<const CopyRun> runs) {
    for (const CopyRun& run : runs) {
      transfer({from.part, from.offset + offset(run.source)},
               {to.part, to.offset + offset(run.target)},
               static_cast<std::size_t>(offset(run.count)));
    }
  }
  /// Copies contiguous data to the job's own memory on the other side.
  Spot landing(Spot from, std::span<const CopyRun> runs, bool in_device) {
    const Spot place = room(in_device ? Part::scratch : Part::pinned, runs);
    transfer(from, place, bytes_of(runs));
    return place;
  }
  void reduce_on_host(Spot from, std::span<const CopyRun> runs, ReduceOp op, ElementType type) {
    const auto bytes = static_cast<std::size_t>(element_bytes_);
    script_.steps.push_back(
        HostReduction{from, {Part::to, 0}, compile_reduction(runs, bytes, op, type)});
  }
  [[nodiscard]] Script script() { return std::move(script_); }

 private:
  [[nodiscard]] std::size_t bytes_of(std::span<const CopyRun> runs) const {
    return static_cast<std::size_t>(total(runs) * element_bytes_);
  }
  [[nodiscard]] std::int64_t offset(Index element) const { return element * element_bytes_; }
  /// Reserves space for all elements of the runs in the job's own memory.
  Spot room(Part part, std::span<const CopyRun> runs) {
    std::size_t& used = part == Part::scratch ? script_.scratch_bytes : script_.pinned_bytes;
    const Spot spot{part, static_cast<std::int64_t>(used)};
    used += (bytes_of(runs) + table_alignment - 1) / table_alignment * table_alignment;
    return spot;
  }
  void transfer(Spot from, Spot to, std::size_t bytes, bool by_kernel = false) {
    if (bytes > 0) script_.steps.push_back(Transfer{from, to, bytes, by_kernel});
  }
  void on_host(Spot from, Spot to, std::span<const CopyRun> runs) {
    script_.steps.push_back(
        HostCopy{from, to, compile(runs, static_cast<std::size_t>(element_bytes_))});
  }
  /// Appends a list to the tables; returns its place, or -1 for an empty list.
  template <class Number>
  std::int64_t table(const std::vector<Number>& numbers) {
    if (numbers.empty()) return -1;
    const std::size_t place =
        (script_.tables.size() + table_alignment - 1) / table_alignment * table_alignment;
    script_.tables.resize(place + numbers.size() * sizeof(Number));
    std::memcpy(script_.tables.data() + place, numbers.data(), numbers.size() * sizeof(Number));
    return static_cast<std::int64_t>(place);
  }

  std::int64_t element_bytes_;
  Script script_;
};

/// Moves data from one place on the device to another.
void Writer::move(Spot from, Spot to, std::span<const CopyRun> runs) {
  CompiledRuns compiled = compile(runs, static_cast<std::size_t>(element_bytes_));
  using Form = CompiledRuns::Form;
  const auto at = [](Spot spot, std::int64_t further) {
    return Spot{spot.part, spot.offset + further};
  };
  Alignment alignment;
  switch (compiled.form) {
    case Form::nothing: return;
    case Form::block:
      return transfer(at(from, compiled.source), at(to, compiled.target),
                      static_cast<std::size_t>(compiled.bytes), true);
    case Form::pieces: {
      std::vector<ByteRun> pieces;
      for (const ByteRun& piece : compiled.pieces) {
        for (std::int64_t done = 0; done < piece.bytes; done += longest_piece) {
          pieces.push_back({piece.source + done, piece.target + done,
                            std::min(longest_piece, piece.bytes - done)});
          for (const std::int64_t number :
               {pieces.back().source, pieces.back().target, pieces.back().bytes}) {
            alignment.take(number);
          }
        }
      }
      script_.steps.push_back(
          MovePieces{from, to, alignment.value(), table(pieces), pieces.size()});
      return;
    }
    case Form::pack:
    case Form::unpack:
    case Form::scatter: break;
  }
  MoveWords words{.from = at(from, compiled.form == Form::unpack ? compiled.source : 0),
                  .to = at(to, compiled.form == Form::pack ? compiled.target : 0),
                  .word_bytes = compiled.word_bytes,
                  .count = static_cast<std::size_t>(compiled.bytes / compiled.word_bytes)};
  const bool narrow = !compiled.sources32.empty() || !compiled.targets32.empty();
  words.offset_bits = narrow ? 32 : 64;
  alignment.take_all(compiled.sources32);
  alignment.take_all(compiled.targets32);
  alignment.take_all(compiled.sources64);
  alignment.take_all(compiled.targets64);
  alignment.take(compiled.word_bytes);
  words.alignment = alignment.value();
  words.sources = narrow ? table(compiled.sources32) : table(compiled.sources64);
  words.targets = narrow ? table(compiled.targets32) : table(compiled.targets64);
  script_.steps.push_back(words);
}

/// Returns where the sources of the runs lie contiguously: in place if they already do, else
/// gathered.
Spot Writer::gathered(Part from, std::span<const CopyRun> runs, bool in_device) {
  const Runs packing = packed(runs);
  if (packing.empty()) return {from, 0};
  if (packing.size() == 1) return {from, offset(packing.front().source)};
  const Spot place = room(in_device ? Part::scratch : Part::pinned, runs);
  if (in_device) {
    move({from, 0}, place, packing);
  } else {
    on_host({from, 0}, place, packing);
  }
  return place;
}

/// A target and a source that a kernel combines, as indices of values.
struct ValuePair {
  Index target = 0;
  Index source = 0;
};

/// Returns the pairs sorted by target, in the order of the runs for each target; nothing if 32-bit
/// indices do not suffice.
std::optional<std::vector<ValuePair>> pairs_by_target(std::span<const CopyRun> runs, Index values) {
  constexpr Index limit = std::numeric_limits<unsigned>::max();
  if (total(runs) > limit / values) return std::nullopt;
  std::vector<ValuePair> pairs;
  for (const CopyRun& run : runs) {
    if (std::max(run.source, run.target) > limit / values - run.count) return std::nullopt;
    for (Index i = 0; i < run.count * values; ++i) {
      pairs.push_back({run.target * values + i, run.source * values + i});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const ValuePair& a, const ValuePair& b) { return a.target < b.target; });
  return pairs;
}

void Writer::reduce(Spot from, std::span<const ValuePair> pairs, const ValueType& type,
                    ReduceOp op) {
  std::vector<unsigned> targets, starts, sources;
  for (const ValuePair& pair : pairs) {
    const auto target = static_cast<unsigned>(pair.target);
    if (targets.empty() || targets.back() != target) {
      targets.push_back(target);
      starts.push_back(static_cast<unsigned>(sources.size()));
    }
    sources.push_back(static_cast<unsigned>(pair.source));
  }
  if (targets.empty()) return;
  starts.push_back(static_cast<unsigned>(sources.size()));
  const std::string kernel = op == ReduceOp::sum   ? std::string("reduce_sum_") + type.summed_as
                             : op == ReduceOp::min ? std::string("reduce_min_") + type.name
                                                   : std::string("reduce_max_") + type.name;
  script_.steps.push_back(ReduceValues{from,
                                       {Part::to, 0},
                                       kernel,
                                       type.bytes,
                                       table(targets),
                                       table(starts),
                                       table(sources),
                                       targets.size()});
}

/// Gathers on one side, copies once, and scatters on the other side.
void Writer::cross(std::span<const CopyRun> runs, Sides inside) {
  const Spot all = gathered(Part::from, runs, inside.from);
  const Runs home = unpacked(runs);
  if (home.empty()) return;
  if (home.size() == 1)
    return transfer(all, {Part::to, offset(home.front().target)}, bytes_of(runs));
  const Spot landed = landing(all, runs, inside.to);
  if (inside.to) {
    move(landed, {Part::to, 0}, home);
  } else {
    on_host(landed, {Part::to, 0}, home);
  }
}

/// Reduces in pinned memory, by the processor: fetches the device's operands, and copies the
/// results back.
void Writer::reduce_without_kernels(std::span<const CopyRun> runs, Sides inside, ReduceOp op,
                                    ElementType type) {
  Runs here;
  for (const CopyRun& run : runs) append_run(here, run);
  Spot from{Part::from, 0};
  if (inside.from) {
    from = room(Part::pinned, runs);
    transfer_each({Part::from, 0}, from, packed(runs));
    here = unpacked(runs);
  }
  Spot to{Part::to, 0};
  Runs fetched;
  if (inside.to) {
    fetched = distinct_targets(runs);
    to = room(Part::pinned, fetched);
    transfer_each({Part::to, 0}, to, fetched);
    for (CopyRun& run : here) run.target = place_of(fetched, run.target);
  }
  script_.steps.push_back(HostReduction{
      from, to, compile_reduction(here, static_cast<std::size_t>(element_bytes_), op, type)});
  transfer_each(to, {Part::to, 0}, reversed(fetched));
}

}  // namespace

Script copy_script(std::span<const CopyRun> runs, std::size_t element_bytes, Sides inside,
                   bool kernels) {
  Writer writer(element_bytes);
  const Runs distinct = last_wins(runs);
  if (!kernels) {
    writer.transfer_each({Part::from, 0}, {Part::to, 0}, distinct);
  } else if (inside.from && inside.to) {
    writer.move({Part::from, 0}, {Part::to, 0}, distinct);
  } else {
    writer.cross(distinct, inside);
  }
  return writer.script();
}

Script reduction_script(std::span<const CopyRun> runs, std::size_t element_bytes, ReduceOp op,
                        ElementType type, Sides inside, bool kernels) {
  // Throws the faults of invalid arguments.
  static_cast<void>(compile_reduction(runs, element_bytes, op, type));
  Writer writer(element_bytes);
  const ValueType& value = value_type(type);
  const Index values = static_cast<Index>(element_bytes) / value.bytes;
  const Runs sources_packed = unpacked(runs);
  const auto pairs =
      kernels && inside.to
          ? pairs_by_target(inside.from ? Runs(runs.begin(), runs.end()) : sources_packed, values)
          : std::nullopt;
  if (pairs) {
    Spot from{Part::from, 0};
    if (!inside.from) {
      from = writer.landing(writer.gathered(Part::from, runs, false), runs, true);
    }
    writer.reduce(from, *pairs, value, op);
  } else if (kernels && !inside.to) {
    const Spot landed = writer.landing(writer.gathered(Part::from, runs, true), runs, false);
    writer.reduce_on_host(landed, sources_packed, op, type);
  } else {
    writer.reduce_without_kernels(runs, inside, op, type);
  }
  return writer.script();
}

}  // namespace vicinal::device

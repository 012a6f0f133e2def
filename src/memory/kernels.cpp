// The copy loops. Most lists are single values at scattered places. For those, an array of offsets
// and a loop over words of a fixed size is several times faster than a memcpy per run. Offsets of
// 32 bits halve what the loop reads besides the data.
#include "memory/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace vicinal {
namespace {

using Form = CompiledRuns::Form;

/// Maximum number of words per run, on average, for a list of words. Beyond it the offset arrays
/// cost more than the calls to memcpy.
constexpr std::int64_t words_per_run = 4;

std::vector<ByteRun> in_bytes(std::span<const CopyRun> runs, std::size_t element_bytes) {
  constexpr Index limit = std::numeric_limits<Index>::max() / 4;
  const auto scale = static_cast<Index>(element_bytes);
  std::vector<ByteRun> result;
  for (const CopyRun& run : runs) {
    require(run.source >= 0 && run.target >= 0 && run.count >= 0, Fault::internal,
            "a copy list has a negative entry: source ", run.source, ", target ", run.target,
            ", count ", run.count);
    if (run.count == 0 || scale == 0) continue;
    require(std::max({run.source, run.target, run.count}) <= limit / scale, Fault::count,
            "a copy of ", run.count, " elements of ", element_bytes,
            " bytes reaches beyond the range of 64-bit addresses");
    const ByteRun next{run.source * scale, run.target * scale, run.count * scale};
    if (!result.empty()) {
      ByteRun& last = result.back();
      if (last.source + last.bytes == next.source && last.target + last.bytes == next.target) {
        last.bytes += next.bytes;
        continue;
      }
    }
    result.push_back(next);
  }
  return result;
}

/// Returns the largest word size that divides all runs without too many words; 0 if there is none.
int word_size(std::span<const ByteRun> runs, std::int64_t bytes) {
  for (const int word : {16, 8, 4}) {
    const bool divides = std::all_of(runs.begin(), runs.end(),
                                     [&](const ByteRun& run) { return run.bytes % word == 0; });
    if (divides && bytes / word <= words_per_run * static_cast<std::int64_t>(runs.size())) {
      return word;
    }
  }
  return 0;
}

bool consecutive(std::span<const ByteRun> runs, std::int64_t ByteRun::* side) {
  std::int64_t next = runs.front().*side;
  for (const ByteRun& run : runs) {
    if (run.*side != next) return false;
    next += run.bytes;
  }
  return true;
}

/// Lists the offset of every word on one side, in 32 bits if `narrow`.
void list_offsets(std::span<const ByteRun> runs, std::int64_t ByteRun::* side, int word,
                  bool narrow, std::vector<std::int32_t>& small, std::vector<std::int64_t>& large) {
  for (const ByteRun& run : runs) {
    for (std::int64_t done = 0; done < run.bytes; done += word) {
      if (narrow) {
        small.push_back(static_cast<std::int32_t>(run.*side + done));
      } else {
        large.push_back(run.*side + done);
      }
    }
  }
  small.shrink_to_fit();
  large.shrink_to_fit();
}

bool fits_32_bits(std::span<const ByteRun> runs) {
  return std::all_of(runs.begin(), runs.end(), [](const ByteRun& run) {
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
    return run.source + run.bytes <= limit && run.target + run.bytes <= limit;
  });
}

template <int word, class Offset>
void pack_words(const std::vector<Offset>& sources, const std::byte* from, std::byte* to) {
  const Offset* offset = sources.data();
  const std::size_t count = sources.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * word, from + offset[i], word);
  }
}

template <int word, class Offset>
void unpack_words(const std::vector<Offset>& targets, const std::byte* from, std::byte* to) {
  const Offset* offset = targets.data();
  const std::size_t count = targets.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + offset[i], from + i * word, word);
  }
}

template <int word, class Offset>
void scatter_words(const std::vector<Offset>& sources, const std::vector<Offset>& targets,
                   const std::byte* from, std::byte* to) {
  const std::size_t count = sources.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + targets[i], from + sources[i], word);
  }
}

template <int word, class Offset>
void run_words(Form form, const std::vector<Offset>& sources, const std::vector<Offset>& targets,
               const std::byte* from, std::byte* to) {
  if (form == Form::pack) return pack_words<word>(sources, from, to);
  if (form == Form::unpack) return unpack_words<word>(targets, from, to);
  scatter_words<word>(sources, targets, from, to);
}

template <int word>
void run_words(const CompiledRuns& runs, const std::byte* from, std::byte* to) {
  if (runs.form == Form::pack) to += runs.target;
  if (runs.form == Form::unpack) from += runs.source;
  if (runs.sources32.empty() && runs.targets32.empty()) {
    run_words<word>(runs.form, runs.sources64, runs.targets64, from, to);
  } else {
    run_words<word>(runs.form, runs.sources32, runs.targets32, from, to);
  }
}

}  // namespace

CompiledRuns compile(std::span<const CopyRun> runs, std::size_t element_bytes) {
  CompiledRuns result;
  std::vector<ByteRun> pieces = in_bytes(runs, element_bytes);
  if (pieces.empty()) return result;
  for (const ByteRun& piece : pieces) result.bytes += piece.bytes;
  result.source = pieces.front().source;
  result.target = pieces.front().target;
  if (pieces.size() == 1) {
    result.form = Form::block;
    return result;
  }
  result.word_bytes = word_size(pieces, result.bytes);
  if (result.word_bytes == 0) {
    result.form = Form::pieces;
    result.pieces = std::move(pieces);
    return result;
  }
  result.form = consecutive(pieces, &ByteRun::target)   ? Form::pack
                : consecutive(pieces, &ByteRun::source) ? Form::unpack
                                                        : Form::scatter;
  const bool narrow = fits_32_bits(pieces);
  if (result.form != Form::unpack) {
    list_offsets(pieces, &ByteRun::source, result.word_bytes, narrow, result.sources32,
                 result.sources64);
  }
  if (result.form != Form::pack) {
    list_offsets(pieces, &ByteRun::target, result.word_bytes, narrow, result.targets32,
                 result.targets64);
  }
  return result;
}

void run(const CompiledRuns& runs, const std::byte* from, std::byte* to) {
  switch (runs.form) {
    case Form::nothing: return;
    case Form::block:
      std::memcpy(to + runs.target, from + runs.source, static_cast<std::size_t>(runs.bytes));
      return;
    case Form::pieces:
      for (const ByteRun& piece : runs.pieces) {
        std::memcpy(to + piece.target, from + piece.source, static_cast<std::size_t>(piece.bytes));
      }
      return;
    case Form::pack:
    case Form::unpack:
    case Form::scatter:
      if (runs.word_bytes == 8) return run_words<8>(runs, from, to);
      if (runs.word_bytes == 4) return run_words<4>(runs, from, to);
      return run_words<16>(runs, from, to);
  }
}

void copy_runs(const std::byte* from, std::byte* to, std::span<const CopyRun> runs,
               std::size_t element_bytes) {
  const auto scale = static_cast<Index>(element_bytes);
  for (const CopyRun& run : runs) {
    if (run.count == 0 || scale == 0) continue;
    std::memcpy(to + run.target * scale, from + run.source * scale,
                static_cast<std::size_t>(run.count * scale));
  }
}

}  // namespace vicinal

// Summaries of patterns.
#include "choose/summary.hpp"

#include <algorithm>
#include <bit>
#include <sstream>
#include <string>

#include "base/runs.hpp"

namespace vicinal {

namespace {

using Widths = std::vector<std::int64_t>;

int width_of(std::int64_t bytes) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
}

void count(Widths& widths, std::int64_t bytes) {
  const auto width = static_cast<std::size_t>(width_of(bytes));
  if (widths.size() <= width) widths.resize(width + 1);
  ++widths[width];
}

void add(Widths& widths, const Widths& more) {
  if (widths.size() < more.size()) widths.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) widths[i] += more[i];
}

/// Returns the number of different items in the runs.
Index different(std::vector<ItemRun> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const ItemRun& a, const ItemRun& b) { return a.identity < b.identity; });
  Index items = 0;
  Index end = std::numeric_limits<Index>::min();
  for (const ItemRun& run : runs) {
    const Index last = run.identity + run.count;
    if (last <= end) continue;
    items += last - std::max(end, run.identity);
    end = last;
  }
  return items;
}

/// Writes how many edges have which width: "4 of 2^3, 1 of 2^10".
void write(std::ostream& out, const Widths& widths) {
  bool any = false;
  for (std::size_t width = 0; width < widths.size(); ++width) {
    if (widths[width] == 0) continue;
    out << (any ? ", " : "") << widths[width] << " of 2^" << width;
    any = true;
  }
  if (!any) out << "none";
}

/// Returns the kind of an exchange. Only exchanges of one kind share a choice.
std::string kind_of(const PlanOptions& options) {
  const std::string radix = ", radix " + std::to_string(options.radix);
  if (options.one_block) return options.complete ? "allgather over all" : "allgather" + radix;
  if (options.with_reverse) return "halo" + radix;
  return (options.complete ? "all-to-all over all" : "all-to-all") + radix;
}

}  // namespace

PatternSummary summary(const Neighborhood& neighborhood, const Pattern& pattern,
                       std::int64_t element_bytes) {
  PatternSummary all;
  const auto members = static_cast<std::int64_t>(neighborhood.active().size());
  all.ranks = 1;
  all.regions = neighborhood.active().front() == neighborhood.rank ? 1 : 0;
  all.smallest_region = members;
  all.largest_region = members;
  all.most_out = static_cast<std::int64_t>(pattern.out.size());
  all.most_in = static_cast<std::int64_t>(pattern.in.size());
  std::vector<ItemRun> far_items;
  for (const OutEdge& edge : pattern.out) {
    const std::int64_t bytes = product(item_count(edge), element_bytes);
    const bool near = neighborhood.machine->same_region(neighborhood.rank, edge.rank);
    count(near ? all.near : all.far, bytes);
    if (near) continue;
    all.far_bytes += bytes;
    far_items.insert(far_items.end(), edge.items.begin(), edge.items.end());
  }
  all.far_unlike =
      pattern.identity ? product(different(std::move(far_items)), element_bytes) : all.far_bytes;
  return all;
}

PatternSummary joined(PatternSummary a, const PatternSummary& b) {
  a.ranks += b.ranks;
  a.regions += b.regions;
  a.smallest_region = std::min(a.smallest_region, b.smallest_region);
  a.largest_region = std::max(a.largest_region, b.largest_region);
  a.most_out = std::max(a.most_out, b.most_out);
  a.most_in = std::max(a.most_in, b.most_in);
  a.far_bytes += b.far_bytes;
  a.far_unlike += b.far_unlike;
  add(a.near, b.near);
  add(a.far, b.far);
  return a;
}

std::string key_text(const PatternSummary& all, const Machine& machine,
                     const PlanOptions& options) {
  std::ostringstream text;
  text << all.ranks << " ranks of " << machine.size() << " on " << machine.hosts() << " hosts, in "
       << all.regions << " regions of " << all.smallest_region << " to " << all.largest_region
       << "; " << (options.shared_memory ? "shared" : "messages") << ", split "
       << options.split_bytes << "; " << kind_of(options) << ", at most " << all.most_out
       << " edges out and " << all.most_in << " in, near ";
  write(text, all.near);
  text << ", far ";
  write(text, all.far);
  text << ", together 2^" << width_of(all.far_bytes) << ", unlike 2^" << width_of(all.far_unlike);
  return text.str();
}

}  // namespace vicinal

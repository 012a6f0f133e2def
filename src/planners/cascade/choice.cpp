// The tree allreduce, and the closed form.
#include "planners/cascade/choice.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "negotiate/rank_tree.hpp"
#include "planners/halving/rank_list.hpp"

namespace vicinal::cascade {

namespace {

/// Factor by which forwarding must be faster than the alternative: relays see which regions have
/// much for which.
constexpr double worth_its_while = 1.25;

/// Returns the least bias among the relay planners.
double of_relays(const Bias& bias) {
  return std::min({bias.of("direct"), bias.of("aggregate"), bias.of("two-step"), bias.of("split")});
}

/// Returns the time in which a region sends `bytes` in equal messages, `of_member` of them from
/// each member.
double between_regions(const Profile& profile, double bytes, double messages, double of_member) {
  const LevelCost& far = profile.network();
  const auto each = static_cast<std::int64_t>(bytes / messages);
  const Protocol& protocol = far.protocol(each);
  return protocol.latency + std::max({of_member * far.handling(each),
                                      bytes * of_member / messages * protocol.seconds_per_byte,
                                      bytes * profile.port_seconds_per_byte});
}

/// Up the tree.
struct Report {
  static constexpr std::string_view name = "part of a cascade";
  halving::RankSet ranks;
  Volume volume;
};
void fields(auto&& take, Is<Report> auto& it) { take(it.ranks, it.volume); }

/// Down the tree.
struct Terms {
  static constexpr std::string_view name = "terms of a cascade";
  halving::RankSet ranks;
  int radix = 0;
  bool passes_on = true;
  std::string reason;
};
void fields(auto&& take, Is<Terms> auto& it) { take(it.ranks, it.radix, it.passes_on, it.reason); }

class Founding final : public TreeAllreduce<Report, Terms> {
 public:
  Founding(const PlanRequest& request, Volume volume, Among among)
      : request_(request), machine_(*request.neighborhood.machine), volume_(volume), among_(among) {
    ranks_.push_back(request.neighborhood.rank);
  }

  void hear(int, Report report) override {
    const std::vector<int> more = ranks_of(report.ranks);
    std::vector<int> all;
    std::merge(ranks_.begin(), ranks_.end(), more.begin(), more.end(), std::back_inserter(all));
    ranks_ = std::move(all);
    volume_.add(report.volume);
  }
  Report report() override { return {halving::set_of(ranks_, machine_.size()), volume_}; }

  void decide() override {
    std::set<int> regions;
    for (const int rank : ranks_) regions.insert(machine_.region_of(rank));
    const auto count = static_cast<int>(regions.size());
    const PlanOptions& options = request_.options;
    const auto seconds = [&](int radix) {
      return expected_seconds(volume_, static_cast<int>(ranks_.size()), count, radix, options);
    };
    terms_.radix = options.radix > 0 ? options.radix : 2;
    if (options.radix == 0) {
      for (int radix = 3; radix < 2 * count; radix += 1 + radix / 8) {
        const int it = std::min(radix, count);
        if (seconds(it) < seconds(terms_.radix)) terms_.radix = it;
      }
    }
    std::ostringstream reason;
    const bool compares = among_ == Among::planners;
    if (options.radix == 0 || compares) {
      reason << std::fixed << std::setprecision(1) << "by the profile, passing on takes "
             << seconds(terms_.radix) * 1e6 << " us with radix " << terms_.radix << " between "
             << count << " regions" << (options.radix == 0 ? ", less than with others" : "");
    }
    if (compares) {
      const double relayed =
          relayed_seconds(volume_, static_cast<int>(ranks_.size()), count, options);
      const double passed_on = seconds(terms_.radix) * options.bias.of("cascade");
      terms_.passes_on = worth_its_while * passed_on < relayed * of_relays(options.bias);
      reason << ", and " << relayed * 1e6 << " us with a message for each region";
    }
    terms_.ranks = halving::set_of(ranks_, machine_.size());
    terms_.reason = std::move(reason).str();
  }
  void learn(Terms terms) override { terms_ = std::move(terms); }
  Terms instruct(const RankTree::Child&) override { return terms_; }

  [[nodiscard]] Decision take() {
    return {halving::ranks_of(terms_.ranks), terms_.radix, terms_.passes_on,
            std::move(terms_.reason)};
  }

 private:
  const PlanRequest& request_;
  const Machine& machine_;
  std::vector<int> ranks_;
  Volume volume_;
  Among among_;
  Terms terms_;
};

}  // namespace

Volume::Volume(const std::vector<halving::Parcel>& all, const Neighborhood& neighborhood)
    : links(static_cast<Index>(std::max(neighborhood.out().size(), neighborhood.in().size()))) {
  for (const halving::Parcel& parcel : all) {
    std::set<int> regions;
    for (const halving::Destination& to : parcel.destinations) {
      regions.insert(neighborhood.machine->region_of(to.rank));
    }
    regions.erase(neighborhood.region());
    if (regions.empty() || parcel.count == 0) continue;
    ++parcels;
    items += parcel.count;
    copies += parcel.count * static_cast<Index>(regions.size());
    wanted += static_cast<Index>(regions.size());
  }
}

void Volume::add(const Volume& other) {
  items += other.items;
  copies += other.copies;
  parcels += other.parcels;
  wanted += other.wanted;
  links = std::max(links, other.links);
}

Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Volume volume, Among among) {
  Founding founding(request, volume, among);
  Task<Done> allreduce =
      tree_allreduce(request.conversation, request.neighborhood.tree, faults, founding);
  co_await allreduce;
  if (!faults.good()) co_return Decision();
  co_return founding.take();
}

double expected_seconds(const Volume& volume, int ranks, int regions, int radix,
                        const PlanOptions& options) {
  if (volume.items == 0 || regions < 2) return 0;
  const Profile& profile = options.profile;
  const LevelCost& near = profile.at(Level::node);
  const double members = static_cast<double>(ranks) / regions;
  const double bytes = static_cast<double>(volume.items * options.element_bytes) / regions;
  const double parcels = static_cast<double>(volume.parcels) / regions;
  const double wanted = static_cast<double>(volume.copies) / static_cast<double>(volume.items) /
                        (regions - 1);  // the fraction of the other regions that want an item
  double seconds = 0;
  for (double width = 1; width < regions; width *= radix) {
    const double values = std::min<double>(radix - 1, std::floor((regions - 1) / width));
    // Number of distances that differ in the digits so far; `copies` counts the wanted ones that
    // move.
    const double ends = std::min<double>(width * radix, regions);
    const double copies =
        ends * (1 - std::pow(std::max(0.0, 1 - wanted), regions / ends)) * values / (values + 1);
    const double messages = std::min(values, std::max(1.0, parcels * copies));
    const double of_member = std::ceil(messages / members);
    const double sent = bytes * copies;
    seconds += between_regions(profile, sent, messages, of_member) +
               2 * sent / members * profile.copy_seconds_per_byte;
    if (members <= 1) continue;
    const double handed = std::min(values, members);
    const auto part = static_cast<std::int64_t>(sent / members / handed);
    seconds +=
        options.shared_memory ? profile.handover : near.latency() + handed * near.handling(part);
    seconds += 2 * sent / members * profile.copy_seconds_per_byte;
  }
  return seconds;
}

double relayed_seconds(const Volume& volume, int ranks, int regions, const PlanOptions& options) {
  if (volume.items == 0 || volume.links == 0) return 0;
  const Profile& profile = options.profile;
  const LevelCost& near = profile.at(Level::node);
  const double members = static_cast<double>(ranks) / regions;
  const double sent = static_cast<double>(volume.copies * options.element_bytes) / regions;
  const double messages = std::min(static_cast<double>(volume.links),
                                   std::max(1.0, static_cast<double>(volume.wanted) / regions));
  const double of_member = std::ceil(messages / members);
  const double between = between_regions(profile, sent, messages, of_member);
  if (members <= 1) return between;
  const auto part = static_cast<std::int64_t>(sent / members / members);
  const double inside =
      options.shared_memory ? profile.handover : near.latency() + members * near.handling(part);
  return between + 2 * inside + 4 * sent / members * profile.copy_seconds_per_byte;
}

}  // namespace vicinal::cascade

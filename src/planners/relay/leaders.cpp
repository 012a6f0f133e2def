// Longest-processing-time-first scheduling over the members of a region: within 4/3 of the best
// balance, and the same on every member because ties are broken by region and rank.
#include "planners/relay/leaders.hpp"

#include <algorithm>
#include <tuple>

namespace vicinal {

Index parts(const RelayPolicy& policy, const PlanOptions& options, Index elements,
            Index available) {
  if (policy.division == RelayPolicy::Division::whole) return 1;
  if (policy.division == RelayPolicy::Division::contributor) return available;
  const Index bytes = elements * options.element_bytes;
  return std::clamp<Index>((bytes + options.split_bytes - 1) / options.split_bytes, 1, available);
}

namespace {

/// One link to place: heavier ones first.
struct Job {
  Index elements;
  int region;
  bool out;
  std::size_t link;
};

class Scales {
 public:
  Scales(std::size_t members, const PlanOptions& options) : load_(members), options_(options) {}

  std::size_t lightest() const {
    return static_cast<std::size_t>(std::min_element(load_.begin(), load_.end()) - load_.begin());
  }
  void add(std::size_t member, Index elements) {
    const LevelCost& cost = options_.profile.network();
    load_[member] += cost.send_overhead + static_cast<double>(elements * options_.element_bytes) *
                                              cost.seconds_per_byte();
  }
  std::size_t size() const { return load_.size(); }

 private:
  std::vector<double> load_;
  const PlanOptions& options_;
};

}  // namespace

Leaders assign_leaders(const Neighborhood& neighborhood, const RelayPolicy& policy,
                       const PlanOptions& options, const std::vector<LinkLoad>& out,
                       const std::vector<LinkLoad>& in) {
  const std::vector<int>& active = neighborhood.active;
  const auto available = static_cast<Index>(active.size());
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < out.size(); ++i) {
    jobs.push_back({out[i].traffic.distinct, neighborhood.out[i].region, true, i});
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    jobs.push_back({in[i].traffic.elements, neighborhood.in[i].region, false, i});
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return std::tuple(-a.elements, a.region, a.out) < std::tuple(-b.elements, b.region, b.out);
  });

  Leaders leaders{std::vector<std::vector<int>>(out.size()),
                  std::vector<std::vector<int>>(in.size())};
  Scales scales(active.size(), options);
  const auto shift = static_cast<std::size_t>(options.leader_shift);
  for (const Job& job : jobs) {
    std::vector<int>& chosen = job.out ? leaders.out[job.link] : leaders.in[job.link];
    if (job.out && policy.division == RelayPolicy::Division::contributor) {
      chosen = neighborhood.out[job.link].members;
      continue;
    }
    Index count = parts(policy, options, job.elements, available);
    if (!job.out) {
      // Enough receiving leaders for as many parts as the other region could make.
      const auto far = neighborhood.machine->members(neighborhood.in[job.link].region).size();
      const Index most = parts(policy, options, job.elements, static_cast<Index>(far));
      count = std::min(most, available);
    }
    const std::size_t first = scales.lightest();
    for (Index part = 0; part < count; ++part) {
      const std::size_t member = (first + static_cast<std::size_t>(part)) % scales.size();
      scales.add(member, job.elements / count);
      chosen.push_back(active[(member + shift) % active.size()]);
    }
  }
  return leaders;
}

}  // namespace vicinal

// The tree allreduces that compare given values. Requests are compared along the component's tree,
// which exists since the creation of the graph.
#include "negotiate/comparison.hpp"

#include "base/scramble.hpp"
#include "cost/profile_json.hpp"

namespace vicinal {

namespace {

/// The values given on the rank that differs.
struct GivenThere {
  static constexpr std::string_view name = "what was given";
  std::vector<Given> given;
};
void fields(auto&& take, Is<GivenThere> auto& it) { take(it.given); }

/// The root's description of the difference.
struct Differences {
  static constexpr std::string_view name = "what differs";
  std::string text;
  Fault fault = Fault::info;
};
void fields(auto&& take, Is<Differences> auto& it) { take(it.text, it.fault); }

class Difference final : public TreeAllreduce<GivenThere, Differences> {
 public:
  Difference(const RankTree& tree, const std::vector<Given>& given, int other)
      : tree_(tree), given_(given), other_(other) {
    if (tree.rank == other) report_.given = given;
  }
  void hear(int, GivenThere report) override {
    if (!report.given.empty()) report_ = std::move(report);
  }
  GivenThere report() override { return report_; }
  void decide() override {
    const auto found = difference(given_, tree_.rank, report_.given, other_);
    require(found.has_value(), Fault::internal, "ranks ", tree_.rank, " and ", other_,
            " have given different settings, but none of these differs");
    differences_ = {found->what(), found->fault()};
  }
  void learn(Differences differences) override { differences_ = std::move(differences); }
  Differences instruct(const RankTree::Child&) override { return differences_; }

  [[nodiscard]] Error found() const { return {differences_.fault, differences_.text}; }

 private:
  const RankTree& tree_;
  const std::vector<Given>& given_;
  int other_;
  GivenThere report_;
  Differences differences_;
};

struct Compared {
  static constexpr std::string_view name = "fingerprint of what was given";
  Fingerprint fingerprint;
  std::uint64_t sum = 0;
};
void fields(auto&& take, Is<Compared> auto& it) { take(it.fingerprint, it.sum); }

struct Differing {
  static constexpr std::string_view name = "who differs";
  int rank = -1;
  std::uint64_t sum = 0;
};
void fields(auto&& take, Is<Differing> auto& it) { take(it.rank, it.sum); }

class Comparison final : public TreeAllreduce<Compared, Differing> {
 public:
  Comparison(std::int64_t fingerprint, std::uint64_t number)
      : all_{Fingerprint(fingerprint), number} {}
  void hear(int child, Compared report) override {
    all_.fingerprint.compare(child, report.fingerprint);
    all_.sum += report.sum;
  }
  Compared report() override { return all_; }
  void decide() override { differing_ = {all_.fingerprint.other(), all_.sum}; }
  void learn(Differing differing) override { differing_ = differing; }
  Differing instruct(const RankTree::Child&) override { return differing_; }

  [[nodiscard]] int other() const { return differing_.rank; }
  [[nodiscard]] std::uint64_t sum() const { return differing_.sum; }

 private:
  Compared all_;
  Differing differing_;
};

}  // namespace

Task<Error> find_difference(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                            std::vector<Given> given, int other) {
  Difference differing(tree, given, other);
  co_await tree_allreduce(talk, tree, faults, differing);
  faults.settle();
  co_return differing.found();
}

Task<std::uint64_t> require_same(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                                 std::vector<Given> given, std::uint64_t number) {
  Comparison comparison(fingerprint(given), number);
  co_await tree_allreduce(talk, tree, faults, comparison);
  faults.settle();
  if (comparison.other() >= 0) {
    const int other = comparison.other();
    const Error fault = co_await find_difference(talk, tree, faults, std::move(given), other);
    throw fault.on_all_ranks();
  }
  co_return comparison.sum();
}

namespace {

/// Returns the counts that a rank sends minus those that it expects, each edge with an odd weight
/// of its own. Summed over all ranks, this is 0 if all counts agree, and (nearly) only then.
std::uint64_t count_difference(int rank, const Pattern& pattern) {
  const auto weight = [](int from, int to) {
    return scramble((static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to)) |
           1U;
  };
  std::uint64_t difference = 0;
  for (const OutEdge& edge : pattern.out) {
    difference += weight(rank, edge.rank) * static_cast<std::uint64_t>(item_count(edge));
  }
  for (const InEdge& edge : pattern.in) {
    difference -= weight(edge.rank, rank) * static_cast<std::uint64_t>(edge.count);
  }
  return difference;
}

}  // namespace

std::vector<Given> given_alike(const Planner& planner, const PlanOptions& options,
                               const Pattern& pattern) {
  const bool among_all = options.complete && options.one_block;
  std::vector<Given> given{
      {"vicinal_progress",
       options.strict_progress ? "strict" : "relaxed"},  // may change the planner
      {among_all ? "vicinal_allgather" : "vicinal_strategy", std::string(planner.name)},
      {"vicinal_local", options.shared_memory ? "shared" : "messages"},
      {"vicinal_split_bytes", std::to_string(options.split_bytes)},
      {"vicinal_radix", std::to_string(options.radix)},
      {"vicinal_profile", identity(options.profile)},
      {"vicinal_verify", options.verify ? "1" : "0"},
      {"vicinal_choice", std::string(name(options.choice))},
      {"vicinal_plan_after", std::to_string(options.plan_after)},
      {"vicinal_bias", options.bias.text()},
      {"vicinal_wisdom", options.wisdom},
      {"the exchange", options.partitioned ? "in partitions" : "as a whole"},
  };
  if (options.index_bytes) {
    given.push_back({"the size of what moves for an index of this halo",
                     std::to_string(*options.index_bytes) + " bytes", Fault::count});
  }
  if (!among_all) return given;
  for (const InEdge& edge : pattern.in) {
    given.push_back({"the block of rank " + std::to_string(edge.rank) + " in this allgather",
                     std::to_string(edge.count) + " " + options.unit, Fault::count});
  }
  return given;
}

Task<bool> compare_counts(Conversation& talk, const Planner& planner, const PlanRequest& request) {
  if (!request.neighborhood.takes_part()) co_return true;
  FaultRecord faults(request.neighborhood.rank, request.options.unit);
  if (request.fault) faults.blame(*request.fault);
  Task<std::uint64_t> comparing =
      require_same(talk, request.neighborhood.tree, faults,
                   given_alike(planner, request.options, request.pattern),
                   count_difference(request.neighborhood.rank, request.pattern));
  const std::uint64_t difference = co_await comparing;
  co_return difference == 0;
}

Task<Done> require_alike(Conversation& talk, const Planner& planner, const PlanRequest& request) {
  Task<bool> comparing = compare_counts(talk, planner, request);
  co_await comparing;
  co_return Done{};
}

Task<Plans> plan_alike(const Planner& planner, PlanRequest request) {
  request.conversation.set_purpose("planning " + std::string(planner.name));
  Task<Done> comparing = require_alike(request.conversation, planner, request);
  co_await comparing;
  co_return co_await planner.plan(std::move(request));
}

}  // namespace vicinal

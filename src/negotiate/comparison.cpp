// The tree allreduces that compare given values.
#include "negotiate/comparison.hpp"

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
    throw SettledFault(fault);
  }
  co_return comparison.sum();
}

}  // namespace vicinal

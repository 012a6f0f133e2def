// The consultations about what was given.
#include "planners/agreement.hpp"

namespace vicinal {

namespace {

/// What the rank that differs has given goes up, and what the root makes of it comes down.
class Difference final : public Consultation {
 public:
  Difference(const RankTree& tree, const std::vector<Given>& given, int other)
      : tree_(tree), given_(given), other_(other) {
    if (tree.rank == other) report_ = to_words(given);
  }
  void hear(int, std::span<const std::int64_t> report) override {
    if (!report.empty()) report_.assign(report.begin(), report.end());
  }
  Words report() override { return report_; }
  void decide() override {
    text_ = difference(given_, tree_.rank, to_given(report_), other_);
    require(!text_.empty(), Fault::internal, "ranks ", tree_.rank, " and ", other_,
            " have given different settings, but none of these differs");
  }
  void learn(std::span<const std::int64_t> words) override { text_ = to_text(words); }
  Words instruct(const RankTree::Child&) override { return to_words(std::string_view(text_)); }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const RankTree& tree_;
  const std::vector<Given>& given_;
  int other_;
  Words report_;
  std::string text_;
};

class Comparison final : public Consultation {
 public:
  explicit Comparison(std::int64_t fingerprint) : fingerprint_(fingerprint) {}
  void hear(int child, std::span<const std::int64_t> report) override {
    fingerprint_.compare(child, {report[0], static_cast<int>(report[1])});
  }
  Words report() override { return {fingerprint_.own(), fingerprint_.other()}; }
  void decide() override { other_ = fingerprint_.other(); }
  void learn(std::span<const std::int64_t> words) override { other_ = static_cast<int>(words[0]); }
  Words instruct(const RankTree::Child&) override { return {other_}; }

  [[nodiscard]] int other() const { return other_; }

 private:
  Fingerprint fingerprint_;
  int other_ = -1;
};

}  // namespace

Task<Error> find_difference(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                            std::vector<Given> given, int other) {
  Difference differing(tree, given, other);
  co_await consult(talk, tree, faults, differing);
  faults.settle();
  co_return Error(Fault::info, differing.text());
}

Task<Done> require_same(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                        std::vector<Given> given) {
  Comparison comparison(fingerprint(given));
  co_await consult(talk, tree, faults, comparison);
  faults.settle();
  if (comparison.other() >= 0) {
    const int other = comparison.other();
    const Error fault = co_await find_difference(talk, tree, faults, std::move(given), other);
    throw SettledFault(fault);
  }
  co_return Done{};
}

}  // namespace vicinal

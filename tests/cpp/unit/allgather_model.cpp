// Compares equations 1 to 4 of Bienz et al. 2022 with what the plans send.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "allgather_model.hpp"
#include "allgathers.hpp"
#include "check.hpp"
#include "plan/checks.hpp"

namespace vicinal::allgather_model_tests {
namespace {

using namespace testing;

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

/// Returns what the busiest sender sends, to other regions or inside its own; the bytes are
/// elements.
Sent most_sent(const std::vector<Plan>& plans, Traffic Statistics::* which) {
  Sent most;
  for (const Plan& plan : plans) {
    const Traffic sent = statistics(plan).*which;
    most.messages = std::max(most.messages, static_cast<double>(sent.messages));
    most.bytes = std::max(most.bytes, static_cast<double>(sent.elements));
  }
  return most;
}

}  // namespace

TEST(allgather_equations_have_the_values_of_the_paper) {
  const Postal near{2, 0.5}, far{10, 1};
  const AllgatherModel model{64, 4, 8};  // 16 regions of 4
  CHECK(close(postal_seconds({3, 100}, far), 130));
  CHECK(close(locality_seconds({2, 10}, near, {3, 100}, far), 9 + 130));
  CHECK(close(bruck_seconds(model, far), 6 * 10 + 511));
  CHECK(close(locality_bruck_seconds(model, near, far), 2 * 10 + 128 + 3 * 2 + 511 * 0.5));
}

TEST(allgather_counts_of_the_paper_are_those_of_the_plans) {
  std::printf("  p, p_l: messages (elements) of the rank that sends most, text / plan\n");
  for (const auto& [regions, size] : {std::pair{4, 4}, {16, 4}, {8, 8}, {64, 8}, {9, 3}, {81, 3}}) {
    const int ranks = regions * size;
    const AllgatherModel model{static_cast<double>(ranks), static_cast<double>(size), 1};
    const auto machine = block_machine(ranks, size, size);
    const std::vector<Pattern> patterns =
        allgather_patterns(std::vector<Index>(static_cast<std::size_t>(ranks), 1));
    const auto plain = planned_allgather("bruck", machine, patterns, allgather_options(false));
    const auto aware =
        planned_allgather("locality-bruck", machine, patterns, allgather_options(false));
    const Sent bruck = most_sent(plain, &Statistics::non_local);
    const Sent far = most_sent(aware, &Statistics::non_local);
    const Sent near = most_sent(aware, &Statistics::local);
    const Sent bruck_text = bruck_sent(model);
    const Sent far_text = locality_bruck_non_local(model);
    const Sent near_text = locality_bruck_local(model);
    std::printf(
        "  %4d, %d: bruck %.2f (%.0f) / %.0f (%.0f); locality-bruck between regions %.2f (%.0f) / "
        "%.0f (%.0f), inside %.2f (%.0f) / %.0f (%.0f)\n",
        ranks, size, bruck_text.messages, bruck_text.bytes, bruck.messages, bruck.bytes,
        far_text.messages, far_text.bytes, far.messages, far.bytes, near_text.messages,
        near_text.bytes, near.messages, near.bytes);
    CHECK_EQUAL(bruck.messages, std::ceil(bruck_text.messages - 1e-9));
    CHECK_EQUAL(bruck.bytes, bruck_text.bytes);
    CHECK_EQUAL(far.messages, std::round(far_text.messages));
    CHECK_EQUAL(far.bytes, std::round(far_text.bytes));
    CHECK(near.messages <= std::ceil(std::log2(size)) * (far.messages + 1));
    CHECK(near.bytes <= near_text.bytes);
  }
}

}  // namespace vicinal::allgather_model_tests

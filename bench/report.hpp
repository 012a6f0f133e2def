// Output of benchmarks: a table for people, and with --json FILE the same figures for programs.
// Rank 0 alone prints.
#pragma once

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "measure.hpp"

namespace bench {

/// A figure with its target.
struct Verdict {
  std::string what;
  double value = 0;
  double target = 0;  ///< upper limit; 0 means none
};

class Report {
 public:
  Report(const World& world, std::string name, int argc, char** argv)
      : world_(world), name_(std::move(name)) {
    for (int i = 1; i < argc; ++i) {
      const bool json = std::string_view(argv[i]) == "--json" && i + 1 < argc;
      if (!json && world.rank() == 0) {
        std::fprintf(stderr, "%s: '%s' is not understood; usage: %s [--json FILE]\n", name_.c_str(),
                     argv[i], name_.c_str());
      }
      world.insist(json, "stopping");
      json_ = argv[++i];
    }
    if (world.rank() == 0) std::printf("%s, %d ranks\n", name_.c_str(), world.size());
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  /// Collective. Reports the load by other processes: figures from a busy machine are unreliable.
  ~Report() {
    const double own = world_.sum(now(Clock::cpu) - own_begin_);
    const double all = machine_time() - machine_begin_;
    if (all > 0)
      verdict("processor time of this machine spent on other things, %",
              100 * std::max(0.0, 1 - own / all));
    write_json();
  }

  /// Prints the contestants' times in microseconds, with their ratios to results[base].
  void table(const std::string& title, const std::vector<Result>& results, std::size_t base) {
    if (world_.rank() == 0) {
      std::printf("\n%-46s %11s %11s %9s\n", title.c_str(), "min us", "median us", "ratio");
    }
    for (const Result& result : results) {
      const double relative = ratio(result, results[base]);
      rows_.push_back(
          {title, result.name, result.minimum() * 1e6, result.median() * 1e6, relative});
      if (world_.rank() != 0) continue;
      std::printf("  %-44s %11.2f %11.2f %9.3f\n", result.name.c_str(), result.minimum() * 1e6,
                  result.median() * 1e6, relative);
    }
  }

  void verdict(const std::string& what, double value, double target = 0) {
    verdicts_.push_back({what, value, target});
    if (world_.rank() != 0) return;
    std::printf("  %-58s %10.3f", what.c_str(), value);
    if (target > 0) std::printf("   aim %g: %s", target, value <= target ? "reached" : "MISSED");
    std::printf("\n");
  }

  void heading(const std::string& title) const {
    if (world_.rank() == 0) std::printf("\n%s\n", title.c_str());
  }

 private:
  struct Row {
    std::string table;
    std::string name;
    double minimum_us;
    double median_us;
    double ratio;
  };

  void write_json() const {
    if (json_.empty() || world_.rank() != 0) return;
    std::ofstream file(json_);
    vicinal::JsonWriter json(file);
    json.begin_object().key("benchmark").value(name_).key("ranks").value(world_.size());
    json.key("rows").begin_array();
    for (const Row& row : rows_) {
      json.begin_object().key("table").value(row.table).key("contestant").value(row.name);
      json.key("minimum_us").value(row.minimum_us).key("median_us").value(row.median_us);
      json.key("ratio").value(row.ratio).end_object();
    }
    json.end_array().key("figures").begin_array();
    for (const Verdict& verdict : verdicts_) {
      json.begin_object().key("what").value(verdict.what).key("value").value(verdict.value);
      json.key("target").value(verdict.target).end_object();
    }
    json.end_array().end_object();
    file << '\n';
    if (!file.good()) std::fprintf(stderr, "cannot write %s\n", json_.c_str());
  }

  const World& world_;
  double own_begin_ = now(Clock::cpu);
  double machine_begin_ = machine_time();
  std::string name_;
  std::string json_;
  std::vector<Row> rows_;
  std::vector<Verdict> verdicts_;
};

}  // namespace bench

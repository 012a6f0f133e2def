// Records of an outcome.
#include "choose/outcome.hpp"

#include <ostream>
#include <sstream>

#include "base/log.hpp"
#include "choose/contenders.hpp"
#include "choose/wisdom.hpp"
#include "execute/plan_log.hpp"

namespace vicinal {

std::string outcome_text(const char* how, std::span<const std::string_view> names,
                         std::span<const std::int64_t> times, std::size_t best,
                         std::span<const std::int64_t> left_out) {
  std::ostringstream text;
  const auto write = [&](const char* before, std::span<const std::int64_t> some) {
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (some[i] == untimed) continue;
      text << before << names[i] << ' ' << static_cast<double>(some[i]) / 1000 << " us";
      before = ", ";
    }
  };
  text << how;
  write(": ", times);
  write("; left out before: ", left_out);
  text << "; " << names[best] << " is taken";
  return text.str();
}

void log_outcome(const mpi::ConversationKey& plan, const char* how,
                 std::span<const std::string_view> names, std::span<const std::int64_t> times,
                 std::size_t best, std::span<const std::int64_t> left_out) noexcept {
  log_line(LogLevel::info, [&](std::ostream& line) {
    write_plan_name(line, plan);
    line << ' ' << outcome_text(how, names, times, best, left_out);
  });
}

void remember_outcome(const std::string& wisdom, const std::string& key,
                      std::span<const std::string_view> names,
                      std::span<const std::int64_t> times) {
  WisdomEntry entry;
  entry.key = key;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] != untimed) entry.times.emplace(names[i], times[i]);
  }
  if (!entry.times.empty()) remember(wisdom, std::move(entry));
}

}  // namespace vicinal

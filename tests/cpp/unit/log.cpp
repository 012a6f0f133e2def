// Tests the log: the syntax of VICINAL_LOG, which lines are written, and where.
#include "base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "check.hpp"

namespace vicinal::log_tests {
namespace {

namespace fs = std::filesystem;

/// Logs at `level` as rank 7, into a new folder; restores the log afterwards.
class Logging {
 public:
  Logging(const std::string& level, const std::string& file)
      : folder_(fs::temp_directory_path() / ("vicinal-log-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
    setenv("VICINAL_LOG", (level + ":" + (folder_ / file).string()).c_str(), 1);
    open_log(7);
  }
  Logging(const Logging&) = delete;
  Logging& operator=(const Logging&) = delete;
  ~Logging() {
    unsetenv("VICINAL_LOG");
    open_log(0);
    fs::remove_all(folder_);
  }
  [[nodiscard]] std::string path(const std::string& file) const { return folder_ / file; }
  [[nodiscard]] std::string read(const std::string& file) const {
    std::ifstream in(folder_ / file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  fs::path folder_;
};

void say(LogLevel level, const char* text) {
  log_line(level, [&](std::ostream& line) { line << text; });
}

}  // namespace

TEST(log_wishes_are_a_level_and_perhaps_a_file) {
  for (const char* wrong :
       {"", "all", "Info", "info:", "info ", ":", ":file", "infos:file", "debug,file", "1"}) {
    CHECK(!read_log_wish(wrong));
  }
  const auto wish = [](const char* text) { return read_log_wish(text).value_or(LogWish{}); };
  CHECK(wish("info").level == LogLevel::info && wish("info").file.empty());
  CHECK(wish("debug").level == LogLevel::debug);
  CHECK(read_log_wish("warn").has_value());
  CHECK_EQUAL(wish("info:a/b:c%r").file, std::string("a/b:c%r"));
}

TEST(log_wishes_that_cannot_be_granted_are_told) {
  for (const std::string wrong : {"loud", "info:", "info:/nonexistent/folder/file"}) {
    setenv("VICINAL_LOG", wrong.c_str(), 1);
    CHECK_THROWS(Fault::info, open_log(0), "VICINAL_LOG is '" + wrong + "', but ");
  }
  setenv("VICINAL_LOG", "loud", 1);
  CHECK_THROWS(Fault::info, open_log(0), "'warn', 'info' or 'debug'");
  unsetenv("VICINAL_LOG");
  open_log(0);
  CHECK(logs(LogLevel::warn) && !logs(LogLevel::info));
}

TEST(log_lines_begin_with_the_rank_and_keep_to_their_level) {
  const Logging logging("info", "of-%r-%r");
  say(LogLevel::info, "one");
  say(LogLevel::debug, "two");
  open_log(7);
  say(LogLevel::info, "three");
  CHECK_EQUAL(logging.read("of-7-7"),
              std::string("vicinal: rank 7: one\nvicinal: rank 7: three\n"));
}

TEST(log_keeps_what_is_there) {
  {
    const Logging logging("debug", "file");
    say(LogLevel::debug, "one");
    open_log(8);
    say(LogLevel::info, "two");
    CHECK_EQUAL(logging.read("file"), std::string("vicinal: rank 7: one\nvicinal: rank 8: two\n"));
  }
  CHECK(!logs(LogLevel::info));
}

TEST(log_warnings_come_once_and_on_standard_error_too) {
  const Logging logging("warn", "file");
  const std::string name = logging.path("standard-error");
  const int before = dup(STDERR_FILENO);
  const int caught = ::open(name.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(caught, STDERR_FILENO);
  for (const char* text : {"one", "two", "one"}) warn_once(text);
  say(LogLevel::info, "three");
  dup2(before, STDERR_FILENO);
  close(before);
  close(caught);
  const std::string lines = "vicinal: rank 7: warning: one\nvicinal: rank 7: warning: two\n";
  CHECK_EQUAL(logging.read("file"), lines);
  CHECK_EQUAL(logging.read("standard-error"), lines);
}

TEST(log_makes_no_line_that_nobody_wants) {
  bool made = false;
  log_line(LogLevel::debug, [&](std::ostream&) { made = true; });
  CHECK(!made);
}

}  // namespace vicinal::log_tests

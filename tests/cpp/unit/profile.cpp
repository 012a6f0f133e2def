// Tests profiles: costs derived from their numbers, and the format of their files.
#include "cost/profile.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "check.hpp"
#include "cost/profile_json.hpp"

namespace vicinal::profile_tests {
namespace {

namespace fs = std::filesystem;

Profile example() {
  Profile profile;
  profile.name = "a \"machine\" [1], {2}";
  profile.source = "made up\nfor tests: \\";
  profile.date = "2024-02-29";
  profile.levels[0] = {1e-7, 2e-7, {{Protocol::any_size, 3e-7, 1e-10, false, 0.01}}, false};
  profile.levels[1] = {
      1e-7, 3e-7, {{100, 1e-6, 1e-9, false, 0}, {Protocol::any_size, 5e-6, 1e-10, true, 0.5}}};
  profile.levels[2] = {2e-6,
                       3e-6,
                       {{64, 1e-6, 0, false, 0},
                        {65536, 2e-6, 1e-9, false, 0, 2e-10},
                        {Protocol::any_size, 9e-6, 1e-10, true, 0}}};
  profile.port_seconds_per_byte = 4e-11;
  profile.search = 1e-8;
  profile.handover = 1.25e-7;
  profile.copy_seconds_per_byte = 6.5e-11;
  profile.cores = 0.5;
  profile.device = DeviceCost{
      "a GPU", 4, {3e-6, 5e-6, 1e-12, 0.25}, {2e-6, 9e-6, 4e-11}, {2.5e-6, 8e-6, 5e-11}, {}, {}};
  profile.device->peer = DeviceWork{1e-6, 2e-6, 3e-12, 0};
  profile.device->levels = profile.levels;
  return profile;
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = write_profile(example());
  const std::size_t at = text.find(from);
  CHECK(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void refused(const std::string& from, const std::string& to, const std::string& words) {
  const std::string text = replaced(from, to);
  CHECK_THROWS(Fault::info, read_profile(text, "profile 'x'"), "profile 'x'");
  CHECK_THROWS(Fault::info, read_profile(text, "profile 'x'"), words);
}

}  // namespace

TEST(protocols_go_by_size) {
  const Profile profile = example();
  const LevelCost& network = profile.network();
  CHECK_EQUAL(network.protocol(0).latency, 1e-6);
  CHECK_EQUAL(network.protocol(64).latency, 1e-6);
  CHECK_EQUAL(network.protocol(65).latency, 2e-6);
  CHECK_EQUAL(network.protocol(65536).latency, 2e-6);
  CHECK(network.protocol(65537).rendezvous);
  CHECK(std::abs(network.sending(1000) - (2e-6 + 1000 * 2e-10)) < 1e-15);
  CHECK(std::abs(network.receiving(1000) - (3e-6 + 1000 * 2e-10)) < 1e-15);
  CHECK_EQUAL(network.handling(64), network.overhead());
  const double expected = 2e-6 + network.handling(1000) + 1000 * 1e-9;
  CHECK(std::abs(network.seconds(1000) - expected) < 1e-15);
}

TEST(profiles_are_read_as_they_were_written) {
  for (const Profile& profile : {example(), default_profile()}) {
    const std::string text = write_profile(profile);
    const Profile read = read_profile(text, "it");
    CHECK(read == profile);
    CHECK_EQUAL(write_profile(read), text);
    CHECK_EQUAL(identity(read), identity(profile));
  }
  Profile other = example();
  other.levels[1].protocols[0].latency *= 1 + 1e-15;
  CHECK(identity(other) != identity(example()));
  CHECK(identity(other).starts_with("a \"machine\" [1], {2} (fingerprint "));
}

TEST(what_a_profile_may_leave_out) {
  std::string text = replaced("\"cores\": 0.5", "\"cores\": 0");
  for (const std::string part :
       {",\n  \"cores\": 0", "\"date\": \"2024-02-29\",\n  ", ", \"residual\": 0.5",
        ", \"processor_seconds_per_byte\": 2e-10"}) {
    const std::size_t at = text.find(part);
    CHECK(at != std::string::npos);
    text.erase(at, part.size());
  }
  Profile expected = example();
  expected.cores = 0;
  expected.date.clear();
  expected.levels[1].protocols[1].residual = 0;
  expected.levels[2].protocols[1].processor_seconds_per_byte = 0;
  CHECK(read_profile(text, "it") == expected);
}

TEST(a_profile_that_is_none_says_so) {
  refused("vicinal profile", "other", "kind is 'other', but 'vicinal profile' is expected");
  refused("\"format\": 1", "\"format\": 2", "format is 2, but 1 is the only one");
  refused("\"format\": 1", "\"format\": \"1\"",
          "line 3: format is '1', but the number 1 is expected");
  refused("\"name\"", "\"nane\"", "name is missing");
  refused("\"search\": 1e-08", "\"search\": -1",
          "search is -1, but a number of seconds, not negative, is expected");
  refused(
      "\"processor_seconds_per_byte\": 2e-10", "\"processor_seconds_per_byte\": true",
      "levels.network.protocols[1].processor_seconds_per_byte is true, but a number of seconds");
  refused("\"search\": 1e-08", "\"search\": null", "search is null, but");
  refused("\"search\": 1e-08", "\"search\": NaN", "a value is expected, but there is 'N'");
  refused("\"search\": 1e-08", "\"search\": 1, \"speed\": 1",
          "speed is not known; there may be copy_seconds_per_byte, cores, date,");
  refused("\"network\"", "\"web\"", "levels.network is missing");
  refused("\"handover\"", "\"levels\"", "'levels' is given twice");
  refused("\"latency\": 5e-06", "\"latency\": \"5us\"",
          "levels.node.protocols[1].latency is '5us', but a number of seconds");
  refused("\"up_to\": 65536", "\"up_to\": 64",
          "levels.network.protocols[1].up_to is 64, but more than the 64 before it is expected");
  refused("\"up_to\": 65536", "\"up_to\": 6.5", "up_to is 6.5, but a whole number of bytes");
  refused("\"up_to\": 65536, ", "", "levels.network.protocols[1].up_to is missing");
  refused("{\"latency\": 9e-06", "{\"up_to\": 99999999, \"latency\": 9e-06",
          "levels.network.protocols[2].up_to is given, but the last protocol is for messages of "
          "any size");
  refused("\"rendezvous\": true", "\"rendezvous\": 1",
          "rendezvous is 1, but true or false is expected");
  refused("\"measured\": false", "\"measured\": false, \"gap\": 1",
          "levels.domain.gap is not known");
  refused("\"count\": 4", "\"count\": 1.5",
          "device.count is 1.5, but a whole number of GPUs, or 0 where each rank has its own,");
  refused("\"count\": 4,\n    ", "", "device.count is missing");
  refused("\"to_host\"", "\"to_hell\"", "device.to_host is missing");
  refused(",\n      \"seconds_per_byte\": 4e-11", "", "device.to_host.seconds_per_byte is missing");
  refused("\"count\": 4", "\"count\": 4, \"memory\": 1", "device.memory is not known");
  CHECK_THROWS(Fault::info, read_profile("[]", "it"), "it is an array, but an object is expected");
  Profile empty = example();
  empty.levels[2].protocols.clear();
  CHECK_THROWS(Fault::info, read_profile(write_profile(empty), "it"),
               "levels.network.protocols is an array, but an array of at least one protocol");
}

TEST(profiles_survive_garbage) {
  const std::string text = write_profile(example());
  const std::string whole = text.substr(0, text.find_last_of('}') + 1);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK_THROWS(Fault::info, read_profile(whole.substr(0, length), "it"),
                 "perhaps it was cut off");
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char byte : {'\0', '"', '\\', '}', '9', '-', 'e', ' ', '\x80'}) {
      std::string changed = text;
      changed[i] = byte;
      try {
        static_cast<void>(identity(read_profile(changed, "it")));
      } catch (const Error& error) {
        CHECK(error.fault() == Fault::info);
      }
    }
  }
}

TEST(profiles_of_files_are_read_once) {
  const fs::path folder =
      fs::temp_directory_path() / ("vicinal-profile-" + std::to_string(getpid()));
  fs::create_directory(folder);
  const std::string path = folder / "a.json";
  CHECK_THROWS(Fault::info, profile_at(path),
               "profile '" + path + "' cannot be read: No such file");
  CHECK_THROWS(Fault::info, profile_at(folder), "it is no regular file");
  std::ofstream(path) << write_profile(example());
  const auto first = profile_at(path);  // the earlier fault was not kept
  CHECK(*first == example());
  std::ofstream(path) << "{}";
  CHECK_EQUAL(profile_at(path), first);
  CHECK_THROWS(Fault::info, read_profile_file(path), "kind is missing");
  std::ofstream(path) << std::string((1U << 20U) + 1, ' ');
  CHECK_THROWS(Fault::info, read_profile_file(path), "bytes, but no profile is that large");
  fs::remove_all(folder);
}

}  // namespace vicinal::profile_tests

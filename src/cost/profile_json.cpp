// Each key has one line in each of two lists: of keys read, and of keys written.
#include "cost/profile_json.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/given.hpp"
#include "base/guarded.hpp"
#include "base/json.hpp"

namespace vicinal {

namespace {

constexpr std::string_view kind = "vicinal profile";
constexpr int format = 1;
/// Far more than any profile; a larger file is something else, given by mistake.
constexpr std::uintmax_t largest_file = 1U << 20U;
constexpr const char* seconds_or_none = "a number of seconds, not negative,";
constexpr const char* relative_error = "a relative error, not negative,";
constexpr const char* number_of_gpus = "a whole number of GPUs, or 0 where each rank has its own,";
constexpr double most_gpus = 1 << 20;

using Levels = std::array<LevelCost, level_count>;

/// One object of the text, with its members accessed by name. Members never accessed are unknown
/// keys.
class Members {
 public:
  Members(const JsonValue& value, std::string path, std::string_view origin)
      : path_(std::move(path)), origin_(origin), object_(value.object()) {
    if (object_ == nullptr) refuse(path_.empty() ? "it" : path_, value, "an object");
  }

  const JsonValue& value(const char* name) {
    const JsonValue* found = find(name);
    require(found != nullptr, Fault::info, origin_, ": ", full(name), " is missing");
    return *found;
  }
  std::string text(const char* name) {
    const JsonValue& found = value(name);
    if (found.text() == nullptr) refuse(full(name), found, "a text");
    return *found.text();
  }
  std::string text_or_none(const char* name) { return has(name) ? text(name) : std::string(); }
  bool truth(const char* name, bool otherwise) { return has(name) ? truth(name) : otherwise; }
  bool truth(const char* name) {
    const JsonValue& found = value(name);
    if (found.truth() == nullptr) refuse(full(name), found, "true or false");
    return *found.truth();
  }
  double amount(const char* name, const char* of_what = seconds_or_none) {
    const JsonValue& found = value(name);
    if (found.number() == nullptr || *found.number() < 0) refuse(full(name), found, of_what);
    return *found.number() + 0.0;  // removes a negative zero
  }
  double amount_or_none(const char* name, const char* of_what) {
    return has(name) ? amount(name, of_what) : 0;
  }
  /// Returns a number of bytes, at least 0.
  std::int64_t bytes(const char* name) {
    constexpr double largest = 9007199254740992.0;  // up to which every whole number is a double
    const JsonValue& found = value(name);
    const double* number = found.number();
    if (number == nullptr || *number < 0 || *number > largest || *number != std::floor(*number)) {
      refuse(full(name), found, "a whole number of bytes, not negative,");
    }
    return static_cast<std::int64_t>(*number);
  }
  Members object(const char* name) { return {value(name), full(name), origin_}; }
  [[nodiscard]] bool has(const char* name) { return find(name) != nullptr; }
  [[nodiscard]] std::string full(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }
  [[nodiscard]] std::string_view origin() const { return origin_; }

  /// Throws for a member that was never accessed.
  void finish() const {
    for (const auto& [name, found] : *object_) {
      if (asked_.contains(name)) continue;
      std::ostringstream known;
      for (const std::string& each : asked_) known << (known.tellp() > 0 ? ", " : "") << each;
      fail(Fault::info, origin_, ", line ", found.line(), ": ", full(name),
           " is not known; there may be ", known.str());
    }
  }

  [[noreturn]] void refuse(const std::string& what, const JsonValue& found,
                           const char* instead) const {
    fail(Fault::info, origin_, ", line ", found.line(), ": ", what, " is ", found.described(),
         ", but ", instead, " is expected");
  }

 private:
  const JsonValue* find(const char* name) {
    asked_.insert(name);
    const auto found = std::find_if(object_->begin(), object_->end(),
                                    [&](const auto& member) { return member.first == name; });
    return found == object_->end() ? nullptr : &found->second;
  }

  std::string path_;
  std::string_view origin_;
  const JsonValue::Object* object_;
  std::set<std::string> asked_;
};

Protocol read_protocol(Members members, bool is_last) {
  Protocol protocol;
  if (!is_last) protocol.up_to = members.bytes("up_to");
  require(!is_last || !members.has("up_to"), Fault::info, members.origin(), ": ",
          members.full("up_to"), " is given, but the last protocol is for messages of any size");
  protocol.latency = members.amount("latency");
  protocol.seconds_per_byte = members.amount("seconds_per_byte");
  protocol.rendezvous = members.truth("rendezvous");
  protocol.processor_seconds_per_byte =
      members.amount_or_none("processor_seconds_per_byte", seconds_or_none);
  protocol.residual = members.amount_or_none("residual", relative_error);
  members.finish();
  return protocol;
}

LevelCost read_level(Members members) {
  LevelCost level;
  level.measured = members.truth("measured", true);
  level.send_overhead = members.amount("send_overhead");
  level.receive_overhead = members.amount("receive_overhead");
  const JsonValue& given = members.value("protocols");
  const std::string path = members.full("protocols");
  if (given.array() == nullptr || given.array()->empty()) {
    members.refuse(path, given, "an array of at least one protocol");
  }
  for (const JsonValue& each : *given.array()) {
    const std::size_t index = level.protocols.size();
    const bool is_last = index + 1 == given.array()->size();
    level.protocols.push_back(
        read_protocol({each, path + "[" + std::to_string(index) + "]", members.origin()}, is_last));
    require(index == 0 || level.protocols[index - 1].up_to < level.protocols[index].up_to,
            Fault::info, members.origin(), ": ", path, "[", index, "].up_to is ",
            level.protocols[index].up_to, ", but more than the ",
            index == 0 ? 0 : level.protocols[index - 1].up_to, " before it is expected");
  }
  members.finish();
  return level;
}

void write(JsonWriter& json, const Protocol& protocol) {
  json.begin_object();
  if (protocol.up_to != Protocol::any_size) json.key("up_to").value(protocol.up_to);
  json.key("latency").value(protocol.latency);
  json.key("seconds_per_byte").value(protocol.seconds_per_byte);
  json.key("rendezvous").value(protocol.rendezvous);
  // Omitted if 0, so that profiles without it keep their text and fingerprint.
  if (protocol.processor_seconds_per_byte > 0) {
    json.key("processor_seconds_per_byte").value(protocol.processor_seconds_per_byte);
  }
  json.key("residual").value(protocol.residual).end_object();
}

void write(JsonWriter& json, const LevelCost& level) {
  json.begin_object().key("measured").value(level.measured);
  json.key("send_overhead").value(level.send_overhead);
  json.key("receive_overhead").value(level.receive_overhead);
  json.key("protocols").begin_array();
  for (const Protocol& protocol : level.protocols) write(json, protocol);
  json.end_array().end_object();
}

Levels read_levels(Members members) {
  Levels levels;
  for (std::size_t i = 0; i < level_count; ++i) {
    levels[i] = read_level(members.object(level_names[i]));
  }
  members.finish();
  return levels;
}

DeviceWork read_work(Members members) {
  DeviceWork work;
  work.overhead = members.amount("overhead");
  work.latency = members.amount("latency");
  work.seconds_per_byte = members.amount("seconds_per_byte");
  work.residual = members.amount_or_none("residual", relative_error);
  members.finish();
  return work;
}

DeviceCost read_device(Members members) {
  DeviceCost device;
  device.name = members.text("name");
  const double count = members.amount("count", number_of_gpus);
  if (count != std::floor(count) || count > most_gpus) {
    members.refuse(members.full("count"), members.value("count"), number_of_gpus);
  }
  device.count = static_cast<int>(count);
  device.kernel = read_work(members.object("kernel"));
  device.to_host = read_work(members.object("to_host"));
  device.to_device = read_work(members.object("to_device"));
  if (members.has("peer")) device.peer = read_work(members.object("peer"));
  if (members.has("levels")) device.levels = read_levels(members.object("levels"));
  members.finish();
  return device;
}

void write(JsonWriter& json, const Levels& levels) {
  json.begin_object();
  for (std::size_t i = 0; i < level_count; ++i) write(json.key(level_names[i]), levels[i]);
  json.end_object();
}

void write(JsonWriter& json, const DeviceWork& work) {
  json.begin_object().key("overhead").value(work.overhead).key("latency").value(work.latency);
  json.key("seconds_per_byte").value(work.seconds_per_byte);
  json.key("residual").value(work.residual).end_object();
}

void write(JsonWriter& json, const DeviceCost& device) {
  json.begin_object().key("name").value(device.name);
  json.key("count").value(std::int64_t{device.count});
  write(json.key("kernel"), device.kernel);
  write(json.key("to_host"), device.to_host);
  write(json.key("to_device"), device.to_device);
  if (device.peer) write(json.key("peer"), *device.peer);
  if (device.levels) write(json.key("levels"), *device.levels);
  json.end_object();
}

/// The whole profile, in one line.
std::string canonical(const Profile& profile) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // a partial text would be mistaken for another profile
  JsonWriter json(out);
  json.begin_object().key("kind").value(kind).key("format").value(format);
  json.key("name").value(profile.name).key("source").value(profile.source);
  json.key("date").value(profile.date);
  write(json.key("levels"), profile.levels);
  json.key("port_seconds_per_byte").value(profile.port_seconds_per_byte);
  json.key("search").value(profile.search).key("handover").value(profile.handover);
  json.key("copy_seconds_per_byte").value(profile.copy_seconds_per_byte);
  json.key("cores").value(profile.cores).key("turn").value(profile.turn);
  json.key("poll").value(profile.poll);
  if (profile.gap) json.key("gap").value(*profile.gap);
  if (profile.device) write(json.key("device"), *profile.device);
  json.end_object();
  return std::move(out).str();
}

/// Breaks the outer levels of brackets into lines, for people. Leaves strings alone, including
/// brackets in them.
std::string in_lines(const std::string& json) {
  constexpr int broken_up = 3;
  std::string lines;
  int depth = 0;
  bool in_string = false;
  const auto new_line = [&] {
    lines += '\n' + std::string(2 * static_cast<std::size_t>(depth), ' ');
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string || c == '"') {
      if (c == '"') in_string = !in_string;
      lines += c;
      if (c == '\\') lines += json[++i];
      continue;
    }
    const bool closes = c == '}' || c == ']';
    if (closes && depth-- <= broken_up) new_line();
    lines += c;
    if ((c == '{' || c == '[') && ++depth <= broken_up) new_line();
    if (c == ',' && depth <= broken_up) {
      new_line();
      ++i;  // the space that the writer puts there
    }
  }
  return lines + '\n';
}

/// Throws for values that LogGP's rules do not use.
void require_loggp(const Profile& profile, std::string_view origin) {
  const auto none = [&](const char* name, double value) {
    require(value == 0, Fault::info, origin, ": ", name, " is ", value,
            ", but with a gap, which stands for LogGP, 0 is expected");
  };
  none("port_seconds_per_byte", profile.port_seconds_per_byte);
  none("search", profile.search);
  none("cores", profile.cores);
  none("turn", profile.turn);
  none("poll", profile.poll);
  for (std::size_t i = 0; i < level_count; ++i) {
    for (const Protocol& protocol : profile.levels[i].protocols) {
      require(!protocol.rendezvous, Fault::info, origin, ": a protocol of levels.", level_names[i],
              " has rendezvous, but with a gap, which stands for LogGP, it cannot");
    }
  }
}

}  // namespace

Profile read_profile(std::string_view json, std::string_view origin) {
  const JsonValue whole = read_json(json, origin);
  Members members(whole, "", origin);
  const std::string what = members.text("kind");
  require(what == kind, Fault::info, origin, ": kind is '", what, "', but '", kind,
          "' is expected: this is another kind of file");
  const double version = members.amount("format", "the number 1");
  require(version == format, Fault::info, origin, ": format is ", version, ", but ", format,
          " is the only one that this version of vicinal knows");
  Profile profile;
  profile.name = members.text("name");
  profile.source = members.text("source");
  profile.date = members.text_or_none("date");
  profile.levels = read_levels(members.object("levels"));
  profile.port_seconds_per_byte = members.amount("port_seconds_per_byte");
  profile.search = members.amount("search");
  profile.handover = members.amount("handover");
  profile.copy_seconds_per_byte = members.amount("copy_seconds_per_byte");
  profile.cores = members.amount_or_none("cores", "a number of cores, not negative,");
  if (members.has("turn")) profile.turn = members.amount("turn");
  if (members.has("poll")) profile.poll = members.amount("poll");
  if (members.has("gap")) {
    profile.gap = members.amount("gap");
    require_loggp(profile, origin);
  }
  if (members.has("device")) profile.device = read_device(members.object("device"));
  members.finish();
  return profile;
}

Profile read_profile_file(const std::string& path) {
  const std::string origin = "profile '" + path + "'";
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  require(std::filesystem::exists(status), Fault::info, origin,
          " cannot be read: ", error ? error.message() : "there is no such file");
  require(std::filesystem::is_regular_file(status), Fault::info, origin,
          " cannot be read: it is no regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  require(error || size <= largest_file, Fault::info, origin, " has ", size,
          " bytes, but no profile is that large: this is another kind of file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  require(file.good() || file.eof(), Fault::info, origin,
          " cannot be read: ", errno != 0 ? std::strerror(errno) : "it was there a moment ago");
  return read_profile(text, origin);
}

std::shared_ptr<const Profile> profile_at(const std::string& path) {
  static Mutex mutex;
  static std::map<std::string, std::shared_ptr<const Profile>> known;
  const Lock lock(mutex);
  std::shared_ptr<const Profile>& profile = known[path];
  if (!profile) profile = std::make_shared<const Profile>(read_profile_file(path));
  return profile;
}

std::string write_profile(const Profile& profile) { return in_lines(canonical(profile)); }

// Each plan asks for it, mostly of the same profile as the last one. Comparing profiles is faster
// than writing one.
std::string identity(const Profile& profile) {
  static Mutex mutex;
  static std::optional<std::pair<Profile, std::string>> last;
  const Lock lock(mutex);
  if (!last || last->first != profile) {
    std::ostringstream text;
    text.exceptions(std::ios::badbit);  // as above
    text << profile.name << " (fingerprint " << std::hex << std::setw(16) << std::setfill('0')
         << fingerprint(canonical(profile)) << ')';
    last.emplace(profile, std::move(text).str());
  }
  return last->second;
}

}  // namespace vicinal

// Code on the disk is in one file per key. Its first line describes the code that follows. Code
// from CUDA's compiler is in the library, if CUDA was present when vicinal was built.
#include "memory/device/compiler.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <ostream>
#include <span>
#include <sstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/scramble.hpp"
#include "memory/device/kernel_source.hpp"
#include "memory/device/precompiled_kernels.hpp"

namespace vicinal::device {

/// A program to compile; destroyed at the end.
class Compiler::Program {
 public:
  Program(const Calls& calls, std::string_view source) : calls_(calls) {
    const Status status = calls_.create.function(&handle_, std::string(source).c_str(),
                                                 "vicinal_kernels.cu", 0, nullptr, nullptr);
    require(status == success, Fault::unsupported, calls_.create.name, " has failed with ", status);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { calls_.destroy.function(&handle_); }

  bool compile(std::span<const char* const> options) {
    return calls_.compile.function(handle_, static_cast<int>(options.size()), options.data()) ==
           success;
  }
  [[nodiscard]] std::string text(const Entry<void*, std::size_t*>& size,
                                 const Entry<void*, char*>& content) const {
    std::size_t bytes = 0;
    if (size.function(handle_, &bytes) != success) return {};
    std::string result(bytes, '\0');
    return content.function(handle_, result.data()) == success ? result : std::string();
  }

 private:
  const Calls& calls_;
  void* handle_ = nullptr;
};

Compiler::Compiler(const Driver& driver) {
  const bool nvidia = driver.vendor() == Driver::Vendor::nvidia;
  library_ = driver.library();
  if (library_.find(nvidia ? "nvrtcVersion" : "hiprtcVersion") == nullptr) {
    library_ = nvidia ? Library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"})
                      : Library({"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so"});
  }
  if (!library_) {
    why_ = library_.why();
    return;
  }
  Finder find(library_);
  const auto both = [&](auto& entry, const char* name, const char* amds) {
    find(entry, nvidia ? name : amds);
  };
  both(calls_.version, "nvrtcVersion", "hiprtcVersion");
  both(calls_.create, "nvrtcCreateProgram", "hiprtcCreateProgram");
  both(calls_.compile, "nvrtcCompileProgram", "hiprtcCompileProgram");
  both(calls_.destroy, "nvrtcDestroyProgram", "hiprtcDestroyProgram");
  both(calls_.log_size, "nvrtcGetProgramLogSize", "hiprtcGetProgramLogSize");
  both(calls_.log, "nvrtcGetProgramLog", "hiprtcGetProgramLog");
  both(calls_.code_size, "nvrtcGetCUBINSize", "hiprtcGetCodeSize");
  both(calls_.code, "nvrtcGetCUBIN", "hiprtcGetCode");
  if (nvidia) {
    find(calls_.portable_size, "nvrtcGetPTXSize");
    find(calls_.portable, "nvrtcGetPTX");
  }
  if (find.missing() != nullptr) {
    why_ = library_.name() + " has no " + find.missing();
    return;
  }
  int major = 0;
  int minor = 0;
  calls_.version.function(&major, &minor);
  names_architecture_ = nvidia;
  version_ = std::string(nvidia ? "NVRTC " : "hipRTC ") + std::to_string(major) + "." +
             std::to_string(minor);
}

std::string Compiler::compile(std::string_view source, const std::string& architecture) const {
  const std::string option = "--gpu-architecture=" + architecture;
  const std::array<const char*, 1> options{option.c_str()};
  Program program(calls_, source);
  const std::span<const char* const> given(options.data(), names_architecture_ ? 1 : 0);
  if (program.compile(given)) return program.text(calls_.code_size, calls_.code);
  const std::string said = program.text(calls_.log_size, calls_.log);
  if (names_architecture_) {
    Program portable(calls_, source);
    if (portable.compile({})) return portable.text(calls_.portable_size, calls_.portable);
  }
  fail(Fault::unsupported, version_, " does not compile the kernels for ", architecture, ": ",
       said.c_str());
}

std::string_view kernel_source() { return kernel_source_text; }

std::string kernel_code(const Driver& driver, const std::string& architecture) {
  const Compiler compiler(driver);
  require(static_cast<bool>(compiler), Fault::unsupported,
          "no run-time compiler for kernels: ", compiler.why());
  const std::string key = "for " + architecture + " by " + compiler.version();
  if (auto code = cached_code(key)) return *std::move(code);
  std::string code = compiler.compile(kernel_source(), architecture);
  require(!code.empty(), Fault::unsupported, compiler.version(), " gives no code for ",
          architecture);
  log_line(LogLevel::info, [&](std::ostream& line) {
    line << "device memory: kernels " << key << " compiled, " << code.size() << " bytes";
  });
  cache_code(key, code);
  return code;
}

namespace {

std::uint64_t hash(std::string_view text) {
  std::uint64_t state = text.size();
  for (const char letter : text) state = scramble(state ^ static_cast<unsigned char>(letter));
  return state;
}

std::string hex(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << number;
  return text.str();
}

/// Adds what the code depends on besides its key.
std::string with_source(const std::string& key) {
  return key + " of " + hex(hash(kernel_source()));
}

/// Returns the first line of a file: the key, the size and a checksum of the code.
std::string heading(const std::string& key, std::string_view code) {
  return "vicinal kernels 1 " + with_source(key) + " " + std::to_string(code.size()) + " " +
         hex(hash(code));
}

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

/// Returns the directory, created if `make`; "" if there is no place for it.
std::string folder(bool make) {
  std::string path = variable("XDG_CACHE_HOME");
  if (path.empty() && !variable("HOME").empty()) path = variable("HOME") + "/.cache";
  if (path.empty() || path.front() != '/') return {};
  if (make) mkdir(path.c_str(), 0700);
  path += "/vicinal";
  if (make) mkdir(path.c_str(), 0700);
  return path;
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = write(file, text.data(), text.size());
    if (bytes <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

std::string path_in(const std::string& folder, const std::string& key) {
  return folder.empty() ? folder : folder + "/" + hex(hash(with_source(key))) + ".kernels";
}

}  // namespace

std::string cache_path(const std::string& key) { return path_in(folder(false), key); }

std::optional<std::string> cached_code(const std::string& key) {
  std::ifstream file(cache_path(key), std::ios::binary);
  std::string first;
  if (!std::getline(file, first)) return std::nullopt;
  std::string code{std::istreambuf_iterator<char>(file), {}};
  if (first != heading(key, code)) return std::nullopt;
  return code;
}

void cache_code(const std::string& key, std::string_view code) noexcept try {
  const std::string path = path_in(folder(true), key);
  if (path.empty()) return;
  // Other processes may write the same file: each writes its own, and rename() replaces atomically.
  std::string fresh = path + ".XXXXXX";
  const int file = mkostemp(fresh.data(), O_CLOEXEC);
  if (file < 0) return;
  const bool written = write_whole(file, heading(key, code) + "\n") && write_whole(file, code);
  if (close(file) != 0 || !written || rename(fresh.c_str(), path.c_str()) != 0) {
    unlink(fresh.c_str());
  }
} catch (const std::exception&) {
  // Out of memory: the code is not cached.
}

std::string_view precompiled_kernels() {
  return {reinterpret_cast<const char*>(precompiled_bytes), sizeof precompiled_bytes - 1};
}

}  // namespace vicinal::device

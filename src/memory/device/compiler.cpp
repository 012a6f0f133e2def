#include "memory/device/compiler.hpp"

#include <array>
#include <ostream>
#include <span>

#include "base/error.hpp"
#include "base/log.hpp"
#include "memory/device/kernel_source.hpp"

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

}  // namespace vicinal::device

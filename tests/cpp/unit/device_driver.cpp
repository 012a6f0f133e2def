// Tests GPU drivers found at run time: their choice, their addresses, their errors, and the kernel
// cache on disk.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "check.hpp"
#include "driver_double.hpp"
#include "memory/device/compiler.hpp"
#include "memory/device/device.hpp"

namespace vicinal::device_driver_tests {
namespace {

using namespace device;
using testing::DriverDouble;

/// Collects log lines during its lifetime.
class Logged {
 public:
  explicit Logged(const char* name)
      : path_(std::filesystem::temp_directory_path() /
              (std::string(name) + std::to_string(getpid()))) {
    setenv("VICINAL_LOG", ("info:" + path_.string()).c_str(), 1);
    open_log(0);
  }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;
  ~Logged() {
    unsetenv("VICINAL_LOG");
    open_log(0);
    std::filesystem::remove(path_);
  }
  [[nodiscard]] bool says(const std::string& part) const {
    std::ifstream file(path_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.find(part) != std::string::npos;
  }

 private:
  std::filesystem::path path_;
};

/// Cache folder, empty at first.
class CacheFolder {
 public:
  CacheFolder() {
    std::filesystem::remove_all(path_);
    setenv("XDG_CACHE_HOME", path_.c_str(), 1);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder() {
    setenv("XDG_CACHE_HOME", "nowhere", 1);
    std::filesystem::remove_all(path_);
  }
  [[nodiscard]] int files() const {
    int count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(path_)) {
      count += file.is_regular_file() ? 1 : 0;
    }
    return count;
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("vicinal-cache-" + std::to_string(getpid()));
};

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST(without_a_driver_all_memory_is_the_hosts) {
  const int here = 0;
  CHECK(find_drivers_again("none").empty());
  CHECK_EQUAL(&kind_of(&here), &host_memory());
  CHECK(device_memory_at(&here) == nullptr);
}

TEST(a_driver_that_cannot_be_used_is_told_of_and_left_alone) {
  const Logged log("vicinal-driver-log");
  CHECK(find_drivers_again("/no/such/driver.so").empty());
  CHECK(log.says("VICINAL_DEVICE_DRIVER is '/no/such/driver.so', which is not used: "));
  CHECK(find_drivers_again("libm.so.6").empty());
  CHECK(log.says("it has neither cuInit nor hipInit"));
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    gpu.set("version", 4000);
    CHECK(find_drivers_again(path).empty());
    gpu.set("version", 0);
    CHECK(log.says(std::string(path) + " is of version 4000, at least "));
    CHECK_EQUAL(find_drivers_again(path).size(), 1U);
    CHECK(log.says(std::string(gpu.driver().name()) + " by " + path));
  }
  const int here = 0;
  find_drivers_again("none");
  CHECK_EQUAL(&kind_of(&here), &host_memory());
}

TEST(addresses_are_told_apart) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const MemoryBlock first(gpu.memory(0), 1000), second(gpu.memory(1), 1000);
    const MemoryBlock pinned(gpu.memory(0).staging(), 1000);
    const int here = 0;
    CHECK_EQUAL(&kind_of(&here), &host_memory());
    CHECK_EQUAL(&kind_of(nullptr), &host_memory());
    CHECK_EQUAL(&kind_of(first.data()), &gpu.memory(0));
    CHECK_EQUAL(&kind_of(first.data() + 999), &gpu.memory(0));
    CHECK_EQUAL(&kind_of(second.data() + 5), &gpu.memory(1));
    CHECK(&gpu.memory(0) != &gpu.memory(1));
    CHECK_EQUAL(&kind_of(pinned.data()), &host_memory());
    CHECK(is_known(first.data()) && is_known(pinned.data()) && !is_known(&here));
    CHECK(!kind_of(first.data()).is_reachable());
    CHECK(gpu.memory().staging().is_reachable());
    CHECK_EQUAL(std::string(gpu.memory(1).name()), std::string(gpu.driver().name()) + " device 1");
    CHECK_THROWS(
        Fault::unsupported, require_reachable(second.data(), "send buffer"),
        std::string("the send buffer lies in ") + gpu.driver().name() + " device 1 memory");
    require_reachable(pinned.data(), "send buffer");
  }
}

TEST(managed_memory_is_the_hosts_too) {
  const DriverDouble gpu;
  const Library library({DRIVER_DOUBLE_CUDA});
  Entry<void**, std::size_t, unsigned> allocate;
  Finder find(library);
  find(allocate, "cuMemAllocManaged");
  Device device(gpu.driver(), 1);
  const Device::Current current(device);
  const long held = gpu.held();
  void* memory = nullptr;
  gpu.driver().call(allocate, &memory, 100U, 1U);
  const Place expected{Place::Kind::managed, 1};
  CHECK(gpu.driver().locate(memory) == expected);
  CHECK_EQUAL(&kind_of(memory), &host_memory());
  gpu.driver().call(gpu.driver().calls.release, memory);
  CHECK_EQUAL(gpu.held(), held);
}

TEST(failures_of_the_driver_are_named) {
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const bool nvidia = gpu.driver().vendor() == Driver::Vendor::nvidia;
    MemoryBlock(gpu.memory(), 8);  // sets the device up
    const long held = gpu.held();
    const auto allocate_failing = [&](long ahead) {
      gpu.set("fail_at", gpu.get("calls") + ahead);
      MemoryBlock(gpu.memory(), 8);
    };
    CHECK_THROWS(Fault::memory, allocate_failing(2),
                 nvidia ? "cuMemAlloc_v2 has failed with 2: out of memory; give back device"
                        : "hipMalloc has failed with 2: out of memory; give back device");
    CHECK_THROWS(
        Fault::device, allocate_failing(1),
        nvidia ? "cuCtxPushCurrent_v2 has failed with 719: unspecified launch failure; what the"
               : "hipSetDevice has failed with 719: unspecified launch failure; what the");
    gpu.set("fail_at", 0);
    CHECK_EQUAL(gpu.held(), held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

TEST(code_is_kept_on_the_disk) {
  const DriverDouble gpu;
  const CacheFolder folder;
  const std::string key = "for sm_90 by NVRTC 0.1";
  const long before = gpu.get("compilations");
  const std::string code = kernel_code(gpu.driver(), "sm_90");
  CHECK_EQUAL(gpu.get("compilations"), before + 1);
  CHECK_EQUAL(folder.files(), 1);
  CHECK_EQUAL(kernel_code(gpu.driver(), "sm_90"), code);
  CHECK_EQUAL(gpu.get("compilations"), before + 1);
  CHECK(cached_code(key) == code);
  // Each architecture has its own file.
  CHECK(kernel_code(gpu.driver(), "sm_80") != code);
  CHECK_EQUAL(gpu.get("compilations"), before + 2);
  CHECK_EQUAL(folder.files(), 2);
  CHECK(cached_code(key) == code);
}

TEST(what_is_no_whole_code_on_the_disk_is_replaced) {
  const DriverDouble gpu;
  const CacheFolder folder;
  const std::string key = "for sm_90 by NVRTC 0.1";
  const std::string code = kernel_code(gpu.driver(), "sm_90");
  const std::string path = cache_path(key);
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::string other = whole;
  other.back() = static_cast<char>(other.back() ^ 1);
  for (const std::string& wrong :
       {std::string(), std::string("x"), whole.substr(0, whole.size() - 1), whole + "x", other,
        whole.substr(0, whole.find('\n')), std::string("vicinal kernels 1\n") + code}) {
    write(path, wrong);
    CHECK(!cached_code(key));
    CHECK_EQUAL(kernel_code(gpu.driver(), "sm_90"), code);
    CHECK(cached_code(key) == code);
  }
  CHECK_EQUAL(folder.files(), 1);
  // If the cache cannot be written, code is compiled each time.
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CHECK_EQUAL(kernel_code(gpu.driver(), "sm_90"), code);
  CHECK_EQUAL(folder.files(), 0);
}

TEST(architectures_that_a_compiler_does_not_know_get_code_for_any) {
  const DriverDouble gpu;
  CHECK(kernel_code(gpu.driver(), "sm_99").find("for any architecture") != std::string::npos);
  gpu.set("no_compiler", 1);
  CHECK_THROWS(Fault::unsupported, static_cast<void>(kernel_code(gpu.driver(), "sm_90")),
               "NVRTC 0.1 does not compile the kernels for sm_90");
}

TEST(vendors_compilers_compile_the_kernels) {
  for (const auto& [vendor, architecture] :
       {std::pair(Driver::Vendor::nvidia, "sm_90"), std::pair(Driver::Vendor::nvidia, "sm_75")}) {
    const Compiler compiler(Driver(vendor, Library({"libm.so.6"}), {}));
    if (!compiler)
      testing::skip("needs NVRTC where the dynamic linker finds it: " + compiler.why());
    const std::string code = compiler.compile(kernel_source(), architecture);
    for (const char* const name :
         {"copy_words_1_32", "copy_words_16_64", "copy_pieces_2", "copy_batch_few",
          "reduce_sum_uint8", "reduce_min_int64", "reduce_max_float64"}) {
      CHECK(code.find(name) != std::string::npos);
    }
    // For an unknown architecture, the compiler returns code that a newer driver can compile.
    CHECK(compiler.compile(kernel_source(), "sm_1000").find(".entry copy_words_1_32") !=
          std::string::npos);
    CHECK_THROWS(Fault::unsupported, static_cast<void>(compiler.compile("nonsense", architecture)),
                 "does not compile the kernels for " + std::string(architecture));
  }
}

TEST(asking_costs_little_without_a_driver) {
  // Measures nothing: shows that no call opens a library again.
  find_drivers_again("none");
  const Drivers* const found = &drivers();
  const int here = 0;
  for (int i = 0; i < 1'000'000; ++i) CHECK(device_memory_at(&here) == nullptr);
  CHECK_EQUAL(&drivers(), found);
}

}  // namespace vicinal::device_driver_tests

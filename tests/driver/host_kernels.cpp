// The library's kernels compiled for the host, and how a driver calls them: by a name and pointers to arguments.
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "base/scramble.hpp"
#include "simulated.hpp"

namespace {
struct ThreeNumbers {
  unsigned x = 0, y = 0, z = 0;
};
thread_local ThreeNumbers threadIdx, blockIdx, blockDim, gridDim;
}  // namespace

#define __global__ __attribute__((visibility("default")))
#define __device__
#include "memory/device/kernels.cu"

namespace simulated {

namespace {

template <class Argument>
Argument read(void* argument) {
  Argument value;
  std::memcpy(&value, argument, sizeof value);
  return value;
}

/// What a kernel's pointers lead to.
struct Reach {
  bool fits = true;  ///< nothing else than it may follow
  bool device = false, host = false;
};

/// A pointer as a kernel may follow it.
template <class Argument>
Argument followed(Argument value, Reach& reach) {
  if constexpr (std::is_pointer_v<Argument>) {
    auto* const found = static_cast<Argument>(touched_by_kernel(value));
    reach.fits = reach.fits && (found != nullptr) == (value != nullptr);
    if (value != nullptr) {
      (locate(value).kind == Kind::device ? reach.device : reach.host) = true;
    }
    return found;
  } else {
    return value;
  }
}

template <class Threads>
void run_threads(unsigned blocks, unsigned threads, Threads one) {
  gridDim.x = blocks;
  blockDim.x = threads;
  // An odd number has no factor in common with a power of two, so each thread has its turn.
  for (unsigned block = blocks; block-- > 0;) {
    blockIdx.x = block;
    for (unsigned i = 0; i < threads; ++i) {
      threadIdx.x = i * 91 % threads;
      one();
    }
  }
}

template <class... Arguments, std::size_t... places>
Status run(void (*kernel)(Arguments...), unsigned blocks, unsigned threads,
           const std::tuple<Arguments...>& given, std::index_sequence<places...>) {
  Reach reach;
  const std::tuple<Arguments...> arguments{followed(std::get<places>(given), reach)...};
  if (!reach.fits) return illegal_address;
  if (reach.device && reach.host) count("crossings");
  run_threads(blocks, threads, [&] { kernel(std::get<places>(arguments)...); });
  return success;
}

/// Copies whose pointers stand in the argument.
Status run_batch(unsigned blocks, unsigned threads, Moves moves) {
  for (unsigned i = 0; i < moves.count; ++i) {
    Move& move = moves.all[i];
    if (move.count == 0) continue;  // it has been left out
    const auto ends =
        reinterpret_cast<std::uintptr_t>(move.from) | reinterpret_cast<std::uintptr_t>(move.to);
    if (ends % move.width != 0) return misaligned_address;
    Reach reach;
    move.from = followed(move.from, reach);
    move.to = followed(move.to, reach);
    move.sources = followed(move.sources, reach);
    move.targets = followed(move.targets, reach);
    if (!reach.fits) return illegal_address;
    if (reach.device && reach.host) count("crossings");
  }
  run_threads(blocks, threads, [&] { copy_batch(moves); });
  return success;
}

template <class... Arguments>
Status put_kernel(void (*)(Arguments...), void* kernel, unsigned blocks, unsigned threads,
                  void* stream, void** arguments) {
  using All = std::index_sequence_for<Arguments...>;
  const auto given = [&]<std::size_t... places>(std::index_sequence<places...>) {
    return std::tuple<Arguments...>{read<Arguments>(arguments[places])...};
  }(All{});
  auto* const function = reinterpret_cast<void (*)(Arguments...)>(kernel);
  put(stream, [=] { return run(function, blocks, threads, given, All{}); });
  return success;
}

/// Of what a kernel moves at a time, by its name, as devices insist on it.
std::size_t alignment_of(const std::string& name) {
  const std::size_t digit = name.find_first_of("0123456789");
  const std::size_t number = std::stoul(name.substr(digit));
  return name.starts_with("copy_") ? number : number / 8;
}

void* find_here(const char* name) {
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&find_kernel), &here) == 0) return nullptr;
  void* const library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = dlsym(library, name);
  dlclose(library);
  return found;
}

}  // namespace

void* find_kernel(const char* name) {
  const std::string text(name);
  const bool ours = text.starts_with("copy_") || text.starts_with("reduce_");
  return ours ? find_here(name) : nullptr;
}

Status launch(void* kernel, unsigned blocks, unsigned threads, void* stream, void** arguments) {
  Dl_info info;
  if (dladdr(kernel, &info) == 0 || info.dli_sname == nullptr) return invalid_value;
  const std::string name(info.dli_sname);
  count("launches");
  if (name == "copy_batch") {
    put(stream,
        [=, moves = read<Moves>(arguments[0])] { return run_batch(blocks, threads, moves); });
    return success;
  }
  // Where it begins to read and to write.
  for (const int side : {0, 1}) {
    if (read<std::uintptr_t>(arguments[side]) % alignment_of(name) != 0) return misaligned_address;
  }
  if (name.starts_with("copy_pieces")) {
    return put_kernel(copy_pieces_1, kernel, blocks, threads, stream, arguments);
  }
  if (name.starts_with("reduce")) {
    return put_kernel(reduce_sum_uint8, kernel, blocks, threads, stream, arguments);
  }
  return put_kernel(copy_words_1_32, kernel, blocks, threads, stream, arguments);
}

}  // namespace simulated
